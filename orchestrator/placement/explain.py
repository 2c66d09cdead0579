"""A placement in words: what was chosen and why, what came next, and why the rest was not."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from orchestrator.model.job import Kind
from orchestrator.model.offer import Market
from orchestrator.model.plan import Choice, JobPlan, Placement, Pool, Rejection

SHOWN_CANDIDATES = 3
SHOWN_REASONS = 3
SHOWN_OFFERS = 3
PAID_BY_THE_HOUR = frozenset({"compute", "startup", "interruptions", "cold-starts"})

EARLY = (
    "max-price", "needs-accelerator", "accelerator", "market", "left-out", "unknown-hardware", "spot-not-cheaper",
    "no-on-demand-price", "implausible-price", "zero-price", "duplicate", "hardware-mismatch",
    "fractional-accelerator", "local-zone", "other-region",
)  # fmt: skip
"""Reasons that need no estimate, latest first; all others come later and say more."""

REASONS = {
    "accelerator": "the job asks for another accelerator",
    "budget": "the cluster's budget does not allow it",
    "crowded-out": "more important jobs take the room",
    "deadline": "too slow for the deadline",
    "duplicate": "the price list gives another price for the same offer",
    "fractional-accelerator": "a part of an accelerator cannot be scheduled yet",
    "hardware-mismatch": "the price list contradicts the hardware table",
    "implausible-price": "the price cannot be right",
    "interconnect": "too large a model to train over this network",
    "interruptions": "interrupted more often than it can make progress",
    "large-accelerator": "a larger accelerator than the model needs, and dearer",
    "left-out": "left out on request",
    "local-zone": "in a local zone, away from the region's network and storage",
    "market": "the job's lifecycle or latency objective rules this market out",
    "max-duration": "longer than the job may run",
    "max-price": "dearer per hour than max_price",
    "max-replicas": "more replicas than allowed for this load",
    "max-workers": "more nodes than the cluster may have",
    "memory": "does not fit in memory",
    "needs-accelerator": "too large a model for a CPU machine",
    "more-than-one-accelerator": "one accelerator is enough, and cheaper",
    "no-on-demand-price": "no on-demand price to compare the spot price with",
    "other-region": "in another region",
    "precision": "the hardware lacks the precision",
    "quota": "more vCPUs than the quota allows",
    "cold-start": "cold starts are longer than the latency promised",
    "serverless": "serverless is for other work",
    "slo-itl": "tokens come too slowly for the objective",
    "slo-latency": "requests take too long for the objective",
    "slo-ttft": "the first token comes too late for the objective",
    "spot-base": "a single replica with a promised latency runs on-demand",
    "spot-not-cheaper": "spot is not below on-demand",
    "spot-pools": "losing a spot pool would take the service down",
    "task": "the endpoint does other things",
    "tensor-parallel": "the model's heads cannot be split over this instance",
    "unfilled-accelerators": "too few rows to fill the accelerators, and dearer",
    "unknown-hardware": "the hardware table does not know it",
    "window": "too slow for the window",
    "zero-price": "the price list gives no price above zero",
}


def explain(job: JobPlan) -> str:
    """Several lines of plain text about one job, without colour or clock."""
    lines = [f"{job.name} ({job.kind.value}): {job.placement.status.value}"]
    for name, placement in job.parts or (("", job.placement),):
        indent = "  " if name else ""
        if name:
            lines.append(f"{indent}{name}: {placement.status.value}")
        lines.extend(f"{indent}  {line}" for line in _placement(placement, job.kind))
    return "\n".join(lines)


def describe(choice: Choice) -> str:
    """One line: "2 x g6.xlarge (L4) spot in use1-az4", or "4 x g6.xlarge (L4): 1 on-demand, 3 spot in 3 zones"."""
    hardware = choice.instance_type
    if choice.accelerator:
        count = f"{choice.accelerators_per_instance} x " if choice.accelerators_per_instance > 1 else ""
        hardware += f" ({count}{choice.accelerator})"
    if choice.market is Market.SERVERLESS:
        return f"{choice.instance_type}, serverless"
    if choice.share < 1.0:
        part = Fraction(choice.share).limit_denominator(16)
        article = "an" if str(choice.accelerator)[:1] in "AHL" else "a"
        return f"{part} of {article} {choice.accelerator} ({choice.instance_type}) {choice.market.value}, shared"
    if len(choice.pools) > 1:
        return f"{choice.instances:g} x {hardware}: {_markets(choice.pools)}"
    where = "" if choice.zone == "*" else f" in {choice.zone}"
    return f"{choice.instances:g} x {hardware} {choice.market.value}{where}"


def _markets(pools: tuple[Pool, ...]) -> str:
    said = []
    for market in dict.fromkeys(pool.market for pool in pools):
        mine = [pool for pool in pools if pool.market is market]
        zones = f" in {len(mine)} zones" if len(mine) > 1 else ""
        said.append(f"{sum(pool.instances for pool in mine):g} {market.value}{zones}")
    return ", ".join(said)


def summary(placement: Placement) -> str:
    """A clause for a table: the next other hardware and its distance; without a choice the commonest reasons."""
    chosen = placement.chosen
    if chosen is not None and chosen.share < 1.0:
        alone = next((each for each in placement.candidates[1:]), None)
        return f"next type: {describe(alone)} ({_distance(alone, chosen)})" if alone else "no other type suits"
    if chosen is None:
        shown = sorted(placement.rejections, key=lambda rejection: (_how_far(rejection), -len(rejection.offers)))
        return "; ".join(f"{reason(rejection)} ({len(rejection.offers)})" for rejection in shown[:SHOWN_REASONS])
    cheaper = [each for each in placement.candidates if each.expected_usd < chosen.expected_usd]
    if cheaper:
        return f"{describe(cheaper[0])} ({_distance(cheaper[0], chosen)}) does not fit beside the other jobs"
    other = next((each for each in placement.candidates if each.instance_type != chosen.instance_type), None)
    if other is None:
        return "no other type suits"
    return f"next type: {describe(other)} ({_distance(other, chosen)})"


def _how_far(rejection: Rejection) -> int:
    """Offers that got furthest come first: they are what the job nearly had."""
    return EARLY.index(rejection.reason) if rejection.reason in EARLY else -1


def _distance(other: Choice, chosen: Choice) -> str:
    if not chosen.expected_usd:
        return f"{other.expected_usd:.2f} USD"
    return f"{(other.expected_usd - chosen.expected_usd) / chosen.expected_usd:+.0%}"


def reason(rejection: Rejection) -> str:
    """One clause with the figures: "does not fit in memory: needs 17.1 GiB, has 12.4 GiB"."""
    text = REASONS.get(rejection.reason, rejection.reason)
    figures = [
        f"{verb} {_value(value, rejection.unit)}"
        for verb, value in (("needs", rejection.needed), ("has", rejection.available))
        if value is not None
    ]
    return f"{text}: {', '.join(figures)}" if figures else text


def _placement(placement: Placement, kind: Kind) -> Iterator[str]:
    chosen = placement.chosen
    if chosen is None:
        yield "no offer suits:" if placement.rejections else "no offers"
    else:
        yield from _chosen(chosen, kind)
        yield from _runners_up(placement, chosen)
    if placement.rejections:
        yield "not possible:"
        yield from (f"  {line}" for line in map(_rejected, placement.rejections))


def _chosen(choice: Choice, kind: Kind) -> Iterator[str]:
    per = "a month" if kind is Kind.SERVE else f"a run of {duration(choice.expected_seconds)}"
    yield f"chosen: {describe(choice)}, {choice.usd_per_hour:.4f} USD/h, {choice.expected_usd:.2f} USD {per}"
    if len(choice.pools) > 1:
        yield "pools: " + ", ".join(f"{pool.instances:g} x {pool.offer}" for pool in choice.pools)
    costs = ", ".join(f"{name} {usd:.2f}" for name, usd in choice.costs)
    yield f"cost in USD: {costs} (estimated by {choice.basis.value})"
    if choice.market is Market.SERVERLESS:
        yield "`apply` cannot deploy this and uses the next candidate; `overflow` sends what is too much to an endpoint"
        return
    if choice.share < 1.0:
        yield f"pays {choice.instances:.0%} of an instance, the rest is paid by those it shares with"
        return
    degrees = choice.parallelism
    each = (
        f"{degrees.tensor} accelerators"
        if degrees.tensor > 1
        else "one accelerator"
        if choice.accelerator
        else "a CPU machine"
    )
    yield f"parallelism: {degrees.data} {'copies' if degrees.data > 1 else 'copy'} of the model, each on {each}"


def _runners_up(placement: Placement, chosen: Choice) -> Iterator[str]:
    """What is cheaper but does not fit, the next other hardware with what would make it cheapest, other zones."""
    others = placement.candidates[1:]
    cheaper = [other for other in others if other.expected_usd < chosen.expected_usd]
    if cheaper:
        yield "cheaper, but they do not fit beside the other jobs:"
        yield from (f"  {_compared(other, chosen)}" for other in cheaper[:SHOWN_CANDIDATES])
    hardware: dict[tuple[str, Market], Choice] = {}
    for other in others:
        if other not in cheaper and (other.instance_type, other.market) != (chosen.instance_type, chosen.market):
            hardware.setdefault((other.instance_type, other.market), other)
    if hardware:
        yield f"next best of {len(placement.suitable)} offers that suit:"
        for other in list(hardware.values())[:SHOWN_CANDIDATES]:
            yield f"  {_compared(other, chosen)}{_turning_point(other, chosen)}"
    same = [other for other in others if (other.instance_type, other.market) == (chosen.instance_type, chosen.market)]
    if same:
        shown = ", ".join(f"{other.zone} {_distance(other, chosen)}" for other in same[:SHOWN_CANDIDATES])
        yield f"the same hardware elsewhere: {shown}"
    if len(placement.suitable) == 1:
        yield "no other offer suits"


def _compared(other: Choice, chosen: Choice) -> str:
    return f"{describe(other)}: {other.expected_usd:.2f} USD ({_distance(other, chosen)}{_why_dearer(other, chosen)})"


def _why_dearer(other: Choice, chosen: Choice) -> str:
    """How price and time differ: ", 1.8 times the price for 0.9 of the time"."""
    if not chosen.usd_per_hour or other.expected_seconds == chosen.expected_seconds:
        return ""
    price = other.usd_per_hour / chosen.usd_per_hour
    time = other.expected_seconds / chosen.expected_seconds
    return f": {price:.2f} times the price an hour for {time:.2f} times the hours"


def _turning_point(other: Choice, chosen: Choice) -> str:
    """The price at which the other one would cost as much: only what is paid by the hour moves with it."""
    by_the_hour = sum((usd for name, usd in other.costs if name in PAID_BY_THE_HOUR), Decimal(0))
    if len(other.pools) > 1 or not by_the_hour:
        return ""
    price = other.usd_per_hour / Decimal(repr(other.instances))
    cheapest_below = price * (chosen.expected_usd - (other.expected_usd - by_the_hour)) / by_the_hour
    if cheapest_below <= 0:
        return "; at no price cheapest"
    return f"; cheapest below ${cheapest_below:.4g}/h (now ${price.normalize():f}/h)"


def _rejected(rejection: Rejection) -> str:
    shown = ", ".join(rejection.offers[:SHOWN_OFFERS])
    more = len(rejection.offers) - SHOWN_OFFERS
    return f"{reason(rejection)} — {shown}{f' and {more} more' if more > 0 else ''}"


def duration(seconds: float) -> str:
    """Seconds for people: "45 s", "12 min", "3.4 h"."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _value(value: float | str, unit: str) -> str:
    if isinstance(value, str):
        return f"{value} {unit}".strip()
    return duration(value) if unit == "s" else f"{value:g} {unit}".strip()
