"""Which offers may be used at all: rules that need no estimate, tried in order; the first that fails is the reason."""

from collections.abc import Callable

from orchestrator.model.catalog import ClusterSpec
from orchestrator.model.job import Lifecycle, ServeJob
from orchestrator.model.offer import Market, Offer
from orchestrator.placement.refusal import MAX_PRICE, Refusal, figure
from orchestrator.placement.work import Work

CPU = "cpu"
OTHER_REGION = "other-region"


def in_region(offer: Offer, work: Work, cluster: ClusterSpec) -> Refusal | None:
    """One Ray cluster lives in one region."""
    if offer.region == cluster.region:
        return None
    return other_region(cluster)


def other_region(cluster: ClusterSpec) -> Refusal:
    """The one refusal for everything outside the cluster's region."""
    return Refusal(reason=OTHER_REGION, needed=cluster.region, available=None)


def in_main_zone(offer: Offer, work: Work, cluster: ClusterSpec) -> Refusal | None:
    """Local and wavelength zones are another place with another network, whatever their price."""
    return (
        Refusal(reason="local-zone", needed="zone of the region", available="local zone") if offer.local_zone else None
    )


def spot_is_cheaper(offer: Offer, work: Work, cluster: ClusterSpec) -> Refusal | None:
    """Spot at or above on-demand can be taken away and saves nothing."""
    if offer.market is not Market.SPOT or offer.price_usd_per_hour < offer.on_demand_usd_per_hour:
        return None
    return Refusal(
        reason="spot-not-cheaper",
        needed=f"below {offer.on_demand_usd_per_hour}",
        available=f"{offer.price_usd_per_hour}",
        unit="USD/h",
    )


def market_allowed(offer: Offer, work: Work, cluster: ClusterSpec) -> Refusal | None:
    """The lifecycle names the market; `auto` leaves it to cost, except for a service with a latency objective.

    A service's objective must hold while a spot node is taken away, which a single pool cannot promise: on-demand.
    """
    job = work.job
    wanted = {Lifecycle.SPOT: Market.SPOT, Lifecycle.ON_DEMAND: Market.ON_DEMAND}.get(job.lifecycle)
    if wanted is None and isinstance(job, ServeJob) and has_objective(job):
        wanted = Market.ON_DEMAND
    if wanted is None or offer.market is wanted:
        return None
    return Refusal(reason="market", needed=wanted.value, available=offer.market.value)


def has_objective(job: ServeJob) -> bool:
    """True when the service promises a latency."""
    slo = job.slo
    return any(bound is not None for bound in (slo.ttft_p99_s, slo.itl_p99_s, slo.latency_p99_s))


def price_allowed(offer: Offer, work: Work, cluster: ClusterSpec) -> Refusal | None:
    """`max_price` is per instance and hour."""
    most = work.job.max_price_usd_per_hour
    if most is None or offer.price_usd_per_hour <= most:
        return None
    return Refusal(
        reason=MAX_PRICE, needed=float(most), available=figure(float(offer.price_usd_per_hour)), unit="USD/h"
    )


def accelerator_allowed(offer: Offer, work: Work, cluster: ClusterSpec) -> Refusal | None:
    """The catalog may name accelerator types; `cpu` means machines without one."""
    wanted = work.job.accelerators
    name = offer.instance.accelerator.name if offer.instance.accelerator else CPU
    if not wanted or name.casefold() in {each.casefold() for each in wanted}:
        return None
    return Refusal(reason="accelerator", needed=" or ".join(wanted), available=name)


def cpu_suits(offer: Offer, work: Work, cluster: ClusterSpec) -> Refusal | None:
    """CPU machines compete for models below 1e9 parameters, embeddings and classifiers, or where the catalog says
    `cpu`."""
    if offer.instance.accelerator is not None or work.small or work.job.accelerators:
        return None
    return Refusal(reason="needs-accelerator", needed="accelerator", available=CPU)


Rule = Callable[[Offer, Work, ClusterSpec], Refusal | None]
RULES: tuple[Rule, ...] = (
    in_region,
    in_main_zone,
    spot_is_cheaper,
    market_allowed,
    accelerator_allowed,
    cpu_suits,
    price_allowed,
)


def unsuitable(offer: Offer, work: Work, cluster: ClusterSpec) -> Refusal | None:
    """The first rule that the offer breaks, or None."""
    return next((refusal for rule in RULES if (refusal := rule(offer, work, cluster)) is not None), None)
