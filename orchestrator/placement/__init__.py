"""Pure placement: which offers suit a job, what each costs, which is chosen and why the others are not."""
