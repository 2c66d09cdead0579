"""The whole job catalog after validation."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from orchestrator.model.job import Job


class Provider(StrEnum):
    """Where nodes come from: emulated on this machine, or EC2."""

    LOCAL = "local"
    AWS = "aws"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """The one cluster.

    `storage` is an absolute path or s3:// URI; quotas are vCPUs by "FAMILY-market", absent = unlimited. With
    `engineer_usd_per_hour`, `engineer_share` (0 to 1) of the time that a run takes is counted as somebody's.
    """

    provider: Provider
    region: str
    storage: str
    budget_usd_per_hour: Decimal | None
    max_workers: int
    quotas: tuple[tuple[str, int], ...] = ()
    engineer_usd_per_hour: Decimal | None = None
    engineer_share: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Jobs are sorted by name, so that the order of YAML keys never changes a plan."""

    version: int
    cluster: ClusterSpec
    jobs: tuple[Job, ...]

    def job(self, name: str) -> Job | None:
        """The job of that name, or None."""
        return next((job for job in self.jobs if job.name == name), None)
