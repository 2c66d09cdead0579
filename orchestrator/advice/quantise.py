"""Topic: quantised weights would fit a cheaper card than the model now gets."""

from collections.abc import Iterator
from dataclasses import replace

from orchestrator.advice.advice import Advice, Figure, Threshold, Topic
from orchestrator.advice.situation import Situation, alone, planned, what_if
from orchestrator.advice.words import number, percent, usd
from orchestrator.estimate.profile import PRACTITIONERS
from orchestrator.model.card import Dtype
from orchestrator.model.job import ServeJob
from orchestrator.model.plan import Choice, Placement, Rejection
from orchestrator.placement.explain import describe
from orchestrator.placement.work import Work

WORTH_CHANGING = 0.05
ACCURACY_LOST = {Dtype.INT8: 1.2, Dtype.INT4: 2.3}
"""Points of MMLU that an 8B model is reported to lose from FP16: 68.4 → 67.2 (INT8) and 66.1 (INT4)."""


def quantise(found: Situation) -> Iterator[Advice]:
    """For every model of a service that is served unquantised and with fewer bits would be clearly cheaper, or fit at
    all."""
    for work, placement in planned(found):
        job = work.job
        if not isinstance(job, ServeJob) or job.quantization is not None:
            continue
        single = alone(work)
        assert isinstance(single, ServeJob)
        now = what_if(found, single, lambda offer: True)
        for bits in (Dtype.INT8, Dtype.INT4):
            smaller = what_if(found, replace(single, quantization=bits), lambda offer: True)
            if smaller is not None and (now is None or saved(now, smaller) >= WORTH_CHANGING):
                yield _advice(work, placement, now, smaller, bits)
                break


def saved(now: Choice, other: Choice) -> float:
    """Share of the bill that the other choice saves."""
    return 1.0 - float(other.expected_usd / now.expected_usd) if now.expected_usd else 0.0


def least_missing(placement: Placement) -> Rejection | None:
    """The memory rejection by which the model misses a card by the smallest share."""
    found = [
        each
        for each in placement.rejections
        if each.reason == "memory" and isinstance(each.needed, float) and isinstance(each.available, float)
    ]
    return min(found, key=lambda each: (_missing(each), each.offers), default=None)


def _missing(rejection: Rejection) -> float:
    assert isinstance(rejection.needed, float) and isinstance(rejection.available, float)
    return rejection.needed / max(rejection.available, 1e-9)


def _advice(work: Work, placement: Placement, now: Choice | None, smaller: Choice, bits: Dtype) -> Advice:
    return Advice(
        topic=Topic.QUANTISE,
        job=work.job.name,
        part=work.part or "",
        recommendation=_sentence(now, smaller, bits),
        figures=tuple(_figures(placement, now, smaller, bits)),
        thresholds=(
            Threshold(name="worth a change from", value=WORTH_CHANGING, unit="of the bill", source="judgement"),
            Threshold(
                name=f"accuracy lost in {bits.value}, 8B",
                value=ACCURACY_LOST[bits],
                unit="points of MMLU",
                source=PRACTITIONERS,
            ),
        ),
        confidence="The loss of accuracy depends on model and task: max_accuracy_drop in the catalog guards it.",
    )


def _sentence(now: Choice | None, smaller: Choice, bits: Dtype) -> str:
    check = "check accuracy on your own data first"
    if now is None:
        return f"Quantise to {bits.value}: unquantised nothing suits, quantised {describe(smaller)} does; {check}."
    return (
        f"Quantise to {bits.value} before paying for {describe(now)}: {describe(smaller)} would do for "
        f"{percent(saved(now, smaller))} less; {check}."
    )


def _figures(placement: Placement, now: Choice | None, smaller: Choice, bits: Dtype) -> Iterator[Figure]:
    if now is not None:
        yield Figure(name="a month", value=now.expected_usd, unit="USD", of=describe(now))
    yield Figure(name=f"a month in {bits.value}", value=smaller.expected_usd, unit="USD", of=describe(smaller))
    if now is not None:
        how = f"{usd(now.expected_usd)} - {usd(smaller.expected_usd)} USD"
        yield Figure(name="saved", value=now.expected_usd - smaller.expected_usd, unit="USD a month", how=how)
    missed = least_missing(placement)
    if missed is not None:
        assert isinstance(missed.needed, float) and isinstance(missed.available, float)
        how = f"{number(missed.needed)} - {number(missed.available)} GiB of {missed.offers[0]}"
        value = missed.needed - missed.available
        yield Figure(name="unquantised it misses the nearest memory by", value=value, unit="GiB", how=how)
