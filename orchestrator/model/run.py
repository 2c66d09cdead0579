"""A run of a train or batch job: one intention, carried out by one or more attempts (drivers)."""

from dataclasses import dataclass
from enum import StrEnum

from orchestrator.model.job import Kind


class RunState(StrEnum):
    """Where a run stands; only an OPEN run may get another attempt."""

    OPEN = "open"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"


class AttemptState(StrEnum):
    """Where an attempt stands. DIED = its driver was lost; MOVED = stopped by us to try other capacity."""

    PLANNED = "planned"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DIED = "died"
    STOPPED = "stopped"
    MOVED = "moved"

    @property
    def over(self) -> bool:
        """Whether nothing more will happen in this attempt."""
        return self not in {AttemptState.PLANNED, AttemptState.RUNNING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One driver of a run. `number` counts from 1; times are ISO 8601 UTC, None = not yet.

    `submission_id` is Ray's name for the driver, "" when it was not started by `ray job submit`. `offer` is where the
    workers are to run ("" = not placed yet) and `selector` the labels of those nodes. `not_before` holds a resubmission
    back, `submitted_at` says that Ray accepted it, `began_at` that the driver took its assignment, `pending_since` that
    it has been asking for capacity without having any.
    """

    run_id: str
    number: int
    submission_id: str
    state: AttemptState
    planned_at: str
    not_before: str | None = None
    submitted_at: str | None = None
    began_at: str | None = None
    ended_at: str | None = None
    pending_since: str | None = None
    offer: str = ""
    selector: tuple[tuple[str, str], ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run with its attempts, oldest first.

    `scheduled_for` is the start the schedule asked for (None = a user's). `entrypoint` and `runtime_env_json` are what
    a resubmission hands to Ray; an empty entrypoint means that the run cannot be resubmitted.
    """

    run_id: str
    job: str
    kind: Kind
    state: RunState
    created_at: str
    ended_at: str | None
    scheduled_for: str | None
    catalog_hash: str
    entrypoint: str
    runtime_env_json: str
    emulated: bool
    reason: str = ""
    attempts: tuple[Attempt, ...] = ()

    @property
    def last(self) -> Attempt | None:
        """The newest attempt, or None before the first."""
        return self.attempts[-1] if self.attempts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Time during which a run or a service was seen on a node. `consumer` is the run id, or the service's name.

    `kind` is a job's kind, or "other" for drivers that took no assignment. `node_id` is the provider's id, as in
    NodeInterval; `until` is when it was last known to be there, `still` whether that was at the last look.
    """

    job: str
    kind: str
    consumer: str
    node_id: str
    since: str
    until: str
    still: bool = False
