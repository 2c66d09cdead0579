"""The joint plan: one candidate for each piece of work under the limits they share.

Variables   x[w, k] = 1 if work w runs as its candidate k; z[w, o] = 1 if it has a share of an accelerator of offer o
            (small services only, see shares.py); y[o] = instances of offer o that are shared, a whole number.
Objective   lexicographic: place as much as possible of the most important level (class, then priority), then of the
            next, and so on; then least USD a month: of the candidates, of the shares beside the machine, and of y.
C1          sum over k of x[w, k] + sum over o of z[w, o] <= 1 for every w.
C2          sum over w, k of uses[w, k, l, s] x[w, k] + sum over o of uses[o, l] y[o] <= capacity[l] for every limit l
            (budget, nodes, each vCPU quota) and every slot s (a time of the week with its own set of running work,
            see slots.py).
C3          sum over w of fraction[w, o] z[w, o] <= accelerators[o] y[o] for every o. Fractions are 1/4 and 1/2, which
            fill accelerators without gaps, so that this is not only necessary but enough.

Where every work's cheapest candidate fits beside the others, candidates need no solver, and shares are a program of the
small services alone. Otherwise candidates that a cheaper one matches in everything it takes are left out, and HiGHS
(scipy `milp`) solves

exact       the program itself, up to MOST_EXACT columns (about 60 jobs): gap 0.
relaxed     above, its linear relaxation, which gives the lower bound and leaves about as many works split as there are
            binding limits. The others stay where the relaxation put them; the split ones, those with shares, and as
            many more as are needed are solved exactly in the room that is left. What then remains between the answer
            and the bound is the gap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from orchestrator.placement.candidate import Candidates
from orchestrator.placement.pools import SharedPools
from orchestrator.placement.program import Columns, columns, optimum, within
from orchestrator.placement.shares import Shares
from orchestrator.placement.slots import Slots

SURE = 1e-3
"""A relaxed variable this close to 0 or 1 is taken as whole."""

MOST_EXACT = 500
SECOND_STEP_GAP = 1e-4
"""How far from its own optimum the second step may stop; the gap to the relaxation is reported in any case."""

FREED_AT_FIRST, FREED_FACTOR, MOST_FREED = 40, 4, 600
"""Works that the second step may move beside the split ones, by how much that grows while fewer works are placed than
the relaxation promises, and where it ends."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demand:
    """A piece of work as the solver sees it: importance (lower first), candidates, cheapest first, and shares."""

    name: str
    level: tuple[int, int]
    candidates: Candidates
    shares: Shares


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """`chosen` holds for each demand the row of its candidate, or of its share counted on after the candidates; -1 =
    not placed. `mode` is "exact" or "relaxed"."""

    chosen: tuple[int, ...]
    mode: str
    lower_bound_usd: Decimal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Problem:
    """What is to be solved. Demands come sorted by name, which breaks ties; `capacity` is one amount per limit."""

    demands: Sequence[Demand]
    capacity: NDArray[np.int64]
    slots: Slots
    pools: SharedPools

    def taken(self, chosen: Sequence[int]) -> NDArray[np.int64]:
        """What all chosen candidates and shared instances take of every limit in every slot: (slots, limits)."""
        peak, mean = (np.zeros((len(self.demands), len(self.capacity)), dtype=np.int64) for _ in range(2))
        for index, (demand, row) in enumerate(zip(self.demands, chosen, strict=True)):
            if 0 <= row < len(demand.candidates):
                peak[index], mean[index] = demand.candidates.uses[row], demand.candidates.mean_uses[row]
        shared = np.zeros(len(self.capacity), dtype=np.int64)
        for pool, instances in self.instances(chosen).items():
            shared += self.pools.uses[pool] * instances
        return self.slots.totals(peak, mean) + shared

    def instances(self, chosen: Sequence[int]) -> dict[int, int]:
        """Shared instances by pool."""
        return self.pools.instances(self.fractions(chosen))

    def fractions(self, chosen: Sequence[int]) -> dict[int, float]:
        """Accelerators that are shared out, by pool."""
        total: dict[int, float] = {}
        for demand, row in zip(self.demands, chosen, strict=True):
            share = row - len(demand.candidates)
            if share >= 0:
                pool = int(self.pools.index[demand.shares.rows[share]])
                total[pool] = total.get(pool, 0.0) + float(demand.shares.fraction[share])
        return total

    def fits(self, chosen: Sequence[int]) -> bool:
        """Whether the limits hold in every slot."""
        return bool((self.taken(chosen) <= self.capacity).all())

    def usd(self, chosen: Sequence[int]) -> Decimal:
        """USD a month of everything placed."""
        total = sum(
            float(demand.candidates.usd_per_month[row]) if row < len(demand.candidates) else demand.shares.usd
            for demand, row in zip(self.demands, chosen, strict=True)
            if row >= 0
        )
        for pool, instances in self.instances(chosen).items():
            total += float(self.pools.usd_per_month[pool]) * instances
        return Decimal(repr(round(total, 6)))


