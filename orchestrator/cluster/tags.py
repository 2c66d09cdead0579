"""EC2 tags that carry an offer from `cluster.yaml` to the ledger: an instance itself does not know its price."""

from collections.abc import Mapping

from orchestrator.model.offer import Offer

CLUSTER = "ray-cluster-name"
"""Ray's own tag (Ray 2.60 `autoscaler/tags.py`)."""
OFFER = "orchestrator:offer"
ACCELERATOR = "orchestrator:accelerator"
ZONE = "orchestrator:zone"
PRICE = "orchestrator:usd-per-hour"
ON_DEMAND_PRICE = "orchestrator:on-demand-usd-per-hour"


def offer_tags(offer: Offer) -> list[dict[str, str]]:
    """Tags in EC2's form. The price is the price book's: spot prices move, EC2 bills what holds at the time."""
    values = {
        OFFER: offer.name,
        ACCELERATOR: offer.instance.accelerator.name if offer.instance.accelerator else "",
        ZONE: offer.zone,
        PRICE: str(offer.price_usd_per_hour),
        ON_DEMAND_PRICE: str(offer.on_demand_usd_per_hour),
    }
    return [{"Key": key, "Value": value} for key, value in values.items()]


def as_mapping(tags: list[Mapping[str, str]]) -> dict[str, str]:
    """EC2's list of tags as a mapping."""
    return {tag["Key"]: tag["Value"] for tag in tags}
