"""The Pricing API's products: which count, and what they cost."""

import json
from decimal import Decimal

import pytest

from orchestrator.model.error import OperationError
from orchestrator.offers.aws.pricing import OnDemandPrice, UnusableProduct, on_demand_prices

pytestmark = pytest.mark.slow

FAMILIES = ("g6", "p6-b200")


def read(*products: str) -> list[OnDemandPrice | UnusableProduct]:
    return on_demand_prices(products, "us-east-1", FAMILIES)


def test_a_product_is_a_price_with_its_sku_and_the_day_of_the_list(make):
    (found,) = read(make.product("g6.xlarge", "0.8048000000"))
    assert found == OnDemandPrice(
        instance_type="g6.xlarge", usd_per_hour=Decimal("0.8048"), sku="SKU-g6.xlarge", published="2026-11-20"
    )


@pytest.mark.parametrize(
    "other",
    [
        {"operatingSystem": "Windows"}, {"tenancy": "Dedicated"}, {"capacitystatus": "UnusedCapacityReservation"},
        {"preInstalledSw": "SQL Std"}, {"marketoption": "CapacityBlock"}, {"regionCode": "us-west-2"},
        {"locationType": "AWS Local Zone"}, {"locationType": "AWS Wavelength Zone"},
        {"regionCode": "us-east-1-atl-2"},
    ],
    ids=lambda other: "-".join(next(iter(other.items()))),
)  # fmt: skip
def test_only_shared_linux_in_the_region_itself_counts(make, other):
    found = read(make.product("g6.xlarge", "0.10", sku="WRONG", **other), make.product("g6.xlarge", "0.80"))
    assert [each.usd_per_hour for each in found] == [Decimal("0.80")]


def test_families_are_whole_names(make):
    found = read(*(make.product(name) for name in ("g6e.xlarge", "gr6.4xlarge", "p6-b200.48xlarge", "c7i.large")))
    assert [each.instance_type for each in found] == ["p6-b200.48xlarge"]


def test_two_products_of_one_type_are_two_prices(make):
    found = read(make.product("g6.xlarge", "0.80", sku="A"), make.product("g6.xlarge", "0.90", sku="B"))
    assert [(each.sku, each.usd_per_hour) for each in found] == [("A", Decimal("0.80")), ("B", Decimal("0.90"))]


def test_a_zero_price_is_passed_on_for_the_book_to_refuse(make):
    assert read(make.product("g6.xlarge", "0.0000000000"))[0].usd_per_hour == 0


@pytest.mark.parametrize(
    ("other", "reason", "detail"),
    [
        ({"prices": {"CNY": "6.1"}}, "other-currency", "CNY"),
        ({"prices": {}}, "other-currency", "nothing"),
        ({"unit": "Quantity"}, "other-unit", "Quantity"),
    ],
    ids=["yuan", "no-price", "not-hourly"],
)
def test_other_currencies_and_units_are_refused(make, other, reason, detail):
    (found,) = read(make.product("g6.xlarge", **other))
    assert isinstance(found, UnusableProduct) and found.reason == reason and detail in found.detail


def test_dollars_beside_another_currency_count(make):
    assert read(make.product("g6.xlarge", prices={"USD": "0.80", "CNY": "6.1"}))[0].usd_per_hour == Decimal("0.80")


@pytest.mark.parametrize("count", [0, 2], ids=["no-term", "two-tiers"])
def test_a_product_with_another_number_of_prices_than_one_is_refused(make, count):
    told = json.loads(make.product("g6.xlarge"))
    term = next(iter(told["terms"]["OnDemand"].values()))
    dimension = next(iter(term["priceDimensions"].values()))
    term["priceDimensions"] = {str(number): dimension for number in range(count)}
    assert read(json.dumps(told))[0].reason == "ambiguous-price"


def test_a_product_without_on_demand_terms_is_refused(make):
    told = json.loads(make.product("g6.xlarge"))
    told["terms"] = {"Reserved": told["terms"]["OnDemand"]}
    assert read(json.dumps(told))[0].reason == "ambiguous-price"


def broken(make, **changes):
    told = json.loads(make.product("g6.xlarge"))
    told.update(changes)
    return json.dumps(told)


@pytest.fixture
def malformed(make):
    return {
        "not-json": "{",
        "a-list": "[]",
        "no-product": broken(make, product=None),
        "no-attributes": broken(make, product={"sku": "X"}),
        "no-terms": broken(make, terms=None),
        "terms-list": broken(make, terms={"OnDemand": []}),
        "term-text": broken(make, terms={"OnDemand": {"A": "0.80"}}),
        "no-dimensions": broken(make, terms={"OnDemand": {"A": {}}}),
        "price-text": make.product("g6.xlarge", "eighty cents"),
        "price-nan": make.product("g6.xlarge", "NaN"),
        "price-negative": make.product("g6.xlarge", "-0.8"),
        "no-unit-price": broken(make, terms={"OnDemand": {"A": {"priceDimensions": {"B": {"unit": "Hrs"}}}}}),
    }


@pytest.mark.parametrize(
    "case",
    [
        "not-json", "a-list", "no-product", "no-attributes", "no-terms", "terms-list", "term-text", "no-dimensions",
        "price-text", "price-nan", "price-negative", "no-unit-price",
    ],
)  # fmt: skip
def test_what_is_no_price_list_is_an_error_and_never_an_empty_list(malformed, case):
    with pytest.raises(OperationError, match="not a price list"):
        read(malformed[case])
