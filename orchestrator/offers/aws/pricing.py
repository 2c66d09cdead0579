"""The Pricing API's products, JSON inside JSON, as on-demand prices. Pure."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from orchestrator.model.error import OperationError
from orchestrator.offers.aws.calls import ON_DEMAND_FILTERS

CURRENCY = "USD"
UNIT = "hrs"


@dataclass(frozen=True, slots=True, kw_only=True)
class OnDemandPrice:
    """What a type costs anywhere in a region, in USD per hour. `published` is the day of AWS's list, "" if unstated."""

    instance_type: str
    usd_per_hour: Decimal
    sku: str
    published: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusableProduct:
    """A product of the wanted kind whose price cannot be used, with the reason."""

    instance_type: str
    sku: str
    reason: str
    detail: str


class _UnusableError(Exception):
    """Control flow inside this file: reason and detail."""


def on_demand_prices(
    products: Iterable[str], region: str, families: Iterable[str]
) -> list[OnDemandPrice | UnusableProduct]:
    """Prices of Linux on shared tenancy in the region itself, for types of the families.

    AWS's filters are checked again: other systems, tenancies, reserved capacity, capacity blocks and local zones are
    passed over. Two products for one type are two prices; the price book keeps the dearer. OperationError when the JSON
    is not a price list.
    """
    wanted = set(families)
    found: list[OnDemandPrice | UnusableProduct] = []
    for text in products:
        product = _parsed(text)
        attributes = _member(product, "product", "attributes")
        instance_type = str(attributes.get("instanceType", ""))
        if instance_type.split(".", maxsplit=1)[0] in wanted and _is_plain(attributes, region):
            found.append(_price(product, instance_type))
    return found


def _is_plain(attributes: Mapping[str, Any], region: str) -> bool:
    return (
        all(attributes.get(field) == value for field, value in ON_DEMAND_FILTERS.items())
        and attributes.get("regionCode") == region
        # A local zone may carry its parent's code; absent attributes are those of the ordinary kind.
        and attributes.get("locationType", "AWS Region") == "AWS Region"
        and attributes.get("marketoption", "OnDemand") == "OnDemand"
    )


def _price(product: Mapping[str, Any], instance_type: str) -> OnDemandPrice | UnusableProduct:
    sku = str(_member(product, "product").get("sku", "no SKU"))
    try:
        price = _hourly_usd(product)
    except _UnusableError as error:
        reason, detail = error.args
        return UnusableProduct(instance_type=instance_type, sku=sku, reason=reason, detail=detail)
    published = str(product.get("publicationDate", ""))[:10]
    return OnDemandPrice(instance_type=instance_type, usd_per_hour=price, sku=sku, published=published)


def _hourly_usd(product: Mapping[str, Any]) -> Decimal:
    terms = _members(_member(product, "terms").get("OnDemand", {}))
    dimensions = [each for term in terms for each in _members(_member(term, "priceDimensions"))]
    if len(dimensions) != 1:
        raise _UnusableError("ambiguous-price", f"{len(dimensions)} on-demand prices in one product")
    unit = str(dimensions[0].get("unit", ""))
    if unit.lower() != UNIT:
        raise _UnusableError("other-unit", f"priced per {unit or 'nothing'} and not per hour")
    prices = _member(dimensions[0], "pricePerUnit")
    if CURRENCY not in prices:
        raise _UnusableError("other-currency", f"priced in {', '.join(sorted(prices)) or 'nothing'} and not in USD")
    try:
        price = Decimal(str(prices[CURRENCY]))
    except InvalidOperation as error:
        raise _malformed(f"price {prices[CURRENCY]!r}") from error
    if not price.is_finite() or price < 0:
        raise _malformed(f"price {prices[CURRENCY]!r}")
    return price


def _parsed(text: str) -> Mapping[str, Any]:
    try:
        product = json.loads(text)
    except (TypeError, ValueError) as error:
        raise _malformed("a product that is not JSON") from error
    if not isinstance(product, dict):
        raise _malformed("a product that is not an object")
    return product


def _member(parent: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    found: Any = parent
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    if not isinstance(found, dict):
        raise _malformed(f"no {'.'.join(names)}")
    return found


def _members(parent: Any) -> Iterable[Mapping[str, Any]]:
    if not isinstance(parent, dict) or not all(isinstance(each, dict) for each in parent.values()):
        raise _malformed("terms that are not objects")
    return parent.values()


def _malformed(what: str) -> OperationError:
    return OperationError(
        f"the Pricing API's answer is not a price list of the known kind: {what}. Nothing was written.",
        "Run it again; if that fails too, AWS changed the format and orchestrator must follow.",
    )
