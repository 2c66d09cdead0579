"""A finished run against its estimate: how much faster or slower the hardware was than the formulas say. Pure."""

from collections.abc import Sequence
from statistics import median

from orchestrator.control.planning import Planned
from orchestrator.estimate.calibration import Experience, family
from orchestrator.model.event import Event
from orchestrator.model.job import BatchJob, Job, TrainJob
from orchestrator.model.plan import Choice
from orchestrator.model.run import Run

CPU = "cpu"


def measured(planned: Planned, run: Run, events: Sequence[Event]) -> Experience | None:
    """The experience of a run from what its driver told (`events`, with its `finished` one); None where it says
    nothing: on emulated nodes, without sizes in the catalog, or on an offer that is no longer in the plan."""
    job = planned.catalog.job(run.job)
    choice = _choice(planned, run)
    if run.emulated or planned.emulated or job is None or choice is None or choice.device_seconds <= 0:
        return None
    device_seconds = _device_seconds(job, choice, events)
    if device_seconds is None:
        return None
    return Experience(
        family=family(job.model) if isinstance(job, TrainJob | BatchJob) else "",
        accelerator=choice.accelerator or CPU,
        task="train" if isinstance(job, TrainJob) else "generate",
        speed_ratio=choice.device_seconds / device_seconds,
    )


def _choice(planned: Planned, run: Run) -> Choice | None:
    placement = planned.placement(run.job)
    if placement is None or run.last is None:
        return None
    return next((choice for choice in placement.candidates if choice.offer == run.last.offer), None)


def _device_seconds(job: Job, choice: Choice, events: Sequence[Event]) -> float | None:
    """Device seconds that the work which the catalog states takes at the measured rate."""
    told = [dict(event.data) for event in events]
    if isinstance(job, TrainJob):
        rates = [float(data["tokens_per_s"]) for data in told if _positive(data.get("tokens_per_s"))]
        if not rates or job.tokens is None:
            return None
        return job.tokens * job.epochs / median(rates) * choice.parallelism.data
    if isinstance(job, BatchJob) and job.rows is not None:
        last = next((data for data in reversed(told) if _positive(data.get("rows"))), None)
        if last is not None and _positive(last.get("seconds")):
            return float(last["seconds"]) / float(last["rows"]) * job.rows
    return None


def _positive(value: object) -> bool:
    return isinstance(value, int | float) and value > 0
