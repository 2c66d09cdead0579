"""What a new price list changes."""

from dataclasses import replace
from decimal import Decimal

import pytest

from orchestrator.model.offer import Market, PriceBook, RefusedOffer
from orchestrator.offers.comparison import biggest_moves, kept_by_region, refused_by_reason


@pytest.fixture
def book(offer, l4_machine):
    def build(**prices: str) -> PriceBook:
        made = (replace(offer(l4_machine, Market.SPOT, zone, usd), name=zone) for zone, usd in prices.items())
        return PriceBook(as_of="2026-11-30", offers=tuple(made), refused=())

    return build


def test_the_largest_shares_come_first_up_or_down(book):
    found = biggest_moves(book(a="1.00", b="1.00", c="1.00", d="1.00"), book(a="1.10", b="0.50", c="1.00", d="3.00"))
    assert [(move.name, move.share) for move in found] == [
        ("d", Decimal("2.00")), ("b", Decimal("-0.5")), ("a", Decimal("0.1")),
    ]  # fmt: skip


def test_at_most_five_and_ties_by_name(book):
    names = "gfedcba"
    found = biggest_moves(book(**dict.fromkeys(names, "1")), book(**dict.fromkeys(names, "2")))
    assert [move.name for move in found] == list("abcde")


def test_offers_of_only_one_list_are_no_change(book):
    assert biggest_moves(book(a="1"), book(b="2")) == ()


def test_counts_by_region_and_market(book, offer, l4_machine):
    one = offer(l4_machine, Market.ON_DEMAND, "*", "0.8")
    more = (one, replace(one, region="eu-west-1"), replace(one, market=Market.SPOT), replace(one, market=Market.SPOT))
    assert kept_by_region(replace(book(), offers=more)) == {
        "eu-west-1": {"on-demand": 1}, "us-east-1": {"on-demand": 1, "spot": 2},
    }  # fmt: skip


def test_refusals_by_reason_the_most_frequent_first():
    rows = [RefusedOffer(name=name, region="r", reason=reason, detail="") for name, reason in
            (("a", "zero-price"), ("b", "not-offered"), ("c", "not-offered"))]  # fmt: skip
    found = refused_by_reason(rows)
    assert [(reason, [row.name for row in each]) for reason, each in found.items()] == [
        ("not-offered", ["b", "c"]), ("zero-price", ["a"]),
    ]  # fmt: skip
