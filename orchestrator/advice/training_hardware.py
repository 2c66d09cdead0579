"""Topic: the class of hardware that retrain frequency and model size call for, beside what the plan chose."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

from orchestrator.advice.advice import Advice, Figure, Threshold, Topic
from orchestrator.advice.run_costs import Way, cheapest, way
from orchestrator.advice.situation import Situation, accelerator_of, train_jobs
from orchestrator.advice.words import more, number, params, percent, usd
from orchestrator.estimate.money import round_usd
from orchestrator.estimate.profile import PRACTITIONERS
from orchestrator.model.job import TrainJob
from orchestrator.model.offer import Market, Offer
from orchestrator.placement.runs import RUNS_PER_MONTH, retrain_per_month

SURELY_SMALL_PARAMS, SMALL_PARAMS, LARGE_PARAMS = 1e9, 3e9, 10e9
WEEKLY, MONTHLY = RUNS_PER_MONTH["weekly"], RUNS_PER_MONTH["monthly"]
PAYBACK_MONTHS = 3.0
MIDDLE_RESULT, MIDDLE_COST = 0.80, 0.45
HIGH_END = frozenset({"A100", "A100-80GB", "H100", "H200", "B200"})
MIDDLE_CARDS, MIDDLE_ACCELERATORS = frozenset({"A10G", "L4"}), 8


class HardwareClass(StrEnum):
    """What a training run should be given."""

    SINGLE = "a single accelerator"
    PATIENT = "spot and patience"
    MIDDLE = "eight A10G or L4 with EFA on spot"
    HIGH = "high-end accelerators"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Which class, and the clause that says why."""

    wanted: HardwareClass
    why: str


def rule(model_params: float, runs_per_month: float) -> Rule:
    """The first rule that applies: size below 3e9; monthly or less; weekly or more of 10e9 and above; more than weekly;
    else the middle."""
    if model_params < SMALL_PARAMS:
        sure = "always" if model_params < SURELY_SMALL_PARAMS else "usually"
        return Rule(wanted=HardwareClass.SINGLE, why=f"for models of this size one accelerator is {sure} enough")
    if runs_per_month <= MONTHLY:
        return Rule(wanted=HardwareClass.PATIENT, why="a run a month or less can wait for cheap machines")
    if model_params >= LARGE_PARAMS and runs_per_month >= WEEKLY:
        return Rule(wanted=HardwareClass.HIGH, why="large models retrained weekly or more often need the fastest")
    if runs_per_month > WEEKLY:
        return Rule(wanted=HardwareClass.HIGH, why="with more than one run a week speed is reported to pay in 3 months")
    return Rule(wanted=HardwareClass.MIDDLE, why="between the extremes 80% of the result for 45% of the cost will do")


def belongs(wanted: HardwareClass, offer: Offer, instances: float) -> bool:
    """Whether so many instances of an offer are of the class."""
    accelerators = max(offer.instance.accelerators, 1)
    match wanted:
        case HardwareClass.SINGLE:
            return accelerators * instances == 1
        case HardwareClass.PATIENT:
            return offer.market is Market.SPOT
        case HardwareClass.MIDDLE:
            return offer.market is Market.SPOT and _middle(offer) and accelerators * instances >= MIDDLE_ACCELERATORS
        case HardwareClass.HIGH:
            return accelerator_of(offer) in HIGH_END


def training_hardware(found: Situation) -> Iterator[Advice]:
    """One piece of advice for every training job that has hardware."""
    for job, placement in train_jobs(found):
        assert placement.chosen is not None
        runs = retrain_per_month(job.retrain)
        wanted = rule(job.model.params, runs)
        mine = way(found, job, placement.chosen)
        agrees = belongs(wanted.wanted, found.offers[mine.choice.offer], mine.choice.instances)
        best = mine if agrees else _best(found, job, wanted.wanted)
        yield Advice(
            topic=Topic.TRAINING_HARDWARE,
            job=job.name,
            recommendation=_sentence(job, wanted, mine, best, agrees=agrees),
            figures=tuple(_figures(found, job, wanted, mine, best)),
            thresholds=_thresholds(wanted.wanted),
            confidence="The rule is practitioners' experience and knows neither prices nor deadlines: where it "
            "contradicts the estimated costs, these count for more.",
        )


def _offers_of(wanted: HardwareClass) -> Callable[[Offer], bool]:
    """Offers of which some number of instances is of the class."""
    if wanted is HardwareClass.SINGLE:
        return lambda offer: offer.instance.accelerators == 1
    if wanted is HardwareClass.MIDDLE:
        return lambda offer: offer.market is Market.SPOT and _middle(offer) and offer.instance.accelerators >= 8
    return lambda offer: belongs(wanted, offer, 1)


