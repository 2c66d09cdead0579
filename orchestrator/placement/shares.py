"""Shares: a small service on a part of an accelerator, with other small services on the rest.

A share is treated as a smaller accelerator with that part of the memory and of the rates: what the engines get when all
of them compute at once, and less than they get otherwise. Only on-demand accelerators are shared, by services that
need a single replica; halves and quarters fill whole accelerators without waste.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.estimate import money
from orchestrator.estimate.calibration import Calibration
from orchestrator.model.job import Lifecycle, ServeJob
from orchestrator.placement.serving import monthly_usd, one_is_enough, replicas
from orchestrator.placement.shelf import Shelf
from orchestrator.placement.suitable import open_rows
from orchestrator.placement.work import Work

FRACTIONS = (0.25, 0.5)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shares:
    """One row per offer on which the work may have a share: the offer's row of the shelf and the part of one
    accelerator; and what the work costs a month beside the machine, by name."""

    rows: NDArray[np.intp]
    fraction: NDArray[np.float64]
    costs: Mapping[str, float]
    basis: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def usd(self) -> float:
        """Cost a month beside the machine."""
        return round(sum(self.costs.values()), 6)


NONE = Shares(rows=np.zeros(0, dtype=np.intp), fraction=np.zeros(0), costs={}, basis=np.zeros(0, dtype=np.int8))


def shares(work: Work, shelf: Shelf, calibration: Calibration) -> Shares:
    """The smallest share on each offer that carries the work; none for work that cannot share."""
    job = work.job
    if not isinstance(job, ServeJob) or not job.sharing or job.lifecycle is Lifecycle.SPOT:
        return NONE
    if max(job.replicas.min, 1) + job.replicas.warm > 1:
        return NONE
    rows = shelf.shareable
    fraction = np.full(len(rows), np.nan)
    basis = np.zeros(len(rows), dtype=np.int8)
    for part in reversed(FRACTIONS):
        machines = shelf.shared(part)
        found = replicas(work, job, machines, calibration)
        carries = one_is_enough(work, job, found)[machines.machine]
        fraction = np.where(carries, part, fraction)
        basis = np.where(carries, found.basis[machines.machine], basis)
    allowed = np.isin(rows, open_rows(work, shelf)[0]) & np.isfinite(fraction)
    return Shares(
        rows=rows[allowed],
        fraction=fraction[allowed],
        costs={**monthly_usd(work, job), "image": float(money.image_usd(False, money.SECONDS_PER_MONTH))},
        basis=basis[allowed],
    )
