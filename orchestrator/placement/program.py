"""The integer program of solve.py as HiGHS sees it, and its optimum."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp  # type: ignore[import-untyped]
from scipy.sparse import csr_array  # type: ignore[import-untyped]

from orchestrator.placement.slots import Slots

if TYPE_CHECKING:
    from orchestrator.placement.solve import Demand

MOST_HAIRS = 10
FIRST_KEPT = 16
"""Cheapest candidates against which all others are compared first; few survive."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Columns:
    """One column per candidate: its work, its row there, its cost, the work's level, and what it takes of each limit
    in each slot, (columns, slots, limits)."""

    work: NDArray[np.intp]
    row: NDArray[np.intp]
    usd: NDArray[np.float64]
    level: NDArray[np.intp]
    uses: NDArray[np.int64]

    def part(self, which: NDArray[np.bool_]) -> "Columns":
        """Some of the columns."""
        return Columns(
            work=self.work[which],
            row=self.row[which],
            usd=self.usd[which],
            level=self.level[which],
            uses=self.uses[which],
        )


def columns(demands: "Sequence[Demand]", slots: Slots) -> Columns:
    """Columns of all candidates that are not dominated, by work and rank."""
    levels = sorted({demand.level for demand in demands})
    kept = [undominated(demand.candidates.uses) for demand in demands]
    return Columns(
        work=np.repeat(np.arange(len(demands)), [len(rows) for rows in kept]),
        row=np.concatenate(kept),
        usd=np.concatenate([d.candidates.usd_per_month[rows] for d, rows in zip(demands, kept, strict=True)]),
        level=np.repeat([levels.index(demand.level) for demand in demands], [len(rows) for rows in kept]),
        uses=np.concatenate(
            [
                slots.of(index, demand.candidates.uses[rows], demand.candidates.mean_uses[rows])
                for index, (demand, rows) in enumerate(zip(demands, kept, strict=True))
            ]
        ),
    )


def undominated(uses: NDArray[np.int64]) -> NDArray[np.intp]:
    """Rows, cheapest first, that no earlier one matches or beats in everything they take."""
    rows = np.arange(len(uses))
    beaten = (uses[:FIRST_KEPT, None, :] <= uses[None, :, :]).all(axis=2)
    beaten &= rows[:FIRST_KEPT, None] < rows[None, :]
    rows = rows[~beaten.any(axis=0)]
    left = uses[rows]
    beaten = (left[:, None, :] <= left[None, :, :]).all(axis=2) & (rows[:, None] < rows[None, :])
    kept: NDArray[np.intp] = rows[~beaten.any(axis=0)]
    return kept


def optimum(table: Columns, capacity: NDArray[np.int64], *, whole: bool) -> NDArray[np.float64]:
    """The optimal x. `capacity` is (limits,) or (slots, limits). Levels are maximised one after the other, unless
    everything can be placed; then cost is minimised. `whole` False relaxes x to 0..1.

    A relaxed level's optimum is rounded down: no more than that can be placed.
    """
    if not len(table.work):
        return np.zeros(0)
    once, limits = _rows(table, capacity)
    everything = _minimum(table.usd, [LinearConstraint(once, 1.0, 1.0), *limits], whole)
    if everything.x is not None:
        return _rounded(everything.x, whole)
    rows = [LinearConstraint(once, -np.inf, 1.0), *limits]
    for level in np.unique(table.level).tolist():
        member = (table.level == level).astype(float)
        most = float(np.floor(member @ _minimum(-member, rows, whole).x + 1e-6))
        rows.append(LinearConstraint(member, most, np.inf))
    return _rounded(_minimum(table.usd, rows, whole).x, whole)


def within(table: Columns, capacity: NDArray[np.int64]) -> NDArray[np.float64]:
    """The optimal whole x, which keeps the limits exactly.

    The solver calls 0.999999 whole; where rounding it breaks a limit by a hair, that limit is asked for a little less.
    """
    room = capacity
    for _ in range(MOST_HAIRS):
        found = optimum(table, room, whole=True)
        over = np.tensordot(np.round(found).astype(np.int64), table.uses, axes=1) > capacity
        if not over.any():
            return found
        room = np.where(over, room - np.maximum(room // 1_000_000, 1), room)
    raise ArithmeticError("the solver's answer breaks a limit by more than rounding")


def _rows(table: Columns, capacity: NDArray[np.int64]) -> tuple[csr_array, list[LinearConstraint]]:
    """C1, and C2 scaled so that each capacity is 1e6: the solver's absolute tolerance of 1e-6 is then far below the
    smallest unit of any limit."""
    works, owner = np.unique(table.work, return_inverse=True)
    count = len(owner)
    once = csr_array((np.ones(count), (owner, np.arange(count))), shape=(len(works), count))
    room = np.broadcast_to(capacity, table.uses.shape[1:]).reshape(-1)
    takes = table.uses.reshape(count, -1).T.astype(float)
    binding = takes.sum(axis=1) > 0
    if not binding.any():
        return once, []
    scale = 1e6 / np.maximum(room[binding], 1)
    matrix = csr_array(takes[binding] * scale[:, None])
    return once, [LinearConstraint(matrix, -np.inf, room[binding] * scale)]


def _minimum(cost: NDArray[np.float64], rows: list[LinearConstraint], whole: bool) -> OptimizeResult:
    return milp(
        cost,
        constraints=rows,
        integrality=np.full(len(cost), int(whole)),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0.0},
    )


def _rounded(x: NDArray[np.float64], whole: bool) -> NDArray[np.float64]:
    return np.round(x) if whole else x
