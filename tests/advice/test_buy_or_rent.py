"""Accelerator-hours of a plan, and from when on owning is cheaper."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.advice.buy_or_rent import Use, buy_or_rent, pays, uses
from orchestrator.advice.purchase import PURCHASES, Purchase, break_even_share, purchase_of


def test_owning_by_hand():
    own = Purchase(accelerator="X", price_usd=Decimal(8_000), watts=400.0, source="test")
    # 8,000 x 1.5 / 24 months + 0.4 kW x 1.5 x 180 USD = 500 + 108 a month.
    assert own.usd_per_hour == pytest.approx(608 / 730)
    assert break_even_share(own, 2.0) == pytest.approx(608 / 730 / 2.0)


@given(price=st.integers(100, 100_000), watts=st.floats(10.0, 2000.0), rent=st.floats(0.01, 100.0))
def test_at_the_break_even_share_renting_costs_what_owning_costs(price, watts, rent):
    own = Purchase(accelerator="X", price_usd=Decimal(price), watts=watts, source="test")
    hours = 730.0 * 24
    share = break_even_share(own, rent)
    assert rent * share * hours == pytest.approx(own.invested_usd + own.hosting_usd_per_month * 24)


@pytest.mark.parametrize(
    ("share", "even", "expected"),
    [(0.9, 0.5, True), (0.8, 0.5, True), (0.6, 0.5, True), (0.54, 0.5, False), (0.9, 0.95, False), (1.0, 1.2, False)],
)
def test_owning_needs_the_break_even_and_much_use(share, even, expected):
    """200 days are 55% of a year."""
    use = Use(accelerator="L4", steady=1.0, largest=0.0, hours=730.0 * share, usd=1.0)
    assert pays(use, even) is expected


def test_services_count_all_hours_and_runs_theirs(make):
    job = make.train()
    found = make.situation([make.serve(), job], [make.on_demand("g6.xlarge", "0.80")])
    (use,) = uses(found)
    run_h = found.plan.job("tune").placement.chosen.expected_seconds / 3600
    assert (use.accelerator, use.steady, use.largest) == ("L4", 1.0, 1.0)
    assert use.hours == pytest.approx(730 + run_h * 730 / 168)
    assert use.usd == pytest.approx(0.80 * use.hours)
    assert use.share == 1.0 and use.owned == 1.0


def test_runs_alone_would_own_what_the_largest_takes(make):
    found = make.situation([make.train()], [make.offer("g5.48xlarge", "5.8")])
    (use,) = uses(found)
    assert use.owned == 8.0 and use.share < 0.05
    (advice,) = buy_or_rent(found)
    assert advice.recommendation.startswith("Rent: 8 x A10G")


def test_a_service_all_day_may_be_worth_owning(make, figure):
    (advice,) = buy_or_rent(make.situation([make.serve()], [make.on_demand("g6.xlarge", "0.80")]))
    assert advice.recommendation.startswith("Consider owning: 1 x L4")
    own = purchase_of("L4").usd_per_hour
    assert figure(advice, "owning saves") == pytest.approx((0.80 - own) * 730)
    assert any("assumed street price" in each.source for each in advice.thresholds)


def test_cheap_rent_is_never_beaten(make):
    (advice,) = buy_or_rent(make.situation([make.serve()], [make.on_demand("g6.xlarge", "0.10")]))
    assert advice.recommendation.endswith("owning is dearer even at 100%.")
    assert "owning saves" not in {each.name for each in advice.figures}


def test_every_purchase_price_is_dated_and_called_an_assumption():
    for row in PURCHASES:
        assert "assumed" in row.source and "2026-" in row.source and row.price_usd > 0 and row.watts > 0
    assert purchase_of("B200") is None
