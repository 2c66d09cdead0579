"""`place`: from a catalog and a price book to a plan."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from orchestrator.estimate.calibration import Calibration, Experience, learn
from orchestrator.estimate.money import round_usd
from orchestrator.model.catalog import Catalog
from orchestrator.model.instant import from_iso, to_iso
from orchestrator.model.job import ServeJob
from orchestrator.model.offer import PriceBook
from orchestrator.model.plan import Choice, JobPlan, Placement, Plan, Rejection, Status
from orchestrator.placement.examine import Examined, examine
from orchestrator.placement.limits import Limit, capacities, exceeded, limits, per_instance
from orchestrator.placement.oversized import oversized
from orchestrator.placement.pools import pools
from orchestrator.placement.refusal import Refusal, grouped, listed, merged
from orchestrator.placement.runs import most_runs_per_month, runs_per_month
from orchestrator.placement.shares import NONE, shares
from orchestrator.placement.sharing import Sharing
from orchestrator.placement.shelf import Shelf
from orchestrator.placement.slots import slots
from orchestrator.placement.solve import Demand, Problem, solve
from orchestrator.placement.warnings import warnings
from orchestrator.placement.work import Work, works

MOST_CANDIDATES = 10
"""Fallbacks kept of each placement, the chosen one included."""


def place(catalog: Catalog, book: PriceBook, now: str, experience: Sequence[Experience] = ()) -> Plan:
    """The cheapest suitable hardware for every job, ranked by the job's expected cost.

    `now` is ISO 8601, `experience` what the ledger learnt from runs on real hardware. Every offer and refused row of
    the book appears once for each piece of work: among its `suitable` ones or in a rejection.
    """
    at = to_iso(from_iso(now))
    all_limits = limits(catalog.cluster)
    shelf = Shelf.of(catalog.cluster, book)
    each = per_instance(shelf, all_limits)
    calibration = learn(experience)
    everything = works(catalog)
    examined = [examine(work, shelf, each, all_limits, calibration, at) for work in everything]
    demands = _demands(everything, examined, shelf, calibration)
    problem = Problem(
        demands=demands,
        capacity=capacities(all_limits),
        slots=slots(everything, at),
        pools=pools(shelf, each, (demand.shares for demand in demands)),
    )
    solution = solve(problem)
    used = problem.taken(solution.chosen).max(axis=0, initial=0)
    out = _Out(barred=grouped(listed(shelf.barred)), used=used, limits=all_limits)
    sharing = Sharing(problem, shelf, solution.chosen)
    placements = {
        work.name: _placement(work, found, row, shared, shelf, out)
        for work, found, row, shared in zip(everything, examined, solution.chosen, sharing.choices(), strict=True)
    }
    objective = _objective(everything, placements, at)
    bound = min(round_usd(solution.lower_bound_usd), objective)
    return Plan(
        now=at,
        prices_as_of=book.as_of,
        mode=solution.mode,
        lower_bound_usd=objective if solution.mode == "exact" else bound,
        gap=float((objective - bound) / bound) if bound and solution.mode != "exact" else 0.0,
        objective_usd_per_month=objective,
        warnings=(*warnings(catalog, book, at), *_overlapping(everything, placements, at)),
        jobs=_job_plans(everything, placements),
    )


def _demands(
    everything: tuple[Work, ...], examined: list[Examined], shelf: Shelf, calibration: Calibration
) -> list[Demand]:
    """What the solver chooses from. A share is worth looking at only if there is somebody to share with."""
    found = [shares(work, shelf, calibration) for work in everything]
    several = sum(len(each) > 0 for each in found) > 1
    return [
        Demand(name=work.name, level=work.level, candidates=one.candidates, shares=share if several else NONE)
        for work, one, share in zip(everything, examined, found, strict=True)
    ]


def _objective(everything: tuple[Work, ...], placements: dict[str, Placement], now: str) -> Decimal:
    """USD a month of everything placed."""
    total = Decimal(0)
    for work in everything:
        chosen = placements[work.name].chosen
        if chosen is not None:
            total += chosen.expected_usd * Decimal(repr(runs_per_month(work.job, now)))
    return round_usd(total)


def _overlapping(everything: tuple[Work, ...], placements: dict[str, Placement], now: str) -> Iterator[str]:
    """Runs that last longer than what lies between their starts.

    The objective counts them all the same: a slower machine must not look cheaper for doing less.
    """
    for work in everything:
        chosen, asked = placements[work.name].chosen, runs_per_month(work.job, now)
        if chosen is None or isinstance(work.job, ServeJob):
            continue
        most = most_runs_per_month(chosen.expected_seconds)
        if most < asked:
            yield (
                f"{work.name}: a run takes {chosen.expected_seconds / 3600:.1f} h, longer than the time between its"
                f" starts: the cost counts {asked:.4g} runs a month, of which {most:.4g} can run one after the other"
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Out:
    """What rules offers out for every job: those barred, and what all chosen candidates take of the limits."""

    barred: tuple[Rejection, ...]
    used: NDArray[np.int64]
    limits: tuple[Limit, ...]


def _placement(work: Work, found: Examined, row: int, shared: Choice | None, shelf: Shelf, out: _Out) -> Placement:
    """`row` is that of the chosen candidate; with a share `shared` is chosen instead."""
    candidates = found.candidates
    if shared is not None:
        return _shared(work, found, shared, shelf, out)
    if row < 0:
        crowded = listed(
            (name, _crowded_out(uses, out)) for name, uses in zip(candidates.names, candidates.uses, strict=True)
        )
        return Placement(
            status=Status.UNPLACEABLE,
            chosen=None,
            candidates=(),
            suitable=(),
            rejections=merged(grouped(*found.refused, crowded), out.barred),
        )
    ruled_out = oversized(work, shelf, candidates, row)
    ranked = [row, *(other for other in range(len(candidates)) if other != row and other not in ruled_out)]
    oversize = listed((candidates.names[other], refusal) for other, refusal in ruled_out.items())
    return Placement(
        status=Status.PLACED,
        chosen=(chosen := candidates.choice(row)),
        candidates=(chosen, *_fallbacks(found, ranked)),
        suitable=tuple(candidates.names[ranked]),
        rejections=merged(grouped(*found.refused, oversize), out.barred),
    )


def _shared(work: Work, found: Examined, shared: Choice, shelf: Shelf, out: _Out) -> Placement:
    """A share first, then whole accelerators as fallbacks."""
    candidates = found.candidates
    ruled_out = oversized(work, shelf, candidates, -1)
    ranked = [row for row in range(len(candidates)) if row not in ruled_out and candidates.names[row] != shared.offer]
    oversize = listed((candidates.names[other], refusal) for other, refusal in ruled_out.items())
    return Placement(
        status=Status.PLACED,
        chosen=shared,
        candidates=(shared, *_fallbacks(found, [-1, *ranked])),
        suitable=(shared.offer, *(candidates.names[row] for row in ranked)),
        rejections=merged(grouped(*found.refused, oversize), out.barred),
    )


def _fallbacks(found: Examined, ranked: list[int]) -> list[Choice]:
    """The next best candidates; the last place goes to the cheapest on-demand one, if no other has it: when spot is
    out everywhere, that is where to go."""
    shown = ranked[1:MOST_CANDIDATES]
    on_demand = [row for row in ranked[1:] if ":on-demand:" in found.candidates.names[row]]
    if shown and on_demand and not set(on_demand) & {ranked[0], *shown}:
        shown[-1] = on_demand[0]
    return [found.candidates.choice(row) for row in shown]


def _crowded_out(uses: NDArray[np.int64], out: _Out) -> Refusal:
    """Why a candidate that suits alone does not fit beside the chosen ones."""
    limit = exceeded(uses, out.used, out.limits)
    if limit is None:
        return Refusal(reason="crowded-out", needed="room beside more important jobs", available=None)
    return limit[0].refusal(limit[1], limit[2])


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
        whole = Placement(status=status, chosen=None, candidates=(), suitable=(), rejections=())
    return JobPlan(
        name=job.name,
        kind=job.kind,
        placement=whole,
        parts=tuple((work.part, placements[work.name]) for work in parts if work.part is not None),
        expected_usd=sum((choice.expected_usd for choice in chosen), Decimal(0)) if chosen else None,
    )