def _middle(offer: Offer) -> bool:
    return accelerator_of(offer) in MIDDLE_CARDS and offer.instance.efa


def _best(found: Situation, job: TrainJob, wanted: HardwareClass) -> Way | None:
    """The cheapest way of a class; the job may name other accelerators, which is left out for comparison."""
    free = replace(job, accelerators=())
    if wanted is HardwareClass.SINGLE:
        free = replace(free, min_instances=1, max_instances=1)
    choice = cheapest(found, free, _offers_of(wanted))
    return None if choice is None else way(found, job, choice)


def _figures(found: Situation, job: TrainJob, wanted: Rule, mine: Way, best: Way | None) -> Iterator[Figure]:
    runs = retrain_per_month(job.retrain)
    yield Figure(name="model", value=job.model.params, unit="parameters")
    yield Figure(name="runs a month", value=runs, unit="runs", how=f"retrain: {job.retrain}")
    yield Figure(name="called for", value=wanted.wanted.value, how=wanted.why)
    yield from _costs(mine, runs)
    if best is None or best is mine:
        return
    yield from _costs(best, runs)
    difference = (best.cost.usd_per_success - mine.cost.usd_per_success) * Decimal(repr(runs * PAYBACK_MONTHS))
    yield Figure(
        name=f"difference over {PAYBACK_MONTHS:g} months",
        value=round_usd(difference),
        unit="USD",
        how=f"({usd(best.cost.usd_per_success)} - {usd(mine.cost.usd_per_success)}) x {number(runs)} runs x "
        f"{PAYBACK_MONTHS:g} months",
    )
    if wanted.wanted is HardwareClass.MIDDLE:
        high = _best(found, job, HardwareClass.HIGH)
        if high is not None and high.cost.usd_per_success:
            yield from _against_high_end(best, high)


def _costs(each: Way, runs: float) -> Iterator[Figure]:
    cost = each.cost
    yield Figure(name="a successful run", value=cost.usd_per_success, unit="USD", of=cost.hardware)
    yield Figure(name="length of a run", value=cost.hours, unit="h", of=cost.hardware)
    yield Figure(
        name="a month",
        value=round_usd(cost.usd_per_success * Decimal(repr(runs))),
        unit="USD",
        how=f"{number(runs)} runs x {usd(cost.usd_per_success)} USD",
        of=cost.hardware,
    )


def _against_high_end(middle: Way, high: Way) -> Iterator[Figure]:
    """What the reported 80% of the result at 45% of the cost is here; the result counted as speed."""
    cost = float(middle.cost.usd_per_success / high.cost.usd_per_success)
    how = f"{usd(middle.cost.usd_per_success)} / {usd(high.cost.usd_per_success)} USD of {high.cost.hardware}"
    yield Figure(name="cost of a run against the high end", value=cost, how=how)
    how = f"{number(high.cost.hours)} / {number(middle.cost.hours)} h"
    yield Figure(name="speed against the high end", value=high.cost.hours / middle.cost.hours, how=how)


def _sentence(job: TrainJob, wanted: Rule, mine: Way, best: Way | None, *, agrees: bool) -> str:
    said = f"A model of {params(job.model.params)} parameters, retrain {job.retrain}"
    if agrees:
        return f"{said}: {wanted.why}; the planned {mine.cost.hardware} is {wanted.wanted.value} already."
    if best is None:
        return f"{said}, calls for {wanted.wanted.value}, but no offer of that class suits; keep {mine.cost.hardware}."
    dearer = float(best.cost.usd_per_success) / max(float(mine.cost.usd_per_success), 1e-9) - 1.0
    called = f"{said}, calls for {wanted.wanted.value} ({best.cost.hardware})"
    if dearer > 0:
        return f"{called}, yet a successful run costs {more(dearer)} there: keep {mine.cost.hardware}."
    return f"{called}: a successful run costs {percent(-dearer)} less than on the planned {mine.cost.hardware}."


def _thresholds(wanted: HardwareClass) -> tuple[Threshold, ...]:
    rows: tuple[tuple[str, float, str], ...] = (
        ("a single accelerator, always, below", SURELY_SMALL_PARAMS, "parameters"),
        ("a single accelerator, usually, below", SMALL_PARAMS, "parameters"),
        ("high end, when weekly or more often, from", LARGE_PARAMS, "parameters"),
        ("spot and patience up to", MONTHLY, "runs a month"),
        ("high performance pays within 3 months above", WEEKLY, "runs a month"),
    )
    if wanted is HardwareClass.MIDDLE:
        rows = (
            *rows,
            ("the middle's result against the high end", MIDDLE_RESULT, ""),
            ("the middle's cost against the high end", MIDDLE_COST, ""),
        )
    return tuple(Threshold(name=name, value=value, unit=unit, source=PRACTITIONERS) for name, value, unit in rows)
