"""Topic: own cluster, dedicated replicas that scale, or serverless, from the pattern of a service's traffic."""

from collections.abc import Iterator
from enum import StrEnum

from orchestrator.advice.advice import Advice, Figure, Threshold, Topic
from orchestrator.advice.situation import Situation, chosen
from orchestrator.advice.traffic import (
    CONSTANT_PEAK,
    CONSTANT_VARIATION,
    IDLE_SHARE_OF_MEAN,
    REPEATS,
    SPIKY_PEAK,
    TWO_WEEKS_DAYS,
    Shape,
    Traced,
)
from orchestrator.advice.words import number, percent
from orchestrator.estimate.profile import PRACTITIONERS
from orchestrator.model.job import Pattern, ServeJob
from orchestrator.placement.explain import describe


class Tier(StrEnum):
    """Where a service should run."""

    OWN = "an own cluster with a fixed number of replicas"
    DEDICATED = "dedicated replicas with aggressive autoscaling"
    SERVERLESS = "serverless, or overflow to it"


TIERS = {
    Pattern.CONSTANT: Tier.OWN,
    Pattern.PREDICTABLE: Tier.DEDICATED,
    Pattern.SPIKY: Tier.DEDICATED,
    Pattern.UNPREDICTABLE: Tier.SERVERLESS,
}
"""Practitioner reports, 2024-2026: constant → own cluster; spiky but predictable → dedicated with aggressive
autoscaling; unpredictable → serverless, or overflow to it."""


def tier(found: Situation, traffic: Traced | None) -> Iterator[Advice]:
    """One piece of advice for every service; `traffic`, if any, is compared with each service's own pattern."""
    for job in found.catalog.jobs:
        if isinstance(job, ServeJob):
            yield _advice(found, job, traffic)


def _advice(found: Situation, job: ServeJob, traffic: Traced | None) -> Advice:
    measured = traffic.pattern if traffic else None
    pattern = measured or job.traffic.pattern
    declared = job.traffic
    ratio = declared.peak_requests_per_second / declared.requests_per_second
    how = f"{number(declared.peak_requests_per_second)} / {number(declared.requests_per_second)} requests/s"
    return Advice(
        topic=Topic.SERVING_TIER,
        job=job.name,
        recommendation=_sentence(job, pattern, measured),
        figures=(
            Figure(name="pattern", value=declared.pattern.value, of="catalog"),
            Figure(name="peak over mean", value=ratio, how=how, of="catalog"),
            *_planned(found, job),
            *(_figures(traffic) if traffic else ()),
        ),
        thresholds=(*(_limits() if traffic else ()), *_tier_figures()),
        confidence=_confidence(traffic),
    )


def _sentence(job: ServeJob, pattern: Pattern, measured: Pattern | None) -> str:
    declared = job.traffic.pattern
    wanted = TIERS[pattern]
    if measured is None:
        said = f"Traffic is {declared.value} by the catalog and calls for {wanted.value}"
    elif measured is declared:
        said = f"Traffic is {measured.value}, as the catalog says, and calls for {wanted.value}"
    else:
        said = (
            f"Traffic is {measured.value}, not {declared.value}: set traffic.pattern to {measured.value}; it calls for "
            f"{wanted.value}"
        )
    if wanted is Tier.SERVERLESS:
        return f"{said}; the overflow endpoint is set." if job.overflow else f"{said}: add an overflow endpoint."
    if wanted is Tier.DEDICATED and job.replicas.max <= max(job.replicas.min, 1):
        return f"{said}: raise replicas.max above {job.replicas.max}, else nothing scales."
    return f"{said}."


def _planned(found: Situation, job: ServeJob) -> Iterator[Figure]:
    """What an hour of an accelerator costs on the planned hardware."""
    for work, choice in chosen(found):
        count = choice.instances * choice.accelerators_per_instance
        if work.job is job and count:
            how = f"{choice.usd_per_hour.normalize():f} USD/h / {count:g}"
            price = float(choice.usd_per_hour) / count
            of = f"{work.part}: {describe(choice)}" if work.part else describe(choice)
            yield Figure(name="planned", value=price, unit="USD per accelerator-hour", how=how, of=of)


