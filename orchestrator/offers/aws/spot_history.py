"""From a pool's history of spot prices to one price: the time-weighted median over a window. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from orchestrator.model.error import OperationError
from orchestrator.offers.aws.calls import LINUX

MEDIAN = Decimal("0.5")
P90 = Decimal("0.9")


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceChange:
    """From `at` (UTC) on a pool costs `usd_per_hour`; None = AWS names no price. `zone` is a name, not an id."""

    instance_type: str
    zone: str
    at: datetime
    usd_per_hour: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPrice:
    """What a pool cost in a window, in USD per hour: half of the time at most the median, 90% at most the p90."""

    instance_type: str
    zone: str
    median_usd_per_hour: Decimal
    p90_usd_per_hour: Decimal


def changes(records: Iterable[Mapping[str, Any]]) -> list[PriceChange]:
    """Linux price changes of DescribeSpotPriceHistory's records; OperationError when a record cannot be read."""
    return [_change(record) for record in records if record.get("ProductDescription") == LINUX]


def pool_prices(changes: Iterable[PriceChange], start: datetime, end: datetime) -> list[PoolPrice]:
    """Median and p90 of every pool, sorted by type and zone; pools without a price inside the window are left out.

    A price holds until the next change or the end of the window, and weighs as many microseconds as it held inside
    [start, end). The price that a pool entered the window with counts from `start`.
    """
    pools: dict[tuple[str, str], list[PriceChange]] = defaultdict(list)
    for change in changes:
        pools[(change.instance_type, change.zone)].append(change)
    found = []
    for (instance_type, zone), history in sorted(pools.items()):
        weights = _weights(history, start, end)
        if weights:
            found.append(
                PoolPrice(
                    instance_type=instance_type,
                    zone=zone,
                    median_usd_per_hour=weighted_quantile(weights, MEDIAN),
                    p90_usd_per_hour=weighted_quantile(weights, P90),
                )
            )
    return found


def weighted_quantile(weights: Mapping[Decimal, int], share: Decimal) -> Decimal:
    """The least value whose weight, with that of all smaller values, reaches `share` (0 to 1) of the whole."""
    needed = share * sum(weights.values())
    reached = 0
    for value in sorted(weights):
        reached += weights[value]
        if reached >= needed:
            return value
    raise ValueError("no weights")


def _weights(history: list[PriceChange], start: datetime, end: datetime) -> dict[Decimal, int]:
    """Microseconds inside the window by price."""
    weights: dict[Decimal, int] = defaultdict(int)
    # Of two prices that begin at the same instant the dearer one is believed: it sorts last, and the other holds 0 s.
    ordered = sorted(history, key=lambda change: (change.at, change.usd_per_hour or Decimal(0)))
    ends = [change.at for change in ordered[1:]] + [end]
    for change, until in zip(ordered, ends, strict=True):
        held = (min(until, end) - max(change.at, start)) // timedelta(microseconds=1)
        if held > 0 and change.usd_per_hour is not None:
            weights[change.usd_per_hour] += held
    return weights


def _change(record: Mapping[str, Any]) -> PriceChange:
    text = str(record.get("SpotPrice") or "").strip()
    try:
        price = Decimal(text) if text else None
        at = record["Timestamp"].astimezone(UTC) if record["Timestamp"].tzinfo else None
        instance_type, zone = str(record["InstanceType"]), str(record["AvailabilityZone"])
    except (KeyError, AttributeError, InvalidOperation) as error:
        raise _unreadable(record) from error
    if at is None or (price is not None and (not price.is_finite() or price < 0)):
        raise _unreadable(record)
    return PriceChange(instance_type=instance_type, zone=zone, at=at, usd_per_hour=price)


def _unreadable(record: Mapping[str, Any]) -> OperationError:
    return OperationError(
        f"AWS sent a spot price that cannot be read: {dict(record)}. Nothing was written.", "Run it again."
    )
