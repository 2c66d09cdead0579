"""What advice starts from: the catalog, the prices of its region and the plan they give; and what-if plans of one
job."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.estimate.calibration import Experience
from orchestrator.model.catalog import Catalog, ClusterSpec
from orchestrator.model.job import Job, ServeJob, TrainJob
from orchestrator.model.offer import Offer, PriceBook
from orchestrator.model.plan import Choice, Placement, Plan
from orchestrator.placement.place import place
from orchestrator.placement.work import Work, works

CPU = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Situation:
    """`book` holds the offers of the cluster's region only; `offers` are the same by name."""

    catalog: Catalog
    book: PriceBook
    plan: Plan
    offers: Mapping[str, Offer]
    experience: tuple[Experience, ...]


def situation(catalog: Catalog, book: PriceBook, now: str, experience: Sequence[Experience] = ()) -> Situation:
    """The plan of the catalog, made as `plan` makes it. `now` is ISO 8601, `experience` what a ledger learnt."""
    region = catalog.cluster.region
    near = tuple(offer for offer in book.offers if offer.region == region and not offer.local_zone)
    return Situation(
        catalog=catalog,
        book=replace(book, offers=near, refused=()),
        plan=place(catalog, book, now, experience),
        offers={offer.name: offer for offer in near},
        experience=tuple(experience),
    )


def planned(found: Situation) -> Iterator[tuple[Work, Placement]]:
    """Every piece of work with its placement, by name."""
    for work in works(found.catalog):
        job = found.plan.job(work.job.name)
        assert job is not None, work.name
        yield work, job.part(work.part)


def chosen(found: Situation) -> Iterator[tuple[Work, Choice]]:
    """Every piece of work that has hardware."""
    for work, placement in planned(found):
        if placement.chosen is not None:
            yield work, placement.chosen


def what_if(
    found: Situation, job: Job, allowed: Callable[[Offer], bool], cluster: ClusterSpec | None = None
) -> Choice | None:
    """Where the job (of one model) would run, alone on the cluster and on allowed offers only; None = nowhere."""
    book = replace(found.book, offers=tuple(offer for offer in found.book.offers if allowed(offer)))
    if not book.offers:
        return None
    catalog = Catalog(version=found.catalog.version, cluster=cluster or found.catalog.cluster, jobs=(job,))
    return place(catalog, book, found.plan.now, found.experience).jobs[0].placement.chosen


def alone(work: Work) -> Job:
    """The work as a job of its own: of a service with several models the one, with its share of the traffic."""
    job = work.job
    if not isinstance(job, ServeJob) or work.part is None:
        return job
    traffic = replace(
        job.traffic,
        requests_per_second=job.traffic.requests_per_second * work.share,
        peak_requests_per_second=job.traffic.peak_requests_per_second * work.share,
    )
    return replace(job, models=((work.part, work.card),), traffic_share=((work.part, 1.0),), routes=(), traffic=traffic)


def train_jobs(found: Situation) -> Iterator[tuple[TrainJob, Placement]]:
    """Training jobs that have hardware."""
    for work, placement in planned(found):
        if isinstance(work.job, TrainJob) and placement.chosen is not None:
            yield work.job, placement


def same_type(choice: Choice) -> Callable[[Offer], bool]:
    """Offers of the choice's instance type."""
    return lambda offer: offer.instance.name == choice.instance_type


def accelerator_of(offer: Offer) -> str:
    """Name of an offer's accelerator, "cpu" without one."""
    return offer.instance.accelerator.name if offer.instance.accelerator else CPU
