"""One piece of work against the whole shelf: its candidates, and one rejection per reason for all other offers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.estimate.calibration import Calibration
from orchestrator.model.job import BatchJob, TrainJob
from orchestrator.placement import batch, serving, training
from orchestrator.placement.candidate import Candidates, candidates
from orchestrator.placement.limits import Limit
from orchestrator.placement.refusal import Refusals
from orchestrator.placement.runs import runs_per_month
from orchestrator.placement.serverless import with_serverless
from orchestrator.placement.shelf import Shelf
from orchestrator.placement.suitable import open_rows
from orchestrator.placement.ways import Ways
from orchestrator.placement.work import Work


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Examined:
    """Candidates of a piece of work, and the refusals of the offers that do not suit."""

    candidates: Candidates
    refused: tuple[Refusals, ...]


def examine(
    work: Work,
    shelf: Shelf,
    each: NDArray[np.int64],
    limits: tuple[Limit, ...],
    calibration: Calibration,
    now: str,
) -> Examined:
    """`each` is what one instance of each offer takes of the limits. Offers that are barred for every job are not
    repeated here."""
    rows, refused = open_rows(work, shelf)
    ways = _ways(work, shelf, rows, calibration)
    found, impossible = candidates(ways, shelf, each, limits, runs_per_month(work.job, now))
    found, kept_out = with_serverless(found, work, shelf.serverless)
    return Examined(candidates=found, refused=(refused, impossible, kept_out))


def _ways(work: Work, shelf: Shelf, rows: NDArray[np.intp], calibration: Calibration) -> Ways:
    match work.job:
        case TrainJob() as job:
            return training.ways(job, shelf, rows, calibration)
        case BatchJob() as job:
            return batch.ways(job, shelf, rows, calibration)
        case job:
            return serving.ways(work, job, shelf, rows, calibration)
