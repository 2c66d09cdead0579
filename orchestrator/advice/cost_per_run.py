"""Topic: what a successful run costs on the plan's hardware and on others, people's time included."""

from collections.abc import Iterator
from decimal import Decimal

from orchestrator.advice.advice import Advice, Figure, Threshold, Topic
from orchestrator.advice.run_costs import ASSUMED_SHARE, ASSUMED_USD_PER_HOUR, Way, alternatives, way
from orchestrator.advice.situation import Situation, train_jobs
from orchestrator.advice.success import even_engineer_hours
from orchestrator.advice.words import number, percent, usd
from orchestrator.estimate.money import HOURS_PER_MONTH, round_usd
from orchestrator.estimate.profile import PRACTITIONERS
from orchestrator.model.job import TrainJob
from orchestrator.model.offer import Market
from orchestrator.model.plan import Placement
from orchestrator.placement.explain import reason
from orchestrator.placement.runs import retrain_per_month

MOST_SHOWN = 4
WORTH_SAYING = 0.02
"""Closer alternatives are called equal: estimates are not that exact."""


def cost_per_run(found: Situation) -> Iterator[Advice]:
    """One piece of advice for every training job that has hardware."""
    for job, placement in train_jobs(found):
        assert placement.chosen is not None
        yield _advice(found, job, placement, way(found, job, placement.chosen), alternatives(found, job))


def shown(chosen: Way, ways: tuple[Way, ...]) -> tuple[Way, ...]:
    """The chosen way, then the best others on different hardware or in another market; one of them on-demand."""
    seen = (chosen.choice.instance_type, chosen.choice.market)
    others = [each for each in ways if (each.choice.instance_type, each.choice.market) != seen]
    kept = others[: MOST_SHOWN - 1]
    on_demand = [each for each in others if each.choice.market is Market.ON_DEMAND]
    if on_demand and all(each.choice.market is Market.SPOT for each in (chosen, *kept)):
        kept = [*kept[: MOST_SHOWN - 2], on_demand[0]]
    return (chosen, *kept)


def _advice(found: Situation, job: TrainJob, placement: Placement, mine: Way, ways: tuple[Way, ...]) -> Advice:
    compared = shown(mine, ways)
    runs = retrain_per_month(job.retrain)
    figures = [Figure(name="runs a month", value=runs, unit="runs", how=f"retrain: {job.retrain}")]
    for each in compared:
        figures.extend(_figures(each, runs))
    best = min(compared, key=lambda each: each.cost.usd_per_success)
    if best is not mine:
        figures.extend(_even(mine, best))
    engineer = found.catalog.cluster.engineer_usd_per_hour
    return Advice(
        topic=Topic.COST_PER_RUN,
        job=job.name,
        recommendation=_sentence(mine, best, placement, assumed=engineer is None),
        figures=tuple(figures),
        thresholds=_thresholds(found),
        confidence="Hours are estimates until runs on real hardware have been measured, and spot prices are those of "
        "one moment. Other markets and prices above max_price are shown for comparison.",
    )


def _thresholds(found: Situation) -> tuple[Threshold, ...]:
    cluster = found.catalog.cluster
    given = cluster.engineer_usd_per_hour is not None
    rate = cluster.engineer_usd_per_hour or ASSUMED_USD_PER_HOUR
    said = "the catalog's cluster.engineer"
    return (
        Threshold(
            name="engineer", value=float(rate), unit="USD/h", source=said if given else f"assumed; {PRACTITIONERS}"
        ),
        Threshold(
            name="part of a run's time that somebody spends on it",
            value=cluster.engineer_share if given else ASSUMED_SHARE,
            unit="",
            source=said if given else "assumption",
        ),
        Threshold(name="called equal below", value=WORTH_SAYING, unit="", source="judgement"),
    )


def _figures(each: Way, runs: float) -> Iterator[Figure]:
    cost, of = each.cost, each.cost.hardware
    yield Figure(
        name="machines, a run",
        value=cost.machine_usd,
        unit="USD",
        how=f"{each.choice.usd_per_hour.normalize():f} USD/h x {number(cost.hours)} h, storage and transfer",
        of=of,
    )
    yield Figure(
        name="people, a run",
        value=cost.engineer_usd,
        unit="USD",
        how=f"{number(cost.engineer_hours)} h x {cost.engineer_usd_per_hour.normalize():f} USD/h",
        of=of,
    )
    yield Figure(name="expected attempts", value=cost.attempts, how="1 + interruptions/h x hours", of=of)
    yield Figure(name="probability of success", value=cost.success, of=of)
    yield Figure(
        name="a successful run",
        value=cost.usd_per_success,
        unit="USD",
        how=f"({usd(cost.machine_usd)} + {usd(cost.engineer_usd)}) / {number(cost.success)}",
        of=of,
    )
    monthly = round_usd(cost.usd_per_success * Decimal(repr(runs)))
    how = f"{number(runs)} runs x {usd(cost.usd_per_success)} USD"
    yield Figure(name="a month", value=monthly, unit="USD", how=how, of=of)
    if cost.hours > 0:
        how = f"{HOURS_PER_MONTH:g} h x {number(cost.success)} / {number(cost.hours)} h"
        most = HOURS_PER_MONTH * cost.success / cost.hours
        yield Figure(name="successful runs possible, one after the other", value=most, unit="a month", how=how, of=of)


def _even(mine: Way, best: Way) -> Iterator[Figure]:
    """The share of somebody's time at which both would cost the same."""
    fast, slow = sorted((mine.cost, best.cost), key=lambda cost: cost.hours)
    hours = even_engineer_hours(fast, slow)
    if hours is not None:
        yield Figure(
            name="both cost the same when somebody spends on the faster run",
            value=hours,
            unit="h",
            how="(machines of the faster - of the slower) / (USD/h x (ratio of people's hours - 1))",
        )


def _sentence(mine: Way, best: Way, placement: Placement, *, assumed: bool) -> str:
    cheaper = 1.0 - float(best.cost.usd_per_success) / max(float(mine.cost.usd_per_success), 1e-9)
    if best is mine or cheaper < WORTH_SAYING:
        return f"Keep {mine.cost.hardware}: no other hardware makes a successful run clearly cheaper."
    said = (
        f"{best.cost.hardware} costs {usd(best.cost.usd_per_success)} USD per successful run, {percent(cheaper)} less "
        f"than the planned {mine.cost.hardware} ({usd(mine.cost.usd_per_success)} USD)"
    )
    ruled_out = next((each for each in placement.rejections if best.choice.offer in each.offers), None)
    if ruled_out is not None:
        return f"{said}; the plan rules it out, as {reason(ruled_out)}."
    if assumed:
        return f"{said}; name people's time in cluster.engineer, so that the plan counts it."
    return f"{said}; other jobs need the room."
