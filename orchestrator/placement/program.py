"""The integer program of solve.py as HiGHS sees it, and its optimum."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp  # type: ignore[import-untyped]
from scipy.sparse import csr_array  # type: ignore[import-untyped]

from orchestrator.placement.pools import SharedPools
from orchestrator.placement.slots import Slots

if TYPE_CHECKING:
    from orchestrator.placement.solve import Demand

MOST_HAIRS = 10
ALMOST_ONE = 0.9
FIRST_KEPT = 16
"""Cheapest candidates against which all others are compared first; few survive."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Columns:
    """One column per candidate and per share: its work, its row there (shares are counted on after the candidates), its
    cost, the work's level, what it takes of each limit in each slot, (columns, slots, limits), and for a share its pool
    (-1 for none) and its part of one of the pool's accelerators."""

    work: NDArray[np.intp]
    row: NDArray[np.intp]
    usd: NDArray[np.float64]
    level: NDArray[np.intp]
    uses: NDArray[np.int64]
    pool: NDArray[np.intp]
    fraction: NDArray[np.float64]
    pools: SharedPools

    def part(self, which: NDArray[np.bool_]) -> "Columns":
        """Some of the columns."""
        return Columns(
            work=self.work[which],
            row=self.row[which],
            usd=self.usd[which],
            level=self.level[which],
            uses=self.uses[which],
            pool=self.pool[which],
            fraction=self.fraction[which],
            pools=self.pools,
        )


def columns(demands: "Sequence[Demand]", slots: Slots, pools: SharedPools, *, first_only: bool = False) -> Columns:
    """Columns of all candidates that are not dominated (or of the cheapest alone), and of all shares, by work and
    rank."""
    levels = sorted({demand.level for demand in demands})
    parts = [_columns_of(index, demand, slots, pools, first_only) for index, demand in enumerate(demands)]
    level = [levels.index(demand.level) for demand in demands]
    return Columns(
        work=np.repeat(np.arange(len(demands)), [len(part[0]) for part in parts]),
        level=np.repeat(level, [len(part[0]) for part in parts]),
        row=np.concatenate([part[0] for part in parts]),
        usd=np.concatenate([part[1] for part in parts]),
        uses=np.concatenate([part[2] for part in parts]),
        pool=np.concatenate([part[3] for part in parts]),
        fraction=np.concatenate([part[4] for part in parts]),
        pools=pools,
    )


def _columns_of(
    index: int, demand: "Demand", slots: Slots, pools: SharedPools, first_only: bool
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Row, cost, uses, pool and fraction of the columns of one work."""
    found, shares = demand.candidates, demand.shares
    rows = np.arange(min(len(found), 1)) if first_only else undominated(found.uses)
    own = slots.of(index, found.uses[rows], found.mean_uses[rows])
    return (
        np.concatenate([rows, len(found) + np.arange(len(shares))]),
        np.concatenate([found.usd_per_month[rows], np.full(len(shares), shares.usd)]),
        np.concatenate([own, np.zeros((len(shares), *own.shape[1:]), dtype=np.int64)]),
        np.concatenate([np.full(len(rows), -1), pools.index[shares.rows]]).astype(np.intp),
        np.concatenate([np.zeros(len(rows)), shares.fraction]),
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


def optimum(table: Columns, capacity: NDArray[np.int64], *, whole: bool, gap: float = 0.0) -> NDArray[np.float64]:
    """The optimal x, then y. `capacity` is (limits,) or (slots, limits). Levels are maximised one after the other,
    unless everything can be placed; then cost is minimised. `whole` False relaxes x to 0..1.

    A relaxed level's optimum is rounded down: no more than that can be placed. The least cost may be missed by the
    relative `gap`.
    """
    if not len(table.work):
        return np.zeros(len(table.pools.row))
    rows = _rows(table, capacity)
    once = _once(table)
    usd = np.concatenate([table.usd, table.pools.usd_per_month])
    everything = _minimum(table, usd, [LinearConstraint(once, 1.0, 1.0), *rows], whole, gap)
    if everything.x is not None:
        return _rounded(everything.x, whole)
    rows = [LinearConstraint(once, -np.inf, 1.0), *rows]
    for level in np.unique(table.level).tolist():
        member = np.concatenate([(table.level == level).astype(float), np.zeros(len(table.pools.row))])
        # Counts are whole: less than one away from the optimum is the optimum.
        most = float(np.floor(member @ _minimum(table, -member, rows, whole, ALMOST_ONE / member.sum()).x + 1e-6))
        rows.append(LinearConstraint(member, most, np.inf))
    return _rounded(_minimum(table, usd, rows, whole, gap).x, whole)


def within(table: Columns, capacity: NDArray[np.int64], gap: float = 0.0) -> NDArray[np.float64]:
    """The optimal whole x (but for `gap`), which keeps the limits exactly.

    The solver calls 0.999999 whole; where rounding it breaks a limit by a hair, that limit is asked for a little less.
    """
    room = capacity
    uses = np.concatenate([table.uses, _pool_uses(table)])
    for _ in range(MOST_HAIRS):
        found = optimum(table, room, whole=True, gap=gap)
        over = np.tensordot(np.round(found).astype(np.int64), uses, axes=1) > capacity
        if not over.any():
            return found[: len(table.work)]
        room = np.where(over, room - np.maximum(room // 1_000_000, 1), room)
    raise ArithmeticError("the solver's answer breaks a limit by more than rounding")


def _pool_uses(table: Columns) -> NDArray[np.int64]:
    """What one instance of each pool takes in every slot: (pools, slots, limits)."""
    each = table.pools.uses
    return np.broadcast_to(each[:, None, :], (len(each), table.uses.shape[1], each.shape[1]))


def _once(table: Columns) -> csr_array:
    """C1: one row per work."""
    works, owner = np.unique(table.work, return_inverse=True)
    count = len(owner)
    return csr_array((np.ones(count), (owner, np.arange(count))), shape=(len(works), count + len(table.pools.row)))


def _rows(table: Columns, capacity: NDArray[np.int64]) -> list[LinearConstraint]:
    """C3, and C2 scaled so that each capacity is 1e6: the solver's absolute tolerance of 1e-6 is then far below the
    smallest unit of any limit."""
    uses = np.concatenate([table.uses, _pool_uses(table)])
    found = []
    if len(table.pools.row):
        held = np.where(table.pool[None, :] == np.arange(len(table.pools.row))[:, None], table.fraction[None, :], 0.0)
        found.append(LinearConstraint(csr_array(np.hstack([held, -np.diag(table.pools.accelerators)])), -np.inf, 0.0))
    room = np.broadcast_to(capacity, uses.shape[1:]).reshape(-1)
    takes = uses.reshape(len(uses), -1).T.astype(float)
    binding = takes.sum(axis=1) > 0
    if binding.any():
        scale = 1e6 / np.maximum(room[binding], 1)
        matrix = csr_array(takes[binding] * scale[:, None])
        found.append(LinearConstraint(matrix, -np.inf, room[binding] * scale))
    return found


def _minimum(
    table: Columns, cost: NDArray[np.float64], rows: list[LinearConstraint], whole: bool, gap: float
) -> OptimizeResult:
    most = np.concatenate([np.ones(len(table.work)), np.full(len(table.pools.row), float(len(table.work)))])
    return milp(
        cost,
        constraints=rows,
        integrality=np.full(len(cost), int(whole)),
        bounds=Bounds(0, most),
        options={"mip_rel_gap": gap},
    )


def _rounded(x: NDArray[np.float64], whole: bool) -> NDArray[np.float64]:
    return np.round(x) if whole else x
