"""Topic: what a service's machines leave idle between its peaks, and whether batch work could use it."""

from collections.abc import Iterator
from dataclasses import replace

from orchestrator.advice.advice import Advice, Figure, Threshold, Topic
from orchestrator.advice.situation import Situation, alone, chosen, same_type, what_if
from orchestrator.advice.words import number, percent
from orchestrator.estimate.generation import HEADROOM
from orchestrator.estimate.money import HOURS_PER_MONTH, SECONDS_PER_HOUR
from orchestrator.estimate.profile import PRACTITIONERS
from orchestrator.model.job import ServeJob
from orchestrator.model.plan import Choice
from orchestrator.placement.runs import runs_per_month
from orchestrator.placement.work import Work

COMMON_IDLE = 0.6


def idle_share(mean: float, peak: float) -> float:
    """Least share of machines sized for `peak` that idles at `mean` load: 1 - mean / peak x 0.8, the planned
    headroom."""
    return 1.0 - mean / peak * HEADROOM


def idle(found: Situation) -> Iterator[Advice]:
    """One piece of advice for every model of a service on accelerators."""
    for work, choice in chosen(found):
        job = work.job
        if isinstance(job, ServeJob) and choice.accelerator is not None:
            yield _advice(work, job, choice, _at_peak(found, work, choice), run_hours(found, choice.accelerator))


def _at_peak(found: Situation, work: Work, choice: Choice) -> float:
    """Instances of the same type and market when the mean load is the peak."""
    single = alone(work)
    assert isinstance(single, ServeJob)
    traffic = replace(single.traffic, requests_per_second=single.traffic.peak_requests_per_second)
    peak = what_if(found, replace(single, traffic=traffic), same_type(choice))
    return max(peak.instances, choice.instances) if peak else choice.instances


def _advice(work: Work, job: ServeJob, choice: Choice, at_peak: float, wanted_h: float) -> Advice:
    traffic = job.traffic
    share = idle_share(traffic.requests_per_second, traffic.peak_requests_per_second)
    per = choice.accelerators_per_instance
    hours = at_peak * per * HOURS_PER_MONTH
    free_h = hours * share
    kept = choice.instances * per * HOURS_PER_MONTH
    scaled_h = hours - kept
    left_h = max(free_h - scaled_h, 0.0)
    could = min(wanted_h, left_h)
    mean, peak = number(traffic.requests_per_second), number(traffic.peak_requests_per_second)
    how = f"{at_peak:g} instances x {per} x {HOURS_PER_MONTH:g} h"
    return Advice(
        topic=Topic.IDLE,
        job=job.name,
        part=work.part or "",
        recommendation=_sentence(left_h, kept, could),
        figures=(
            Figure(name="sized for the peak", value=hours, unit="accelerator-hours a month", how=how),
            Figure(name="idle at least", value=share, how=f"1 - {mean} / {peak} x {HEADROOM:g} headroom"),
            Figure(
                name="given back by scaling",
                value=scaled_h,
                unit="accelerator-hours a month",
                how=f"({at_peak:g} - {choice.instances:g} instances) x {per} x {HOURS_PER_MONTH:g} h",
            ),
            Figure(
                name="idle and paid",
                value=left_h,
                unit="accelerator-hours a month",
                how=f"{number(hours)} x {number(share)} - {number(scaled_h)}, 0 at least",
            ),
            Figure(name="runs on the same accelerator need", value=wanted_h, unit="accelerator-hours a month"),
        ),
        thresholds=(
            Threshold(name="commonly idle", value=COMMON_IDLE, unit="", source=PRACTITIONERS),
            Threshold(name="planned load of a replica", value=HEADROOM, unit="of its capacity", source="placement"),
        ),
        confidence="From the catalog's mean and peak, not from measured utilisation; a run has to fit into the memory "
        "the service leaves, or wait until replicas go.",
    )


def _sentence(left_h: float, kept_h: float, could_h: float) -> str:
    if left_h <= 0.0:
        return "Scaling gives back what only the peak needs: no paid hours are certain to be idle."
    share = left_h / kept_h
    said = f"At least {number(left_h)} paid accelerator-hours a month ({percent(share)}) are idle"
    if could_h <= 0.0:
        return f"{said}; the catalog has no runs on this accelerator to fill them."
    return f"{said}: runs of the catalog could use {number(could_h)} of them between the peaks."


def run_hours(found: Situation, accelerator: str) -> float:
    """Accelerator-hours a month of the training and batch runs that are planned on this type."""
    return sum(
        choice.instances
        * choice.accelerators_per_instance
        * choice.expected_seconds
        / SECONDS_PER_HOUR
        * runs_per_month(work.job, found.plan.now)
        for work, choice in chosen(found)
        if not isinstance(work.job, ServeJob) and choice.accelerator == accelerator
    )
