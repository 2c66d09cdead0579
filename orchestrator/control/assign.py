"""From a placement to what a driver needs to know."""

from orchestrator.control.planning import Planned, choices
from orchestrator.model import labels
from orchestrator.model.assignment import Assignment
from orchestrator.model.error import OperationError
from orchestrator.model.job import Job, TrainJob
from orchestrator.model.node import ANY_ZONE
from orchestrator.model.offer import Offer
from orchestrator.model.plan import Choice, Rejection, Status
from orchestrator.placement import micro_batch, shards


class RefusedError(OperationError):
    """A run may not begin now; nothing was started."""


def check_placeable(planned: Planned, job: Job) -> None:
    """RefusedError with the reasons when no offer suits the job."""
    placement = planned.placement(job.name)
    if placement is None or placement.status is not Status.PLACED or not choices(placement):
        reasons = "; ".join(_told(rejection) for rejection in placement.rejections) if placement else "not in the plan"
        raise RefusedError(f"no offer suits {job.name}: {reasons or 'the price book has none'}.", _UNPLACEABLE)


def assign(planned: Planned, job: Job, offer_name: str, *, run_id: str, attempt: int, date: str) -> Assignment:
    """The assignment of an attempt to one of its job's candidates; an unknown offer falls back to the best."""
    placement = planned.placement(job.name)
    ranked = choices(placement) if placement else ()
    choice = next((one for one in ranked if one.offer == offer_name), None) or ranked[0]
    offer = next(one for one in planned.prices.offers if one.name == choice.offer)
    per_worker, workers = _workers(job, choice)
    workers_per_instance = max(1, choice.accelerators_per_instance // per_worker) if per_worker else 1
    storage = planned.catalog.cluster.storage
    return Assignment(
        run_id=run_id,
        attempt=attempt,
        job=job,
        label_selector=selector(offer),
        accelerator=choice.accelerator,
        accelerators_per_worker=per_worker,
        cpus_per_worker=_cpus(offer, workers_per_instance),
        tensor_parallel=choice.parallelism.tensor,
        num_workers=workers,
        storage=storage,
        output_model=f"{storage.rstrip('/')}/models/{job.name}/{run_id}" if isinstance(job, TrainJob) else "",
        emulated=planned.emulated,
        date=date,
        micro_batch=_micro_batch(job, offer, choice) if isinstance(job, TrainJob) else 0,
    )


def selector(offer: Offer) -> tuple[tuple[str, str], ...]:
    """Labels of the nodes of an offer that train and batch may use: its hardware, market and zone, but not Serve's."""
    found = {
        labels.INSTANCE_TYPE: offer.instance.name,
        labels.MARKET_TYPE: offer.market.value,
        labels.POOL: labels.WORK_POOL,
    }
    if offer.zone != ANY_ZONE:
        found[labels.ZONE] = offer.zone
    return tuple(sorted(found.items()))


def _workers(job: Job, choice: Choice) -> tuple[int, int]:
    """Accelerators of one worker, and the number of workers.

    A training worker drives one accelerator; a batch worker is an engine over `tensor` of them. A CPU instance has one.
    """
    instances = max(1, round(choice.instances))
    if choice.accelerator is None:
        return 0, instances
    per_worker = 1 if isinstance(job, TrainJob) else choice.parallelism.tensor
    return per_worker, max(1, instances * choice.accelerators_per_instance // per_worker)


def _micro_batch(job: TrainJob, offer: Offer, choice: Choice) -> int:
    """Sequences a worker computes at once; RefusedError where the plan splits the model over several workers."""
    instances = max(1, round(choice.instances))
    if shards(job, offer.instance, instances) > 1:
        raise RefusedError(
            f"{job.name} fits {choice.instance_type} only split over its accelerators, which training does not do yet.",
            "Use method: lora, or name accelerators with more memory.",
        )
    return micro_batch(job, offer.instance, instances)


def _cpus(offer: Offer, workers_per_instance: int) -> int:
    """Logical CPUs of a worker: an even share of the instance, less one CPU for reading and writing data."""
    return max(1, (offer.instance.vcpus - 1) // workers_per_instance)


def _told(rejection: Rejection) -> str:
    figures = f" (needs {rejection.needed} {rejection.unit}, has {rejection.available})" if rejection.unit else ""
    return f"{rejection.reason}{figures}: {len(rejection.offers)} offers"


_UNPLACEABLE = "Run `orchestrator plan CATALOG --explain JOB` for every reason."
