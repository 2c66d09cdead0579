"""How a service spreads over pools, so that losing one spot pool is survived.

A pool is one instance type in one zone and market. n instances are needed for the load. `auto` with a latency objective
keeps a base of a quarter of them on-demand; the rest, s, runs in z spot pools of m = ceil(s / (z - 1)) instances each,
so that any one of them can vanish and s are left: one pool's worth of spare. z is what costs least. On-demand alone
needs none of this, and `lifecycle: spot` may do without where there is only one pool or `replicas.max` leaves no room.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.model.job import Lifecycle, ServeJob
from orchestrator.placement.shelf import Shelf
from orchestrator.placement.verdict import Verdict
from orchestrator.placement.ways import SpreadPools

BASE_SHARE = 0.25
"""On-demand share of a service whose latency is promised: spot pools of one type can dry up together."""

MOST_POOLS = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """Totals over the pools, (rows, options): instances at the mean and at the peak, USD an hour, interruptions an
    hour; and where spreading is impossible."""

    instances: NDArray[np.int64]
    peak: NDArray[np.int64]
    usd_per_hour: NDArray[np.float64]
    interruptions_per_hour: NDArray[np.float64]
    verdicts: tuple[Verdict, ...]
    pools: SpreadPools


def spread(
    job: ServeJob,
    shelf: Shelf,
    rows: NDArray[np.intp],
    needed: NDArray[np.int64],
    at_peak: NDArray[np.int64],
    most: NDArray[np.int64],
) -> Spread:
    """`needed` and `at_peak` are instances that must survive, `most` the instances that `replicas.max` allows."""
    promised = has_objective(job)
    based = promised and job.lifecycle is Lifecycle.AUTO
    spot = shelf.is_spot[rows][:, None]
    order, base_row = shelf.pools[rows], shelf.on_demand_row[rows]
    has_base = (base_row >= 0)[:, None]
    base = np.where(spot & has_base & based, np.maximum(np.ceil(needed * BASE_SHARE), 1), 0).astype(np.int64)
    base_at_peak = np.where(base > 0, np.maximum(np.ceil(at_peak * BASE_SHARE), 1), 0).astype(np.int64)
    rest, rest_at_peak = needed - base, at_peak - base_at_peak
    known = (order >= 0).sum(axis=1)[:, None]
    prices = np.cumsum(np.where(order >= 0, shelf.price[order], 0.0), axis=1)
    count, each = _cheapest_count(rest, known, prices)
    each_at_peak = np.maximum(-(-rest_at_peak // np.maximum(count - 1, 1)), each)
    total = base + count * each
    spreads = spot & (rest > 0) & (count >= 2) & (total <= most)
    alone = ~spot | (~spreads & (not based))
    count = np.where(spreads, count, 0)
    base, base_at_peak = np.where(spreads, base, 0), np.where(spreads, base_at_peak, 0)
    each, each_at_peak = np.where(spreads, each, 0), np.where(spreads, each_at_peak, 0)
    own, own_peak = np.where(alone, needed, 0), np.where(alone, at_peak, 0)
    pool_price = np.take_along_axis(prices, np.maximum(count - 1, 0), axis=1)
    base_price = np.where(base_row >= 0, shelf.price[base_row], 0.0)[:, None]
    single = shelf.price[rows][:, None]
    rate = shelf.interruptions[rows][:, None]
    return Spread(
        instances=np.where(spreads, base + count * each, np.maximum(own, 1)),
        peak=np.where(spreads, base_at_peak + count * each_at_peak, np.maximum(own_peak, 1)),
        usd_per_hour=np.where(spreads, base * base_price + each * pool_price, np.maximum(own, 1) * single),
        interruptions_per_hour=rate * np.where(spreads, count * each, np.maximum(own, 1)),
        verdicts=(
            Verdict(
                reason="spot-base",
                broken=np.broadcast_to(spot & based & (rest <= 0), needed.shape),
                needed="an on-demand base and spot beside it",
                available="one instance",
            ),
            Verdict(
                reason="spot-pools",
                broken=np.broadcast_to(spot & based & ~spreads, needed.shape),
                needed="two pools, so that losing one is survived",
                available="room for one",
            ),
        ),
        pools=SpreadPools(
            base=base,
            each=each,
            count=count,
            base_at_peak=base_at_peak,
            each_at_peak=each_at_peak,
            base_row=base_row,
            order=order,
        ),
    )


def has_objective(job: ServeJob) -> bool:
    """True when the service promises a latency."""
    slo = job.slo
    return any(bound is not None for bound in (slo.ttft_p99_s, slo.itl_p99_s, slo.latency_p99_s))


def _cheapest_count(
    rest: NDArray[np.int64], known: NDArray[np.int64], prices: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pools and instances in each that survive the loss of one for the least price; fewer pools where equal."""
    best = np.full(rest.shape, np.inf)
    count, each = np.ones_like(rest), np.maximum(rest, 0)
    for pools in range(2, min(MOST_POOLS, prices.shape[1]) + 1):
        instances = -(-rest // (pools - 1))
        usd = np.where(known >= pools, instances * prices[:, pools - 1][:, None], np.inf)
        better = usd < best - 1e-12
        best = np.where(better, usd, best)
        count, each = np.where(better, pools, count), np.where(better, instances, each)
    return count, each
