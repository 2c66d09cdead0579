"""From quotes to a price book: every quote becomes an offer or is refused with a reason."""

from collections.abc import Iterable
from decimal import Decimal

from orchestrator.model.offer import InstanceType, Market, Offer, PriceBook, RefusedOffer
from orchestrator.offers.interruptions import assumed_per_hour
from orchestrator.offers.quote import ANY_ZONE, UNDATED, Quote, UnknownHardware
from orchestrator.offers.zones import is_local_zone

LEAST_SPOT_FRACTION = Decimal("0.02")
"""Spot below this fraction of on-demand is a slip of the list: AWS promises "up to 90% off", lists were seen with
$0.01 for a B200."""

ROUNDING_USD = Decimal("0.0001")
"""Lists give four to six decimals; prices this close are equal."""

LEAST_USD_PER_ACCELERATOR_HOUR = Decimal("0.02")
MOST_USD_PER_ACCELERATOR_HOUR = Decimal(100)
LEAST_USD_PER_VCPU_HOUR = Decimal("0.001")
MOST_USD_PER_VCPU_HOUR = Decimal(1)
"""Plausible on-demand prices: T4 $0.53, B300 $17.8 an accelerator; $0.03 to $0.15 a vCPU (EC2 list prices, 2026-07)."""


def build_book(quotes: Iterable[Quote]) -> PriceBook:
    """Judge all quotes. Offers and refusals are sorted by name; of two prices for one offer the dearer is kept."""
    unique, refused = _without_duplicates(quotes)
    on_demand = _on_demand_prices(unique)
    offers: list[Offer] = []
    for quote in unique:
        base = on_demand.get((quote.instance_type, quote.region))
        fault = _fault(quote, base)
        if fault is not None:
            refused.append(_refusal(quote, *fault))
        elif isinstance(quote.hardware, InstanceType):
            offers.append(_offer(quote, quote.hardware, base or quote.usd_per_hour))
    dates = [offer.as_of for offer in offers if offer.as_of != UNDATED]
    return PriceBook(
        as_of=min(dates, default=UNDATED),
        offers=tuple(sorted(offers, key=lambda offer: offer.name)),
        refused=tuple(sorted(refused, key=lambda row: (row.name, row.detail))),
    )


def _without_duplicates(quotes: Iterable[Quote]) -> tuple[list[Quote], list[RefusedOffer]]:
    best: dict[str, Quote] = {}
    refused: list[RefusedOffer] = []
    for quote in quotes:
        other = best.setdefault(quote.offer_name, quote)
        if other is quote or other.usd_per_hour == quote.usd_per_hour:
            continue
        kept, dropped = (quote, other) if quote.usd_per_hour > other.usd_per_hour else (other, quote)
        best[quote.offer_name] = kept
        if not _same_price(kept, dropped):
            detail = f"{dropped.place} says {dropped.usd_per_hour}, {kept.place} says {kept.usd_per_hour} USD/h"
            refused.append(
                RefusedOffer(
                    name=f"{dropped.offer_name}#{dropped.place}",
                    region=dropped.region,
                    reason="duplicate",
                    detail=detail,
                )
            )
    return list(best.values()), refused


def _same_price(one: Quote, other: Quote) -> bool:
    return abs(one.usd_per_hour - other.usd_per_hour) <= ROUNDING_USD


def _on_demand_prices(quotes: Iterable[Quote]) -> dict[tuple[str, str], Decimal]:
    """Plausible on-demand USD per hour by type and region; a local zone's only where the region states none.

    Spot must not be measured against a price that is itself refused: a B200 on demand at $0.01 would let one at $0.005
    through.
    """
    prices: dict[tuple[str, str], Decimal] = {}
    for quote in sorted(quotes, key=lambda quote: quote.zone == ANY_ZONE):
        if quote.market is Market.ON_DEMAND and _fault(quote, None) is None:
            prices[(quote.instance_type, quote.region)] = quote.usd_per_hour
    return prices


def _fault(quote: Quote, on_demand: Decimal | None) -> tuple[str, str] | None:
    """Reason and detail why this quote must not be used, or None."""
    price = quote.usd_per_hour
    if isinstance(quote.hardware, UnknownHardware):
        return quote.hardware.reason, quote.hardware.detail
    if price <= 0:
        return "zero-price", f"{price} USD/h"
    if quote.market is Market.SPOT:
        return _spot_fault(price, on_demand)
    least, most, unit = _plausible(quote.hardware)
    if not least <= price <= most:
        return "implausible-price", f"{price} USD/h is outside {least} to {most} USD/h for {unit}"
    return None


def _spot_fault(price: Decimal, on_demand: Decimal | None) -> tuple[str, str] | None:
    if on_demand is None:
        return (
            "no-on-demand-price",
            f"spot {price} USD/h cannot be compared: the list has no usable on-demand price in this region",
        )
    if price > on_demand - ROUNDING_USD:
        return "spot-not-cheaper", f"spot {price} USD/h, on-demand {on_demand} USD/h"
    if price < on_demand * LEAST_SPOT_FRACTION:
        return "implausible-price", f"spot {price} USD/h is below {LEAST_SPOT_FRACTION} of on-demand {on_demand} USD/h"
    return None


def _plausible(hardware: InstanceType) -> tuple[Decimal, Decimal, str]:
    if hardware.accelerator is not None:
        count = hardware.accelerators
        unit = f"{count} x {hardware.accelerator.name}"
        return LEAST_USD_PER_ACCELERATOR_HOUR * count, MOST_USD_PER_ACCELERATOR_HOUR * count, unit
    vcpus = hardware.vcpus
    return LEAST_USD_PER_VCPU_HOUR * vcpus, MOST_USD_PER_VCPU_HOUR * vcpus, f"{vcpus} vCPUs"


def _refusal(quote: Quote, reason: str, detail: str) -> RefusedOffer:
    return RefusedOffer(name=quote.offer_name, region=quote.region, reason=reason, detail=f"{quote.place}: {detail}")


def _offer(quote: Quote, hardware: InstanceType, on_demand: Decimal) -> Offer:
    spot = quote.market is Market.SPOT
    return Offer(
        name=quote.offer_name,
        instance=hardware,
        market=quote.market,
        region=quote.region,
        zone=quote.zone,
        price_usd_per_hour=quote.usd_per_hour,
        on_demand_usd_per_hour=on_demand if spot else quote.usd_per_hour,
        interruptions_per_hour=assumed_per_hour(accelerated=hardware.accelerator is not None) if spot else 0.0,
        local_zone=is_local_zone(quote.zone),
        source=quote.source,
        as_of=quote.as_of,
        p90_usd_per_hour=quote.p90_usd_per_hour,
    )
