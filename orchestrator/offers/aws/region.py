"""One region's prices: what AWS answers, and what rows those answers become."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from orchestrator.model.error import OperationError
from orchestrator.model.offer import Market, RefusedOffer
from orchestrator.offers.aws import calls
from orchestrator.offers.aws.calls import Answer
from orchestrator.offers.aws.client import PRICING_REGION, Connect
from orchestrator.offers.aws.instance_facts import describe, sells_spot
from orchestrator.offers.aws.pricing import OnDemandPrice, UnusableProduct, on_demand_prices
from orchestrator.offers.aws.spot_history import PoolPrice, changes, pool_prices
from orchestrator.offers.hardware import Described
from orchestrator.offers.quote import ANY_ZONE
from orchestrator.offers.snapshot_csv import SnapshotRow
from orchestrator.offers.zones import is_local_zone

LEAST_PRICED = 0.5
"""Share of the offered types that must have an on-demand price. A few types are sold without one (p5e); if most lack
it, AWS's answer is cut short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The time that spot prices are taken from; both ends in UTC. A list carries the day of `end`."""

    start: datetime
    end: datetime

    @property
    def days(self) -> int:
        """Length in whole days."""
        return (self.end - self.start).days


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """All that AWS says of a region, every page of it, unchanged."""

    region: str
    zones: list[Answer]
    types: list[Answer]
    offerings: list[Answer]
    spot: list[Answer]
    products: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionRows:
    """A region's price rows, and prices that never become rows."""

    rows: tuple[SnapshotRow, ...]
    refused: tuple[RefusedOffer, ...]


def read_region(connect: Connect, region: str, families: Sequence[str], window: Window) -> Answers:
    """Ask AWS. OperationError as soon as one page of one call fails: half a region is no region."""
    ec2 = connect("ec2", region)
    types = calls.instance_types(ec2, region, families)
    names = sorted(_text(each, "InstanceType") for each in types)
    return Answers(
        region=region,
        zones=calls.zones(ec2, region),
        types=types,
        offerings=calls.offerings(ec2, region, names),
        spot=calls.spot_history(ec2, region, names, window.start, window.end),
        products=calls.products(connect("pricing", PRICING_REGION), region),
    )


def region_rows(answers: Answers, families: Sequence[str], window: Window) -> RegionRows:
    """The rows of a region. Prices of what is not offered are refused; OperationError when an answer is cut short."""
    place = _Place(
        region=answers.region,
        zone_ids={_text(zone, "ZoneName"): _text(zone, "ZoneId") for zone in answers.zones},
        described={_text(each, "InstanceType"): describe(each) for each in answers.types},
        offered=_offered_zones(answers),
        window=window,
    )
    on_demand = on_demand_prices(answers.products, answers.region, families)
    spot = pool_prices(changes(answers.spot), window.start, window.end)
    _check_complete(answers, place, on_demand, spot)
    found = [*(_on_demand(price, place) for price in on_demand), *(_spot(price, place) for price in spot)]
    return RegionRows(
        rows=tuple(each for each in found if isinstance(each, SnapshotRow)),
        refused=tuple(each for each in found if isinstance(each, RefusedOffer)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """What a region has. `zone_ids` by zone name; `offered` are zone ids by instance type."""

    region: str
    zone_ids: dict[str, str]
    described: dict[str, Described]
    offered: dict[str, set[str]]
    window: Window

    @property
    def as_of(self) -> str:
        return self.window.end.date().isoformat()

    def sells(self, instance_type: str) -> bool:
        """Whether a zone of the region itself offers the type; a local zone's price is not the region's."""
        return any(not is_local_zone(zone) for zone in self.offered.get(instance_type, ()))


def _offered_zones(answers: Answers) -> dict[str, set[str]]:
    offered: dict[str, set[str]] = defaultdict(set)
    known = {_text(each, "InstanceType") for each in answers.types}
    for each in answers.offerings:
        if _text(each, "InstanceType") in known:
            offered[each["InstanceType"]].add(_text(each, "Location"))
    return dict(offered)


def _check_complete(
    answers: Answers, place: _Place, on_demand: list[OnDemandPrice | UnusableProduct], spot: list[PoolPrice]
) -> None:
    """A call that succeeds with nothing, or with little, must not replace a list that has something."""
    sold = {name for name in place.offered if place.sells(name)}
    priced = sold & {price.instance_type for price in on_demand}
    wants_spot = any(sells_spot(each) and each["InstanceType"] in sold for each in answers.types)
    if not answers.zones:
        fault = "names no zone"
    elif not sold:
        fault = "offers none of the families"
    elif len(priced) < LEAST_PRICED * len(sold):
        fault = f"has on-demand prices for only {len(priced)} of {len(sold)} instance types"
    elif wants_spot and not spot:
        fault = "has no spot price in the window"
    else:
        return
    raise OperationError(
        f"AWS's answer for {answers.region} is incomplete: it {fault}. Nothing was written.",
        "Run it again; if that is how the region is, leave it out of --regions or name other --families.",
    )


def _on_demand(price: OnDemandPrice | UnusableProduct, place: _Place) -> SnapshotRow | RefusedOffer:
    name = f"{price.instance_type}:{Market.ON_DEMAND.value}:{place.region}:{ANY_ZONE}"
    if isinstance(price, UnusableProduct):
        return _refused(name, place, price.reason, f"SKU {price.sku}: {price.detail}")
    if not place.sells(price.instance_type):
        return _refused(
            name, place, "not-offered", f"SKU {price.sku} has a price, but no zone of the region offers the type"
        )
    return SnapshotRow(
        described=place.described[price.instance_type],
        region=place.region,
        zone=ANY_ZONE,
        market=Market.ON_DEMAND,
        usd_per_hour=price.usd_per_hour,
        source=f"AWS Pricing API GetProducts{f', list of {price.published}' if price.published else ''}",
        as_of=place.as_of,
    )


def _spot(price: PoolPrice, place: _Place) -> SnapshotRow | RefusedOffer:
    zone = place.zone_ids.get(price.zone)
    name = f"{price.instance_type}:{Market.SPOT.value}:{place.region}:{zone or price.zone}"
    if zone is None:
        return _refused(name, place, "unknown-zone", f"{price.zone} is not among the zones of this account")
    if zone not in place.offered.get(price.instance_type, ()):
        return _refused(
            name, place, "not-offered", "the pool has a price history, but the zone does not offer the type"
        )
    return SnapshotRow(
        described=place.described[price.instance_type],
        region=place.region,
        zone=zone,
        market=Market.SPOT,
        usd_per_hour=price.median_usd_per_hour,
        source=f"EC2 DescribeSpotPriceHistory, time-weighted median of {place.window.days} days",
        as_of=place.as_of,
        p90_usd_per_hour=price.p90_usd_per_hour,
    )


def _refused(name: str, place: _Place, reason: str, detail: str) -> RefusedOffer:
    return RefusedOffer(name=name, region=place.region, reason=reason, detail=detail)


def _text(answer: Answer, key: str) -> str:
    if not answer.get(key):
        raise OperationError(
            f"AWS sent a record without {key}: {sorted(answer)}. Nothing was written.", "Run it again."
        )
    return str(answer[key])
