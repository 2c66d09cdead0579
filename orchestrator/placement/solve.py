"""The joint plan: one candidate for each piece of work under the limits they share.

Variables   x[w, k] = 1 if work w runs as its candidate k.
Objective   lexicographic: place as much as possible of the most important level (class, then priority), then of the
            next, and so on; then least USD a month.
C1          sum over k of x[w, k] <= 1 for every w.
C2          sum over w, k of uses[w, k, l, s] x[w, k] <= capacity[l] for every limit l (budget, nodes, each vCPU quota)
            and every slot s (a time of the week with its own set of running work, see slots.py).

Where every work's cheapest candidate fits beside the others, that is the optimum and no solver runs. Otherwise
candidates that a cheaper one matches in everything it takes are left out, and HiGHS (scipy `milp`) solves

exact       the program itself, up to MOST_EXACT columns: gap 0.
relaxed     above, its linear relaxation, which gives the lower bound and leaves about as many works split as there are
            binding limits. The others stay where the relaxation put them; the split ones, and as many more as are
            needed for a feasible answer, are solved exactly in the room that is left. What then remains between the
            answer and the bound is the gap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from orchestrator.placement.candidate import Candidates
from orchestrator.placement.program import Columns, columns, optimum, within
from orchestrator.placement.slots import Slots

SURE = 1e-3
"""A relaxed variable this close to 0 or 1 is taken as whole."""

MOST_EXACT = 3_000
FREED_AT_FIRST, FREED_FACTOR, MOST_FREED = 40, 4, 600
"""Works that the second step may move beside the split ones, by how much that grows while fewer works are placed than
the relaxation promises, and where it ends."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demand:
    """A piece of work as the solver sees it: importance (lower first) and candidates, cheapest first."""

    name: str
    level: tuple[int, int]
    candidates: Candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """`chosen` holds for each demand the row of its candidate, -1 = not placed. `mode` is "exact" or "relaxed"."""

    chosen: tuple[int, ...]
    mode: str
    lower_bound_usd: Decimal


def solve(
    demands: Sequence[Demand], capacity: NDArray[np.int64], slots: Slots, *, most_exact: int = MOST_EXACT
) -> Solution:
    """Choose candidates. Demands come sorted by name, which breaks ties."""
    if not demands:
        return Solution(chosen=(), mode="exact", lower_bound_usd=Decimal(0))
    cheapest = [0 if len(demand.candidates) else -1 for demand in demands]
    if fits(demands, cheapest, capacity, slots):
        return Solution(chosen=tuple(cheapest), mode="exact", lower_bound_usd=_usd(demands, cheapest))
    table = columns(demands, slots)
    if len(table.work) <= most_exact:
        chosen = _tie_broken(_chosen(table, within(table, capacity), len(demands)), demands, capacity, slots)
        return Solution(chosen=tuple(chosen), mode="exact", lower_bound_usd=_usd(demands, chosen))
    return _relaxed(demands, table, capacity, slots)


def taken(demands: Sequence[Demand], chosen: Sequence[int], slots: Slots) -> NDArray[np.int64]:
    """What all chosen candidates take of every limit in every slot: (slots, limits)."""
    limits = demands[0].candidates.uses.shape[1]
    peak, mean = (np.zeros((len(demands), limits), dtype=np.int64) for _ in range(2))
    for index, (demand, row) in enumerate(zip(demands, chosen, strict=True)):
        if row >= 0:
            peak[index], mean[index] = demand.candidates.uses[row], demand.candidates.mean_uses[row]
    return slots.totals(peak, mean)


def fits(demands: Sequence[Demand], chosen: Sequence[int], capacity: NDArray[np.int64], slots: Slots) -> bool:
    """Whether the limits hold in every slot."""
    return bool((taken(demands, chosen, slots) <= capacity).all())


def _relaxed(demands: Sequence[Demand], table: Columns, capacity: NDArray[np.int64], slots: Slots) -> Solution:
    """Relax, keep what is whole, solve the rest exactly; free more works while fewer are placed than the relaxation
    promises."""
    bound = optimum(table, capacity, whole=False)
    split = np.zeros(len(demands), dtype=bool)
    split[table.work[(bound > SURE) & (bound < 1.0 - SURE)]] = True
    surest = np.zeros(len(demands))
    np.maximum.at(surest, table.work, bound)
    by_doubt = np.lexsort((surest, ~split))
    promised = int(np.floor(bound.sum() + 1e-6))
    freed = int(split.sum()) + FREED_AT_FIRST
    while True:
        best = _around(demands, table, bound, by_doubt[:freed], capacity, slots)
        if sum(row >= 0 for row in best) >= promised or freed >= min(MOST_FREED, len(demands)):
            break
        freed *= FREED_FACTOR
    chosen = _tie_broken(best, demands, capacity, slots)
    floor = Decimal(repr(float(np.round(table.usd @ bound, 6))))
    return Solution(chosen=tuple(chosen), mode="relaxed", lower_bound_usd=min(floor, _usd(demands, chosen)))


def _around(
    demands: Sequence[Demand],
    table: Columns,
    bound: NDArray[np.float64],
    free: NDArray[np.intp],
    capacity: NDArray[np.int64],
    slots: Slots,
) -> list[int]:
    """The exact answer for the free works beside the others, which stay where the relaxation put them whole."""
    is_free = np.isin(table.work, free)
    chosen = _chosen(table, np.where(is_free, 0.0, bound), len(demands))
    room = capacity - taken(demands, chosen, slots)
    part = table.part(is_free)
    for column in np.flatnonzero(within(part, room) > 0.5).tolist():
        chosen[part.work[column]] = int(part.row[column])
    return chosen


def _chosen(table: Columns, solution: NDArray[np.float64], count: int) -> list[int]:
    chosen = [-1] * count
    for column in np.flatnonzero(solution > 0.5).tolist():
        chosen[table.work[column]] = int(table.row[column])
    return chosen


def _tie_broken(chosen: list[int], demands: Sequence[Demand], capacity: NDArray[np.int64], slots: Slots) -> list[int]:
    """Of candidates that are not dearer the first by cost and name, as far as it fits beside the others."""
    settled = list(chosen)
    room = capacity - taken(demands, settled, slots)
    for index, demand in enumerate(demands):
        mine = settled[index]
        if mine <= 0:
            continue
        found = demand.candidates
        takes = slots.of(index, found.uses[: mine + 1], found.mean_uses[: mine + 1])
        fit = ((takes - takes[mine]) <= room[None, :, :]).all(axis=(1, 2))
        settled[index] = int(fit.argmax())
        room = room + takes[mine] - takes[settled[index]]
    return settled


def _usd(demands: Sequence[Demand], chosen: Sequence[int]) -> Decimal:
    total = sum(
        float(demand.candidates.usd_per_month[row]) for demand, row in zip(demands, chosen, strict=True) if row >= 0
    )
    return Decimal(repr(round(total, 6)))