def _figures(traffic: Traced) -> Iterator[Figure]:
    shape, of = traffic.shape, f"{traffic.source}, {traffic.column}"
    yield Figure(
        name="pattern",
        value=traffic.pattern.value if traffic.pattern else "cannot tell",
        how=_why(shape, traffic.pattern),
        of=of,
    )
    yield Figure(name="covers", value=shape.days, unit="days", of=of)
    yield Figure(name="peak over mean", value=shape.peak_to_mean, how="99th percentile of windows / mean", of=of)
    yield Figure(name="coefficient of variation", value=shape.variation, how="standard deviation / mean", of=of)
    if shape.daily_repeat is not None:
        how = "correlation of windows one day apart"
        yield Figure(name="repeats from day to day", value=shape.daily_repeat, how=how, of=of)
    how = f"windows below {percent(IDLE_SHARE_OF_MEAN)} of the mean"
    yield Figure(name="idle share", value=shape.idle_share, how=how, of=of)


def _why(shape: Shape, pattern: Pattern | None) -> str:
    if pattern is None:
        return "a daily rhythm needs two days of traffic"
    if pattern is Pattern.CONSTANT:
        return f"peak {number(shape.peak_to_mean)} <= {CONSTANT_PEAK:g}, variation within {CONSTANT_VARIATION:g}"
    repeat = number(shape.daily_repeat or 0.0)
    if pattern is Pattern.UNPREDICTABLE:
        return f"repeats {repeat} < {REPEATS:g}"
    sign = ">=" if pattern is Pattern.SPIKY else "<"
    return f"repeats {repeat} >= {REPEATS:g}, peak {number(shape.peak_to_mean)} {sign} {SPIKY_PEAK:g}"


def _confidence(traffic: Traced | None) -> str:
    if traffic is None:
        return "The pattern is the catalog's word: measure two weeks of traffic and give them with --traffic."
    said = []
    if traffic.pattern is None:
        said.append("The file is too short to tell the pattern, so the catalog's counts.")
    if traffic.shape.days < TWO_WEEKS_DAYS:
        said.append(
            f"It covers {number(traffic.shape.days)} days, less than two weeks: whether weeks repeat is unknown."
        )
    if traffic.events:
        said.append("Its rows are unevenly spaced and were added up as events.")
    return " ".join(said)


def _limits() -> tuple[Threshold, ...]:
    return (
        Threshold(
            name="constant up to a peak over mean of", value=CONSTANT_PEAK, unit="",
            source="1 / 0.8: replicas are planned at 80% of their capacity",
        ),
        Threshold(name="and a variation of", value=CONSTANT_VARIATION, unit="", source="the same headroom: 1.25 - 1"),
        Threshold(
            name="predictable from a daily repetition of", value=REPEATS, unit="",
            source="judgement: public traces with a daily rhythm reach 0.75 to 0.83, those without 0.0 to 0.16",
        ),
        Threshold(
            name="spiky from a peak over mean of", value=SPIKY_PEAK, unit="",
            source="the peak that the catalog assumes of a spiky service",
        ),
        Threshold(name="measure over", value=TWO_WEEKS_DAYS, unit="days", source=PRACTITIONERS),
    )  # fmt: skip


def _tier_figures() -> tuple[Threshold, ...]:
    hour = "USD per accelerator-hour"
    rows = (
        ("own cluster on spot, up to", 0.90, hour),
        ("dedicated, from", 1.00, hour),
        ("up to", 1.50, hour),
        ("median latency: own cluster", 180.0, "ms"),
        ("dedicated", 220.0, "ms"),
        ("serverless", 450.0, "ms"),
    )
    return tuple(Threshold(name=name, value=value, unit=unit, source=PRACTITIONERS) for name, value, unit in rows)
