"""Limits that jobs share: the cluster's budget, nodes and vCPU quotas, and what candidates take of them at their
peak. Amounts are whole numbers (millionths of a USD), so that sums are exact."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.model.catalog import ClusterSpec
from orchestrator.model.offer import Offer
from orchestrator.placement.refusal import BUDGET, QUOTA, WORKERS, Refusal, figure
from orchestrator.placement.shelf import MICRO, Shelf, micro


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """At most `capacity` for everything that runs at once, in steps of 1/`scale` of `unit`. `reason` names it in
    rejections, `quota` is the vCPU quota it is about ("g-spot"), else ""."""

    reason: str
    capacity: int
    unit: str
    scale: int = 1
    quota: str = ""

    def refusal(self, needed: int, room: int) -> Refusal:
        """Why so much does not go into the room that is left."""
        return Refusal(
            reason=self.reason,
            needed=figure(needed / self.scale),
            available=figure(max(room, 0) / self.scale),
            unit=self.unit,
        )


def limits(cluster: ClusterSpec) -> tuple[Limit, ...]:
    """The cluster's limits; an absent one is no limit."""
    found = [Limit(reason=WORKERS, capacity=cluster.max_workers, unit="instances")]
    if cluster.budget_usd_per_hour is not None:
        capacity = micro(cluster.budget_usd_per_hour, up=False)
        found.append(Limit(reason=BUDGET, capacity=capacity, unit="USD/h", scale=MICRO))
    for name, vcpus in sorted(cluster.quotas):
        found.append(Limit(reason=QUOTA, capacity=vcpus, unit=f"vCPU {name}", quota=name.casefold()))
    return tuple(found)


def per_instance(shelf: Shelf, all_limits: tuple[Limit, ...]) -> NDArray[np.int64]:
    """What one instance of each offer takes of each limit: (offers, limits)."""
    columns = np.zeros((len(shelf.offers), len(all_limits)), dtype=np.int64)
    names = np.array([quota_name(offer) for offer in shelf.offers], dtype=object)
    for index, limit in enumerate(all_limits):
        if limit.quota:
            columns[:, index] = np.where(names == limit.quota, shelf.vcpus, 0)
        else:
            columns[:, index] = shelf.micro_price if limit.reason == BUDGET else 1
    return columns


def capacities(all_limits: tuple[Limit, ...]) -> NDArray[np.int64]:
    """The limits' capacities: (limits,)."""
    return np.array([limit.capacity for limit in all_limits], dtype=np.int64)


def quota_name(offer: Offer) -> str:
    """The vCPU quota an offer counts against, in lower case: "g-spot"."""
    return f"{offer.instance.quota_family}-{offer.market.value}".casefold()


def exceeded(
    wanted: NDArray[np.int64], taken: NDArray[np.int64], all_limits: tuple[Limit, ...]
) -> tuple[Limit, int, int] | None:
    """The first limit that `wanted` would break on top of what is `taken`, with the need and the room that is left."""
    for index, limit in enumerate(all_limits):
        need, room = int(wanted[index]), limit.capacity - int(taken[index])
        if need > room:
            return limit, need, room
    return None
