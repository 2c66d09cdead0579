"""Pools: offers whose accelerators several small services may share, and who shares what in a solution."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.estimate.money import HOURS_PER_MONTH
from orchestrator.placement.shares import Shares
from orchestrator.placement.shelf import Shelf


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedPools:
    """One row per offer that is shared: its row of the shelf, USD of an instance a month, accelerators of an instance,
    and what an instance takes of each limit, (pools, limits). `index` maps rows of the shelf to pools, -1 = none."""

    row: NDArray[np.intp]
    usd_per_month: NDArray[np.float64]
    accelerators: NDArray[np.float64]
    uses: NDArray[np.int64]
    index: NDArray[np.intp]

    def instances(self, fractions: dict[int, float]) -> dict[int, int]:
        """Instances that hold so many accelerators of each pool; halves and quarters leave no gaps."""
        return {pool: int(np.ceil(total / self.accelerators[pool] - 1e-9)) for pool, total in sorted(fractions.items())}


def pools(shelf: Shelf, each: NDArray[np.int64], all_shares: Iterable[Shares]) -> SharedPools:
    """The offers that any of the shares is on; `each` is what one instance of each offer takes of the limits."""
    found = sorted({int(row) for shares in all_shares for row in shares.rows})
    rows = np.array(found, dtype=np.intp)
    index = np.full(len(shelf.offers), -1, dtype=np.intp)
    index[rows] = np.arange(len(rows))
    return SharedPools(
        row=rows,
        usd_per_month=np.round(shelf.price[rows] * HOURS_PER_MONTH, 6),
        accelerators=shelf.hardware.accelerators[shelf.machine[rows]],
        uses=each[rows],
        index=index,
    )
