"""Which attempt a driver that just started becomes. Pure; the caller holds the ledger's write lock."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.control.assign import RefusedError
from orchestrator.model.run import Attempt, AttemptState, Run
from orchestrator.policy.observed import Driver


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """No run of the job is open: the driver opens one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SameAttempt:
    """The driver is (or takes over) this planned or running attempt."""

    run: Run
    attempt: Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class NextAttempt:
    """The last driver of this run is gone: the new one goes on with it."""

    run: Run
    number: int


Admission = NewRun | SameAttempt | NextAttempt


def admit(open_runs: Sequence[Run], drivers: Sequence[Driver], submission_id: str) -> Admission:
    """Decide by the job's open runs and Ray's drivers; RefusedError when another driver of the run is alive.

    Asking again with the same submission id gives the same attempt.
    """
    for run in open_runs:
        own = next((one for one in run.attempts if submission_id and one.submission_id == submission_id), None)
        if own is not None and own is not run.last:
            raise RefusedError(f"driver {submission_id} of run {run.run_id} has been replaced.", "It should end now.")
        if own is not None:
            return SameAttempt(run=run, attempt=own)
    if not open_runs:
        return NewRun()
    run = open_runs[-1]
    last = run.last
    if last is None:
        return NextAttempt(run=run, number=1)
    alive = next((one for one in drivers if one.submission_id == last.submission_id and one.status.alive), None)
    if alive is not None:
        raise RefusedError(
            f"run {run.run_id} of {run.job} is going on (driver {alive.submission_id}).",
            f"Follow it with `orchestrator events --job {run.job} --follow`,"
            f" or stop it with `ray job stop {alive.submission_id}`.",
        )
    if last.state is AttemptState.PLANNED and last.submitted_at is None:
        return SameAttempt(run=run, attempt=last)
    return NextAttempt(run=run, number=last.number + 1)
