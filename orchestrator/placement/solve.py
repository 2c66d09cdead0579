"""The joint plan: one candidate for each piece of work under the limits they share.

Variables   x[w, k] = 1 if work w runs as its candidate k.
Objective   lexicographic: place as much as possible of the most important level (class, then priority), then of the
            next, and so on; then least USD a month.
C1          sum over k of x[w, k] <= 1 for every w.
C2          sum over w, k of uses[k, l] x[w, k] <= capacity[l] for every limit l (budget, nodes, each vCPU quota);
            all work is taken to run at once, at its peak.

Where every work's cheapest candidate fits beside the others, that is the optimum and no solver runs. Otherwise HiGHS
(scipy `milp`) solves it exactly, one problem per level and one for the cost. Above MOST_VARIABLES a greedy pass in
order of importance takes the cheapest candidate that still fits; the lower bound is then the sum of the placed work's
cheapest candidates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped]
from scipy.sparse import csr_array  # type: ignore[import-untyped]

from orchestrator.placement.candidate import Candidate
from orchestrator.placement.limits import Limit, added, exceeded

MOST_VARIABLES = 20_000
ROW_SCALE = 1000.0
"""Rows are scaled up so that the solver's absolute tolerance (1e-6) stays below a hundredth of a cent of budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """A piece of work as the solver sees it: importance (lower first) and candidates, cheapest first."""

    name: str
    level: tuple[int, int]
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """`chosen` is parallel to the demands; None = not placed. `mode` is "exact" or "greedy"."""

    chosen: tuple[Candidate | None, ...]
    mode: str
    lower_bound_usd: Decimal

    @property
    def objective_usd(self) -> Decimal:
        """USD a month of everything placed."""
        return sum((candidate.usd_per_month for candidate in self.chosen if candidate), Decimal(0))


def solve(demands: Sequence[Demand], limits: tuple[Limit, ...], *, most_variables: int = MOST_VARIABLES) -> Solution:
    """Choose candidates. Demands come sorted by name, which breaks ties."""
    cheapest = tuple(demand.candidates[0] if demand.candidates else None for demand in demands)
    if _total_fits(cheapest, limits):
        return _exact(cheapest)
    undominated = [_undominated(demand.candidates) for demand in demands]
    if sum(len(each) for each in undominated) > most_variables:
        chosen = _greedy(demands, limits)
        floor = sum((c[0].usd_per_month for c, x in zip(undominated, chosen, strict=True) if x), Decimal(0))
        return Solution(chosen=chosen, mode="greedy", lower_bound_usd=floor)
    return _exact(_tie_broken(_program(demands, undominated, limits), demands, limits))


def taken(chosen: Sequence[Candidate | None]) -> dict[str, Decimal]:
    """What all chosen candidates take of every limit together."""
    total: dict[str, Decimal] = {}
    for candidate in chosen:
        if candidate is not None:
            total = added(total, dict(candidate.uses))
    return total


def _exact(chosen: tuple[Candidate | None, ...]) -> Solution:
    solution = Solution(chosen=chosen, mode="exact", lower_bound_usd=Decimal(0))
    return Solution(chosen=chosen, mode="exact", lower_bound_usd=solution.objective_usd)


def _total_fits(chosen: Sequence[Candidate | None], limits: tuple[Limit, ...]) -> bool:
    return exceeded(taken(chosen), {}, limits) is None


def _undominated(candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Candidates that no cheaper one matches or beats in everything they take."""
    kept: list[Candidate] = []
    for candidate in candidates:
        mine = dict(candidate.uses)
        if not any(all(mine.get(key, Decimal(0)) >= amount for key, amount in other.uses) for other in kept):
            kept.append(candidate)
    return tuple(kept)


def _greedy(demands: Sequence[Demand], limits: tuple[Limit, ...]) -> tuple[Candidate | None, ...]:
    chosen: list[Candidate | None] = [None] * len(demands)
    total: dict[str, Decimal] = {}
    for index in sorted(range(len(demands)), key=lambda i: (demands[i].level, demands[i].name)):
        for candidate in demands[index].candidates:
            if exceeded(dict(candidate.uses), total, limits) is None:
                chosen[index] = candidate
                total = added(total, dict(candidate.uses))
                break
    return tuple(chosen)


def _program(
    demands: Sequence[Demand], candidates: Sequence[tuple[Candidate, ...]], limits: tuple[Limit, ...]
) -> tuple[Candidate | None, ...]:
    """The integer program of the module's docstring."""
    columns = [(w, candidate) for w, each in enumerate(candidates) for candidate in each]
    owner = np.array([w for w, _ in columns])
    once = csr_array((np.ones(len(columns)), (owner, np.arange(len(columns)))), shape=(len(demands), len(columns)))
    rows = [LinearConstraint(once, -np.inf, 1.0)]
    for limit in limits:
        amounts = np.array([float(dict(candidate.uses).get(limit.key, 0)) for _, candidate in columns])
        rows.append(LinearConstraint(amounts * ROW_SCALE, -np.inf, float(limit.capacity) * ROW_SCALE))
    for level in sorted({demand.level for demand in demands}):
        member = np.array([float(demands[w].level == level) for w, _ in columns])
        placed = round(float(member @ _optimum(-member, rows)))
        rows.append(LinearConstraint(member, placed, placed))
    cost = np.array([float(candidate.usd_per_month) for _, candidate in columns])
    solution = _optimum(cost, rows)
    chosen: list[Candidate | None] = [None] * len(demands)
    for (w, candidate), value in zip(columns, solution, strict=True):
        if value > 0.5:
            chosen[w] = candidate
    return tuple(chosen)


def _optimum(cost: np.ndarray, rows: list[LinearConstraint]) -> np.ndarray:
    """The minimising 0/1 vector. Placing nothing is always feasible, so there is one."""
    result = milp(
        cost, constraints=rows, integrality=np.ones(len(cost)), bounds=Bounds(0, 1), options={"mip_rel_gap": 0.0}
    )
    assert result.x is not None, result.message
    return np.asarray(np.round(result.x))


def _tie_broken(
    chosen: tuple[Candidate | None, ...], demands: Sequence[Demand], limits: tuple[Limit, ...]
) -> tuple[Candidate | None, ...]:
    """Of equally dear candidates the first by name, as far as it fits beside the others."""
    settled = list(chosen)
    for index, demand in enumerate(demands):
        mine = settled[index]
        if mine is None:
            continue
        others = taken([candidate for i, candidate in enumerate(settled) if i != index])
        settled[index] = next(
            (
                candidate
                for candidate in demand.candidates
                if candidate.usd_per_month <= mine.usd_per_month
                and exceeded(dict(candidate.uses), others, limits) is None
            ),
            mine,
        )
    return tuple(settled)