def solve(problem: Problem, *, most_exact: int = MOST_EXACT) -> Solution:
    """Choose candidates and shares."""
    demands = problem.demands
    if not demands:
        return Solution(chosen=(), mode="exact", lower_bound_usd=Decimal(0))
    cheapest = [0 if len(demand.candidates) else -1 for demand in demands]
    if problem.fits(cheapest):
        chosen = _with_shares(problem, cheapest)
        return Solution(chosen=tuple(chosen), mode="exact", lower_bound_usd=problem.usd(chosen))
    table = columns(demands, problem.slots, problem.pools)
    if len(table.work) <= most_exact:
        chosen = _tie_broken(problem, _chosen(table, within(table, problem.capacity), len(demands)))
        return Solution(chosen=tuple(chosen), mode="exact", lower_bound_usd=problem.usd(chosen))
    return _relaxed(problem, table)


def _with_shares(problem: Problem, cheapest: list[int]) -> list[int]:
    """The cheapest candidates, but shares where these cost less: one program of the works that may have one."""
    sharing = np.array([len(demand.shares) > 0 for demand in problem.demands], dtype=bool)
    if not sharing.any():
        return cheapest
    table = columns(problem.demands, problem.slots, problem.pools, first_only=True)
    part = table.part(sharing[table.work])
    chosen = [-1 if shares else row for row, shares in zip(cheapest, sharing.tolist(), strict=True)]
    room = problem.capacity - problem.taken(chosen)
    for column in np.flatnonzero(within(part, room) > 0.5).tolist():
        chosen[part.work[column]] = int(part.row[column])
    return chosen


def _relaxed(problem: Problem, table: Columns) -> Solution:
    """Relax, keep what is whole, solve the rest exactly; free more works while fewer are placed than the relaxation
    promises."""
    demands = problem.demands
    relaxed = optimum(table, problem.capacity, whole=False)
    bound = relaxed[: len(table.work)]
    loose = np.zeros(len(demands), dtype=bool)
    loose[table.work[(bound > SURE) & ((bound < 1.0 - SURE) | (table.pool >= 0))]] = True
    surest = np.zeros(len(demands))
    np.maximum.at(surest, table.work, bound)
    by_doubt = np.lexsort((surest, ~loose))
    promised = int(np.floor(bound.sum() + 1e-6))
    freed = int(loose.sum()) + FREED_AT_FIRST
    while True:
        best = _around(problem, table, bound, by_doubt[:freed])
        if sum(row >= 0 for row in best) >= promised or freed >= min(MOST_FREED, len(demands)):
            break
        freed *= FREED_FACTOR
    chosen = _tie_broken(problem, best)
    usd = np.concatenate([table.usd, table.pools.usd_per_month])
    floor = Decimal(repr(float(np.round(usd @ relaxed, 6))))
    return Solution(chosen=tuple(chosen), mode="relaxed", lower_bound_usd=min(floor, problem.usd(chosen)))


def _around(problem: Problem, table: Columns, bound: NDArray[np.float64], free: NDArray[np.intp]) -> list[int]:
    """The exact answer for the free works beside the others, which stay where the relaxation put them whole."""
    is_free = np.isin(table.work, free)
    chosen = _chosen(table, np.where(is_free, 0.0, bound), len(problem.demands))
    room = problem.capacity - problem.taken(chosen)
    part = table.part(is_free)
    for column in np.flatnonzero(within(part, room, gap=SECOND_STEP_GAP) > 0.5).tolist():
        chosen[part.work[column]] = int(part.row[column])
    return chosen


def _chosen(table: Columns, solution: NDArray[np.float64], count: int) -> list[int]:
    chosen = [-1] * count
    for column in np.flatnonzero(solution > 0.5).tolist():
        chosen[table.work[column]] = int(table.row[column])
    return chosen


def _tie_broken(problem: Problem, chosen: list[int]) -> list[int]:
    """Of candidates that are not dearer the first by cost and name, as far as it fits beside the others."""
    settled = list(chosen)
    room = problem.capacity - problem.taken(settled)
    for index, demand in enumerate(problem.demands):
        mine, found = settled[index], demand.candidates
        if not 0 < mine < len(found):
            continue
        takes = problem.slots.of(index, found.uses[: mine + 1], found.mean_uses[: mine + 1])
        fit = ((takes - takes[mine]) <= room[None, :, :]).all(axis=(1, 2))
        settled[index] = int(fit.argmax())
        room = room + takes[mine] - takes[settled[index]]
    return settled
