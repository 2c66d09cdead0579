"""Limits that jobs share: the cluster's budget, nodes and vCPU quotas, and what a candidate takes of them at its
peak."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from orchestrator.model.catalog import ClusterSpec
from orchestrator.model.offer import Offer
from orchestrator.placement.refusal import BUDGET, QUOTA, WORKERS, Refusal, figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """At most `capacity` of `unit` for everything that runs at once. `key` is unique; `reason` names it in
    rejections."""

    key: str
    reason: str
    capacity: Decimal
    unit: str


Uses = Mapping[str, Decimal]


def limits(cluster: ClusterSpec) -> tuple[Limit, ...]:
    """The cluster's limits; an absent one is no limit."""
    found = [Limit(key=WORKERS, reason=WORKERS, capacity=Decimal(cluster.max_workers), unit="instances")]
    if cluster.budget_usd_per_hour is not None:
        found.append(Limit(key=BUDGET, reason=BUDGET, capacity=cluster.budget_usd_per_hour, unit="USD/h"))
    for name, vcpus in sorted(cluster.quotas):
        found.append(Limit(key=_quota_key(name), reason=QUOTA, capacity=Decimal(vcpus), unit=f"vCPU {name}"))
    return tuple(found)


def uses(offer: Offer, peak_instances: int) -> dict[str, Decimal]:
    """What so many instances of an offer take of every limit."""
    return {
        WORKERS: Decimal(peak_instances),
        BUDGET: offer.price_usd_per_hour * peak_instances,
        _quota_key(quota_name(offer)): Decimal(offer.instance.vcpus * peak_instances),
    }


def quota_name(offer: Offer) -> str:
    """The vCPU quota an offer counts against: "G-spot"."""
    return f"{offer.instance.quota_family}-{offer.market.value}"


def exceeded(wanted: Uses, taken: Uses, all_limits: tuple[Limit, ...]) -> Refusal | None:
    """The first limit that `wanted` would break on top of what is `taken`, with the room that is left."""
    for limit in all_limits:
        need = wanted.get(limit.key, Decimal(0))
        room = limit.capacity - taken.get(limit.key, Decimal(0))
        if need > room:
            return Refusal(
                reason=limit.reason, needed=figure(float(need)), available=figure(float(room)), unit=limit.unit
            )
    return None


def added(one: Uses, other: Uses) -> dict[str, Decimal]:
    """Sum of two uses."""
    total = dict(one)
    for key, amount in other.items():
        total[key] = total.get(key, Decimal(0)) + amount
    return total


def _quota_key(name: str) -> str:
    return f"quota:{name.casefold()}"
