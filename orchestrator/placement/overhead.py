"""Costs beside the machines: moving data to them, and people's time."""

import numpy as np
from numpy.typing import NDArray

from orchestrator.estimate import money
from orchestrator.estimate.column import Column
from orchestrator.model.catalog import ClusterSpec
from orchestrator.model.job import BatchJob, TrainJob
from orchestrator.model.node import ANY_ZONE
from orchestrator.placement.shelf import Shelf


def transfer_usd(job: TrainJob | BatchJob, shelf: Shelf, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """Reading the job's data once from where it lies, for each row; 0 where the catalog does not say where or how
    much."""
    where, size_gb = job.data_location, job.data_gb
    if where is None or size_gb is None:
        return np.zeros(len(rows))
    region = shelf.cluster.region
    if where == region:
        return np.zeros(len(rows))
    zones = shelf.zones[rows]
    beside = (zones == where) | (zones == ANY_ZONE)
    return np.broadcast_to(money.transfer_usd(size_gb, beside, where in shelf.zones), (len(rows),))


def engineer_usd(cluster: ClusterSpec, seconds: Column) -> Column:
    """Somebody's time while a run goes on: the catalog's hourly rate times the share of it that a run takes."""
    if cluster.engineer_usd_per_hour is None:
        return np.zeros_like(seconds)
    return seconds / money.SECONDS_PER_HOUR * float(cluster.engineer_usd_per_hour) * cluster.engineer_share
