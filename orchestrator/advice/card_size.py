"""Topic: a small model on a large card, where 24 GB would be enough."""

from collections.abc import Iterator

from orchestrator.advice.advice import Advice, Figure, Threshold, Topic
from orchestrator.advice.quantise import saved
from orchestrator.advice.situation import Situation, accelerator_of, alone, chosen, same_type, what_if
from orchestrator.advice.words import number, params, percent
from orchestrator.estimate.profile import PRACTITIONERS
from orchestrator.model.job import ServeJob
from orchestrator.model.plan import Choice
from orchestrator.placement.explain import describe
from orchestrator.placement.work import Work

SMALL_PARAMS = 10e9
SMALL_CARDS = frozenset({"L4", "A10G"})
SMALL_CARD_GIB = 24.0


def card_size(found: Situation) -> Iterator[Advice]:
    """For every served model below 10e9 parameters that the plan gives a card above 24 GB."""
    for work, choice in chosen(found):
        instance = found.offers[choice.offer].instance
        if not isinstance(work.job, ServeJob) or instance.accelerator is None or work.card.params >= SMALL_PARAMS:
            continue
        if instance.accelerator.memory_gib > SMALL_CARD_GIB:
            job = alone(work)
            large = what_if(found, job, same_type(choice))
            small = what_if(found, job, lambda offer: accelerator_of(offer) in SMALL_CARDS)
            yield _advice(work, large or choice, small, instance.accelerator.memory_gib)


def _advice(work: Work, large: Choice, small: Choice | None, memory_gib: float) -> Advice:
    figures = [
        Figure(name="memory of a card", value=memory_gib, unit="GiB", of=describe(large)),
        Figure(name="a month", value=large.expected_usd, unit="USD", of=describe(large)),
    ]
    size = f"{params(work.card.params)} parameters usually fit 24 GB"
    if small is None:
        said = f"{size}, but no L4 or A10G suits this load: shard or quantise before upgrading further."
    else:
        figures.append(Figure(name="a month", value=small.expected_usd, unit="USD", of=describe(small)))
        dearer = -saved(large, small)
        verb = "costs" if dearer >= 0 else "saves"
        said = f"{size}; {describe(small)} {verb} {percent(abs(dearer))} "
        said += f"{'more' if dearer >= 0 else 'of the bill'}: "
        said += f"{'keep' if dearer >= 0 else 'prefer it to'} {describe(large)}."
    return Advice(
        topic=Topic.CARD_SIZE,
        job=work.job.name,
        part=work.part or "",
        recommendation=said,
        figures=tuple(figures),
        thresholds=(
            Threshold(name="24 GB cards below", value=SMALL_PARAMS, unit="parameters", source=PRACTITIONERS),
            Threshold(name="large card above", value=SMALL_CARD_GIB, unit="GiB", source=PRACTITIONERS),
        ),
        confidence=f"Reports: 40 A100 became 8 A100 or 32 L4 for 1,000 requests/s; here {number(large.instances)} "
        "instances are planned.",
    )
