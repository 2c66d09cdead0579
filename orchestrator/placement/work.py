"""A piece of work: what gets a placement of its own, a train or batch job or one model of a service."""

from dataclasses import dataclass

from orchestrator.model.card import ModelCard
from orchestrator.model.catalog import Catalog
from orchestrator.model.job import Job, JobClass, ServeJob, Task

CLASS_ORDER = (JobClass.SERVE, JobClass.DEADLINE, JobClass.BATCH, JobClass.BEST_EFFORT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """`part` is the model's name inside a service with several, else None; `share` its part of the requests (0 to
    1)."""

    job: Job
    part: str | None
    card: ModelCard
    share: float

    @property
    def name(self) -> str:
        """Unique in a catalog: "copilot/small" or "nightly"."""
        return f"{self.job.name}/{self.part}" if self.part else self.job.name

    @property
    def level(self) -> tuple[int, int]:
        """Importance: lower comes first (class, then priority)."""
        return CLASS_ORDER.index(self.job.job_class), -self.job.priority

    @property
    def small(self) -> bool:
        """True for what may run on CPUs without asking: models below 1e9 parameters, embeddings, classifiers."""
        encodes = isinstance(self.job, ServeJob) and self.job.task is not Task.GENERATE
        return encodes or self.card.params < 1e9


def works(catalog: Catalog) -> tuple[Work, ...]:
    """All pieces of work, by name of job and part."""
    found = [work for job in catalog.jobs for work in _of(job)]
    return tuple(sorted(found, key=lambda work: (work.job.name, work.part or "")))


def _of(job: Job) -> list[Work]:
    if not isinstance(job, ServeJob):
        return [Work(job=job, part=None, card=job.model, share=1.0)]
    shares = dict(job.traffic_share)
    several = len(job.models) > 1
    return [
        Work(job=job, part=name if several else None, card=card, share=shares.get(name, 0.0) if several else 1.0)
        for name, card in job.models
    ]
