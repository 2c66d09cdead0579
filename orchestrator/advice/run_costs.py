"""Ways to do a training run and what each costs until it succeeds, from what-if plans of the job."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

from orchestrator.advice.situation import Situation, accelerator_of, what_if
from orchestrator.advice.success import RunCost, expected_attempts, success_probability
from orchestrator.estimate.money import SECONDS_PER_HOUR
from orchestrator.model.catalog import ClusterSpec
from orchestrator.model.job import Lifecycle, TrainJob
from orchestrator.model.offer import Market, Offer
from orchestrator.model.plan import Choice
from orchestrator.placement.explain import describe

ASSUMED_USD_PER_HOUR, ASSUMED_SHARE = Decimal(180), 0.1
"""An engineer's hour (practitioner reports, 2024-2026) and the part of a run's time that somebody spends on it
(assumption, the catalog's own default), when the catalog does not say."""

AUTO_RESTART = "auto-restart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A choice with its cost until success."""

    choice: Choice
    cost: RunCost


def engineer(cluster: ClusterSpec) -> ClusterSpec:
    """The cluster with an engineer's time: its own, else the assumed one."""
    if cluster.engineer_usd_per_hour is not None:
        return cluster
    return replace(cluster, engineer_usd_per_hour=ASSUMED_USD_PER_HOUR, engineer_share=ASSUMED_SHARE)


def way(found: Situation, job: TrainJob, choice: Choice) -> Way:
    """What a choice costs until a run succeeds."""
    cluster = engineer(found.catalog.cluster)
    assert cluster.engineer_usd_per_hour is not None
    costs = dict(choice.costs)
    hours = choice.expected_seconds / SECONDS_PER_HOUR
    offer = found.offers[choice.offer]
    per_hour = float(choice.usd_per_hour)
    work_h, start_h = (float(costs.get(name, Decimal(0))) / per_hour for name in ("compute", "startup"))
    rate = offer.interruptions_per_hour * choice.instances
    most_s = job.max_duration_s
    return Way(
        choice=choice,
        cost=RunCost(
            hardware=describe(choice),
            hours=hours,
            machine_usd=choice.expected_usd - costs.get("engineer", Decimal(0)),
            engineer_hours=hours * cluster.engineer_share,
            engineer_usd_per_hour=cluster.engineer_usd_per_hour,
            success=success_probability(
                interruptions_per_hour=rate,
                work_h=work_h,
                start_h=start_h,
                lost_h=job.checkpoint.interval_s / 2.0 / SECONDS_PER_HOUR + start_h,
                most_h=None if most_s is None else most_s / SECONDS_PER_HOUR,
                restarts=job.checkpoint.recovery == AUTO_RESTART,
            ),
            attempts=expected_attempts(rate, hours),
        ),
    )


def alternatives(found: Situation, job: TrainJob) -> tuple[Way, ...]:
    """The cheapest way on every accelerator that the job names, in both markets, cheapest until success first.

    Market and `max_price` are left open, for comparison; all other settings hold.
    """
    names = sorted({accelerator_of(offer) for offer in found.book.offers})
    ways = [
        way(found, job, choice)
        for name in names
        for market in (Market.SPOT, Market.ON_DEMAND)
        if (choice := cheapest(found, job, _only(name, market))) is not None
    ]
    return tuple(sorted(ways, key=lambda each: (each.cost.usd_per_success, each.choice.offer)))


def cheapest(found: Situation, job: TrainJob, allowed: Callable[[Offer], bool]) -> Choice | None:
    """The cheapest choice among allowed offers of any market and price, people's time counted."""
    free = replace(job, lifecycle=Lifecycle.AUTO, max_price_usd_per_hour=None)
    return what_if(found, free, allowed, engineer(found.catalog.cluster))


def _only(accelerator: str, market: Market) -> Callable[[Offer], bool]:
    return lambda offer: offer.market is market and accelerator_of(offer) == accelerator
