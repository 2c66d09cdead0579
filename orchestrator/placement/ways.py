"""Ways to do a piece of work: every offer that is open to it, each with a few options of size."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.estimate.column import Column
from orchestrator.placement.verdict import Verdict

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpreadPools:
    """How services spread: `base` on-demand instances and `each` spot instances in the first `count` pools, at the
    mean load and (`*_at_peak`) at the peak, all of shape (rows, options).

    `base_row` is the shelf's row of the on-demand offer of a row, `order` the rows of its spot pools, best first,
    -1 where there are no more. A row with `count` 0 is a single pool of `instances`.
    """

    base: Whole
    each: Whole
    count: Whole
    base_at_peak: Whole
    each_at_peak: Whole
    base_row: NDArray[np.intp]
    order: NDArray[np.intp]


def costed(shape: tuple[int, ...], **costs: Column) -> dict[str, Floats]:
    """Named costs as columns of a shape, rounded to millionths of a USD; those that are 0 everywhere are left out."""
    return {
        name: np.round(np.broadcast_to(column, shape), 6) for name, column in sorted(costs.items()) if np.any(column)
    }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ways:
    """Columns of shape (rows, options) but for `rows`, the rows of the shelf that they are about, and `basis`.

    `considered` marks options that exist; one that breaks a verdict is impossible. `instances` is the mean, `peak` what
    limits must hold. `costs` are USD a run (a month for services) in whole millionths (`costed`), `basis` the
    calibration's code of a row, `device_s` the pure work summed over copies of the model (0 for services).
    """

    rows: NDArray[np.intp]
    considered: Flags
    verdicts: tuple[Verdict, ...]
    instances: Whole
    peak: Whole
    tensor: Whole
    data: Whole
    expected_s: Floats
    costs: Mapping[str, Floats]
    basis: NDArray[np.int8]
    device_s: Floats
    pools: SpreadPools | None = None

    @property
    def possible(self) -> Flags:
        """Options that break no verdict."""
        found = self.considered.copy()
        for verdict in self.verdicts:
            found &= ~verdict.broken
        return found

    @property
    def usd(self) -> Floats:
        """Expected cost; rounded, so that equal costs are equal."""
        return np.round(sum(self.costs.values(), np.zeros(self.considered.shape)), 6)
