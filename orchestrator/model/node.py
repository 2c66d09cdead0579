"""A node type: an offer as the autoscaler can launch it."""

from dataclasses import dataclass
from decimal import Decimal

from orchestrator.model import labels
from orchestrator.model.offer import Market, Offer

ANY_ZONE = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeType:
    """One launchable shape. Serve node types are kept apart from the others, which Train and Data may count."""

    name: str
    offer: Offer
    serve: bool
    emulated: bool
    max_workers: int

    @property
    def labels(self) -> tuple[tuple[str, str], ...]:
        """Labels every node of this type carries, sorted by key."""
        offer = self.offer
        found = {
            labels.INSTANCE_TYPE: offer.instance.name,
            labels.MARKET_TYPE: offer.market.value,
            labels.REGION: offer.region,
            labels.EMULATED: str(self.emulated).lower(),
            labels.POOL: labels.SERVE_POOL if self.serve else labels.WORK_POOL,
        }
        if offer.instance.accelerator:
            found[labels.ACCELERATOR_TYPE] = offer.instance.accelerator.name
        if offer.zone != ANY_ZONE:
            found[labels.ZONE] = offer.zone
        if self.serve:
            found[labels.SUBCLUSTER] = labels.SERVE_SUBCLUSTER
        return tuple(sorted(found.items()))


def node_type_name(instance_type: str, market: Market, zone: str, *, serve: bool) -> str:
    """Stable name of a node type, for example "g6-xlarge-spot-use1-az1-serve"."""
    parts = [instance_type.replace(".", "-"), market.value]
    if zone != ANY_ZONE:
        parts.append(zone)
    if serve:
        parts.append("serve")
    return "-".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeInterval:
    """Time one node was paid for. Times are ISO 8601 UTC; `ended_at` None = still running.

    `end_reason` is "" while running, else "idle", "interrupted-with-notice", "interrupted-without-notice", "down" or
    "unknown".
    """

    node_id: str
    instance_type: str
    accelerator: str | None
    market: Market
    zone: str
    price_usd_per_hour: Decimal
    on_demand_usd_per_hour: Decimal
    started_at: str
    ended_at: str | None
    end_reason: str
    emulated: bool
