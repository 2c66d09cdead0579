"""A plan: for every job one choice with ranked fallbacks, or the reasons why there is none."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from orchestrator.model.job import Kind
from orchestrator.model.offer import Market


class Basis(StrEnum):
    """Where a throughput figure comes from."""

    ROOFLINE = "roofline"
    PROFILE = "profile"
    MEASURED = "measured"


class Status(StrEnum):
    """Outcome for a job; PARTIAL = some of its parts are placed."""

    PLACED = "placed"
    UNPLACEABLE = "unplaceable"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallelism:
    """`tensor` accelerators share one copy of the model, `data` copies work side by side."""

    tensor: int
    data: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Part of a choice: so many instances of one offer (a service may spread over zones and markets)."""

    offer: str
    market: Market
    zone: str
    instances: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One way to run a job. `instances` of a service is the expected mean; `usd_per_hour` is for all of them.

    `expected_usd` and `expected_seconds` are per run for training and batch, per 730-hour month for a service;
    `costs` (name → USD, sorted by name) sums to `expected_usd`. `device_seconds` is the pure work of a run, summed over
    copies of the model, 0 for a service: what a finished run is measured against. `share` below 1 is the part of one
    accelerator that a small service gets beside others; `instances` is then its part of the instances paid for.
    `peak_instances` is what the cluster's limits were checked with.
    """

    offer: str
    instance_type: str
    accelerator: str | None
    accelerators_per_instance: int
    instances: float
    market: Market
    zone: str
    pools: tuple[Pool, ...]
    parallelism: Parallelism
    usd_per_hour: Decimal
    expected_usd: Decimal
    expected_seconds: float
    costs: tuple[tuple[str, Decimal], ...]
    basis: Basis
    device_seconds: float = 0.0
    share: float = 1.0
    peak_instances: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Why offers cannot run a job; one per reason and figure.

    `needed` and `available` are in `unit`, None where no figure applies.
    """

    reason: str
    needed: float | str | None
    available: float | str | None
    unit: str
    offers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The answer for one model on hardware.

    `candidates` are ranked best first and begin with `chosen`: at most ten, the cheapest on-demand one among them.
    `suitable` names all offers that suit, in the same order.
    """

    status: Status
    chosen: Choice | None
    candidates: tuple[Choice, ...]
    suitable: tuple[str, ...]
    rejections: tuple[Rejection, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """The answer for one job.

    With several models `parts` holds a placement each and `placement` is empty of candidates.
    """

    name: str
    kind: Kind
    placement: Placement
    parts: tuple[tuple[str, Placement], ...]
    expected_usd: Decimal | None

    def part(self, name: str | None) -> Placement:
        """Placement of a part; of the job itself when it has a single model or `name` is None."""
        return dict(self.parts).get(name or "", self.placement)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Answer for a whole catalog. `now` is ISO 8601 UTC; gap = (objective - lower bound) / lower bound."""

    now: str
    prices_as_of: str
    mode: str
    lower_bound_usd: Decimal
    gap: float
    objective_usd_per_month: Decimal
    warnings: tuple[str, ...]
    jobs: tuple[JobPlan, ...]

    def job(self, name: str) -> JobPlan | None:
        """The answer for the job of that name, or None."""
        return next((job for job in self.jobs if job.name == name), None)
