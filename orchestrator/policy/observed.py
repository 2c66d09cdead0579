"""What the controller knows at one instant; decisions are functions of it."""

from dataclasses import dataclass
from enum import StrEnum

from orchestrator.model.catalog import Catalog
from orchestrator.model.job import Job
from orchestrator.model.run import Run


class DriverStatus(StrEnum):
    """Ray's status of a submitted driver."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    STOPPED = "STOPPED"

    @property
    def alive(self) -> bool:
        """Whether the driver runs or will run."""
        return self in {DriverStatus.PENDING, DriverStatus.RUNNING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """A submitted driver as Ray lists it. `exit_code` None = it did not end by itself; `ray_job_id` may come later."""

    submission_id: str
    status: DriverStatus
    ray_job_id: str | None = None
    exit_code: int | None = None
    error_type: str = ""
    message: str = ""
    entrypoint: str = ""
    runtime_env_json: str = "{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedRun:
    """A run with its entry in the catalog it was placed by (None = gone) and the offers of its plan, best first."""

    run: Run
    job: Job | None
    offers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFailure:
    """Capacity of an offer did not come at that time (ISO 8601 UTC)."""

    offer: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StalledModel:
    """A model of a service that asks for capacity of `offer` and has none, since that instant (ISO 8601 UTC).

    `alternatives` is how many other candidates its plan has.
    """

    job: str
    part: str
    offer: str
    since: str
    alternatives: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Wanted and actual services. `wanted_hash` "" = not known, since no catalog is applied.

    `wanted_offers` says where each model is to run (job, part, offer). `deployed_hash` is what was last handed to
    Serve, at `deployed_at` (None = never), for the `deploys`-th time in all; `present_apps` are those that Serve knows.
    `waits_for` says why some job cannot be served yet (job, reason), `stalled` which models wait for capacity.
    """

    wanted_hash: str = ""
    wanted_apps: tuple[str, ...] = ()
    wanted_offers: tuple[tuple[str, str, str], ...] = ()
    deployed_hash: str = ""
    deployed_at: str | None = None
    deploys: int = 0
    present_apps: tuple[str, ...] = ()
    waits_for: tuple[tuple[str, str], ...] = ()
    stalled: tuple[StalledModel, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The world and the ledger at one instant.

    `runs` are the open ones, and closed ones whose driver may live on. `drivers` is None while Ray cannot be reached:
    then nothing is concluded about drivers. `schedule_marks` maps a scheduled job to the instant after which starts are
    due. `inputs_missing` maps a job to why it cannot start now. `stall_after_s` is how long to wait for capacity.
    """

    catalog: Catalog | None
    runs: tuple[FollowedRun, ...] = ()
    drivers: tuple[Driver, ...] | None = ()
    schedule_marks: tuple[tuple[str, str], ...] = ()
    inputs_missing: tuple[tuple[str, str], ...] = ()
    pool_failures: tuple[PoolFailure, ...] = ()
    serving: Serving = Serving()
    stall_after_s: float = 90.0
