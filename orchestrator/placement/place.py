"""`place`: from a catalog and a price book to a plan."""

from collections.abc import Iterable
from decimal import Decimal

from orchestrator.estimate.money import round_usd
from orchestrator.model.catalog import Catalog, ClusterSpec
from orchestrator.model.instant import from_iso, to_iso
from orchestrator.model.job import BatchJob, TrainJob
from orchestrator.model.offer import Offer, PriceBook
from orchestrator.model.plan import JobPlan, Placement, Plan, Status
from orchestrator.placement import batch, serving, training
from orchestrator.placement.candidate import Candidate, best
from orchestrator.placement.frequency import starts_per_month
from orchestrator.placement.limits import Limit, exceeded, limits
from orchestrator.placement.refusal import Refusal, grouped
from orchestrator.placement.solve import Demand, Solution, solve, taken
from orchestrator.placement.suitable import other_region, unsuitable
from orchestrator.placement.warnings import warnings
from orchestrator.placement.work import Work, works

Refused = tuple[tuple[str, Refusal], ...]


def place(catalog: Catalog, book: PriceBook, now: str) -> Plan:
    """The cheapest suitable hardware for every job, ranked by the job's expected cost; `now` is ISO 8601.

    Every offer and refused row of the book appears once for each piece of work: as a candidate or in a rejection.
    """
    at = to_iso(from_iso(now))
    all_limits = limits(catalog.cluster)
    everything = works(catalog)
    demands, refusals = [], []
    for work in everything:
        candidates, refused = _examine(work, catalog.cluster, book, all_limits, at)
        demands.append(Demand(name=work.name, level=work.level, candidates=candidates))
        refusals.append(refused)
    solution = solve(demands, all_limits)
    placements = {
        work.name: _placement(demand, refused, solution, chosen, all_limits)
        for work, demand, refused, chosen in zip(everything, demands, refusals, solution.chosen, strict=True)
    }
    objective = solution.objective_usd
    return Plan(
        now=at,
        prices_as_of=book.as_of,
        mode=solution.mode,
        lower_bound_usd=round_usd(solution.lower_bound_usd),
        gap=float((objective - solution.lower_bound_usd) / solution.lower_bound_usd)
        if solution.lower_bound_usd
        else 0.0,
        objective_usd_per_month=round_usd(objective),
        warnings=warnings(catalog, book, at),
        jobs=_job_plans(everything, placements),
    )


def _examine(
    work: Work, cluster: ClusterSpec, book: PriceBook, all_limits: tuple[Limit, ...], now: str
) -> tuple[tuple[Candidate, ...], Refused]:
    """Candidates, cheapest first, and refusals by offer."""
    candidates: list[Candidate] = []
    refused: list[tuple[str, Refusal]] = []
    job = work.job
    runs = starts_per_month(job.schedule, now) if isinstance(job, BatchJob) else 1.0
    for offer in book.offers:
        found = unsuitable(offer, work, cluster) or best(_ways(work, offer, runs), all_limits)
        if isinstance(found, Candidate):
            candidates.append(found)
        else:
            refused.append((offer.name, found))
    for row in book.refused:
        elsewhere = row.region != cluster.region
        refusal = other_region(cluster) if elsewhere else Refusal(reason=row.reason, needed=None, available=None)
        refused.append((row.name, refusal))
    return tuple(sorted(candidates, key=lambda candidate: candidate.rank)), tuple(refused)


def _ways(work: Work, offer: Offer, runs_per_month: float) -> Iterable[Candidate | Refusal]:
    match work.job:
        case TrainJob() as job:
            return training.ways(job, offer)
        case BatchJob() as job:
            return batch.ways(job, offer, runs_per_month)
        case job:
            return serving.ways(work, job, offer)


def _placement(
    demand: Demand, refused: Refused, solution: Solution, chosen: Candidate | None, all_limits: tuple[Limit, ...]
) -> Placement:
    if chosen is None:
        crowded_out = _crowded_out(demand.candidates, solution, all_limits)
        return Placement(
            status=Status.UNPLACEABLE, chosen=None, candidates=(), rejections=grouped((*refused, *crowded_out))
        )
    ranked = (chosen, *(candidate for candidate in demand.candidates if candidate is not chosen))
    return Placement(
        status=Status.PLACED,
        chosen=chosen.choice,
        candidates=tuple(candidate.choice for candidate in ranked),
        rejections=grouped(refused),
    )


def _crowded_out(candidates: tuple[Candidate, ...], solution: Solution, all_limits: tuple[Limit, ...]) -> Refused:
    """Why candidates that suit alone do not fit beside the chosen ones."""
    total = taken(solution.chosen)
    return tuple(
        (
            candidate.choice.offer,
            exceeded(dict(candidate.uses), total, all_limits)
            or Refusal(reason="crowded-out", needed="room beside more important jobs", available=None),
        )
        for candidate in candidates
    )


def _job_plans(everything: tuple[Work, ...], placements: dict[str, Placement]) -> tuple[JobPlan, ...]:
    by_job: dict[str, list[Work]] = {}
    for work in everything:
        by_job.setdefault(work.job.name, []).append(work)
    return tuple(_job_plan(found, placements) for found in by_job.values())


def _job_plan(parts: list[Work], placements: dict[str, Placement]) -> JobPlan:
    job = parts[0].job
    found = [placements[work.name] for work in parts]
    chosen = [placement.chosen for placement in found if placement.chosen is not None]
    if parts[0].part is None:
        whole = found[0]
    else:
        placed = len(chosen)
        status = Status.PLACED if placed == len(parts) else Status.PARTIAL if placed else Status.UNPLACEABLE
        whole = Placement(status=status, chosen=None, candidates=(), rejections=())
    return JobPlan(
        name=job.name,
        kind=job.kind,
        placement=whole,
        parts=tuple((work.part, placements[work.name]) for work in parts if work.part is not None),
        expected_usd=sum((choice.expected_usd for choice in chosen), Decimal(0)) if chosen else None,
    )
