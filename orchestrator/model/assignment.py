"""What a driver gets from the controller: its job, its run and the nodes it may use."""

from dataclasses import dataclass

from orchestrator.model.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """Placement of one attempt of one run, as `ray job submit` drivers receive it.

    `label_selector` picks the nodes (key → value). Each of `num_workers` workers takes `accelerators_per_worker` GPUs
    of type `accelerator` (None = CPU only) and `cpus_per_worker` CPUs. `storage` is the cluster's storage URI or
    absolute path; `output_model` is where a training run publishes its result. `attempt` counts from 1.
    `date` (YYYY-MM-DD) is what `{date}` in paths stands for, the same in all attempts: of the scheduled start in the
    schedule's time zone, else of the run's beginning (in UTC without a schedule). A training worker computes
    `micro_batch` sequences at once (0 = all of the job's `batch_size`), so that a step fits into its accelerator.
    """

    run_id: str
    attempt: int
    job: Job
    label_selector: tuple[tuple[str, str], ...]
    accelerator: str | None
    accelerators_per_worker: int
    cpus_per_worker: int
    tensor_parallel: int
    num_workers: int
    storage: str
    output_model: str
    emulated: bool
    date: str = ""
    micro_batch: int = 0
