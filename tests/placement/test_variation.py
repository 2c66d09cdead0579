"""What if: other prices, less hardware, other deadlines; and what that changes."""

import json
from decimal import Decimal

import pytest

from orchestrator.model.offer import Market
from orchestrator.placement import place, plan_as_dict
from orchestrator.placement.difference import difference, difference_as_dict
from orchestrator.placement.variation import names, repriced, with_deadline, without


@pytest.fixture
def book(make):
    return make.book(
        make.offer("g6.xlarge", "0.35"),
        make.offer("g6.xlarge", "0.37", zone="use1-az2"),
        make.on_demand("g6.xlarge", "0.80"),
        make.offer("g5.xlarge", "0.45", zone="use1-az2"),
        make.offer("c7i.xlarge", "0.08"),
    )


def chosen(make, book, *jobs):
    return place(make.catalog(*(jobs or (make.train(),))), book, make.now).jobs[0].placement.chosen


def test_another_spot_price_holds_in_all_zones(make, book):
    found = repriced(book, "g6.xlarge", Market.SPOT, Decimal("0.90"))
    prices = {offer.name: offer.price_usd_per_hour for offer in found.offers if offer.instance.name == "g6.xlarge"}
    assert sorted(prices.values()) == [Decimal("0.80"), Decimal("0.90"), Decimal("0.90")]
    assert chosen(make, book).accelerator == "L4" and chosen(make, found).accelerator == "A10G"


def test_an_on_demand_price_below_spot_bars_spot(make, book):
    found = repriced(book, "g6.xlarge", Market.ON_DEMAND, Decimal("0.30"))
    placement = place(make.catalog(make.train()), found, make.now).jobs[0].placement
    assert placement.chosen.market is Market.ON_DEMAND
    assert "spot-not-cheaper" in {rejection.reason for rejection in placement.rejections}


def test_a_price_of_nothing_known(book):
    assert repriced(book, "g7.xlarge", Market.SPOT, Decimal(1)) is None
    assert repriced(book, "c7i.xlarge", Market.ON_DEMAND, Decimal(1)) is None


@pytest.mark.parametrize(
    ("name", "gone"),
    [("g6", 3), ("G6.XLARGE", 3), ("a10g", 1), ("use1-az2", 2), ("spot", 4), ("cpu", 1)],
    ids=["family", "type", "accelerator", "zone", "market", "cpu"],
)
def test_what_is_left_out_is_refused_and_says_so(make, book, name, gone):
    found = without(book, name)
    assert len(found.offers) == len(book.offers) - gone
    assert [row.reason for row in found.refused] == ["left-out"] * gone
    assert name.casefold() in {each.casefold() for each in names(book)}


def test_leaving_out_nothing_known(book):
    assert without(book, "p5") is None


def test_another_deadline(make, book):
    catalog = make.catalog(make.train(), make.batch(), make.serve())
    assert with_deadline(catalog, "tune", 60.0).job("tune").deadline_s == 60.0
    assert with_deadline(catalog, "nightly", 60.0).job("nightly").window_s == 60.0
    assert with_deadline(catalog, "chat", 60.0) is None and with_deadline(catalog, "nobody", 60.0) is None


def as_dict(make, book, *jobs):
    return json.loads(json.dumps(plan_as_dict(place(make.catalog(*jobs), book, make.now), {})))


def test_the_same_plan_has_no_changes(make, book):
    plan = as_dict(make, book, make.train(), make.serve())
    found = difference(plan, plan)
    assert found.changes == () and found.usd_per_month_before == found.usd_per_month_after


def test_changes_name_what_moved_came_and_went(make, book):
    before = as_dict(make, book, make.train("moves"), make.train("goes"))
    after = as_dict(make, without(book, "g6"), make.train("moves"), make.batch("comes"))
    found = {change.name: change for change in difference(before, after).changes}
    assert set(found) == {"moves", "goes", "comes"}
    assert found["moves"].before == "1 x g6.xlarge:spot:us-east-1:use1-az1"
    assert found["moves"].after == "1 x g5.xlarge:spot:us-east-1:use1-az2"
    assert found["goes"].after is None and found["comes"].before is None
    assert found["moves"].usd_after > found["moves"].usd_before
    assert set(difference_as_dict(difference(before, after))) == {"objective_usd_per_month", "changes"}
