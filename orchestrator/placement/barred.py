"""Offers that no job may use: rules that look at the offer and the cluster alone, tried in order."""

from collections.abc import Callable

from orchestrator.model.catalog import ClusterSpec
from orchestrator.model.offer import Market, Offer
from orchestrator.placement.refusal import Refusal

OTHER_REGION = "other-region"


def in_region(offer: Offer, cluster: ClusterSpec) -> Refusal | None:
    """One Ray cluster lives in one region."""
    return None if offer.region == cluster.region else other_region(cluster)


def other_region(cluster: ClusterSpec) -> Refusal:
    """The one refusal for everything outside the cluster's region."""
    return Refusal(reason=OTHER_REGION, needed=cluster.region, available=None)


def in_main_zone(offer: Offer, cluster: ClusterSpec) -> Refusal | None:
    """Local and wavelength zones are another place with another network, whatever their price."""
    if not offer.local_zone:
        return None
    return Refusal(reason="local-zone", needed="zone of the region", available="local zone")


def spot_is_cheaper(offer: Offer, cluster: ClusterSpec) -> Refusal | None:
    """Spot at or above on-demand can be taken away and saves nothing."""
    if offer.market is not Market.SPOT or offer.price_usd_per_hour < offer.on_demand_usd_per_hour:
        return None
    return Refusal(
        reason="spot-not-cheaper",
        needed=f"below {offer.on_demand_usd_per_hour}",
        available=f"{offer.price_usd_per_hour}",
        unit="USD/h",
    )


Rule = Callable[[Offer, ClusterSpec], Refusal | None]
RULES: tuple[Rule, ...] = (in_region, in_main_zone, spot_is_cheaper)


def unusable(offer: Offer, cluster: ClusterSpec) -> Refusal | None:
    """The first rule that the offer breaks, or None."""
    return next((refusal for rule in RULES if (refusal := rule(offer, cluster)) is not None), None)
