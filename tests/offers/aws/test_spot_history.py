"""Spot price histories: what a pool cost over a window."""

import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.model.error import OperationError
from orchestrator.offers.aws.spot_history import PriceChange, changes, pool_prices, weighted_quantile

pytestmark = pytest.mark.slow

START = datetime(2026, 11, 23, tzinfo=UTC)
END = START + timedelta(hours=10)


def history(*points: tuple[float, str | None]) -> list[PriceChange]:
    """Price changes of one pool: (hours after START, USD per hour or None)."""
    return [
        PriceChange(
            instance_type="g6.xlarge",
            zone="us-east-1a",
            at=START + timedelta(hours=hours),
            usd_per_hour=None if usd is None else Decimal(usd),
        )
        for hours, usd in points
    ]


@pytest.mark.parametrize(
    ("points", "median", "p90"),
    [
        ([(-48, "0.30")], "0.30", "0.30"),
        ([(-48, "0.30"), (4, "0.40")], "0.40", "0.40"),
        ([(-48, "0.30"), (6, "0.40")], "0.30", "0.40"),
        ([(-48, "0.30"), (5, "0.40")], "0.30", "0.40"),
        ([(-48, "0.30"), (9, "0.90")], "0.30", "0.30"),
        ([(-48, "0.30"), (8.9, "0.90")], "0.30", "0.90"),
        ([(0, "0.1"), (1, "9"), (1.1, "0.1"), (2, "9"), (2.1, "0.1"), (3, "9"), (3.1, "0.1")], "0.1", "0.1"),
        ([(-72, "9.00"), (-48, "0.30")], "0.30", "0.30"),
        ([(8, "0.20"), (9, "0.50")], "0.20", "0.50"),
        ([(-1, "0.30"), (2, None), (9, "0.50")], "0.30", "0.50"),
        ([(-1, "0.30"), (4, "0.20"), (4, "0.50")], "0.50", "0.50"),
        ([(-1, "0.30"), (12, "9.00")], "0.30", "0.30"),
        ([(-1, "0"), (9, "0.50")], "0", "0"),
    ],
    ids=[
        "constant", "later-price-held-longer", "earlier-price-held-longer", "half-and-half-is-the-lower",
        "p90-needs-more-than-a-tenth", "p90-just-above-a-tenth", "many-short-peaks-weigh-little",
        "only-the-last-price-before-the-window", "pool-opened-inside", "time-without-a-price-weighs-nothing",
        "two-prices-at-once-the-dearer", "after-the-window", "zero-is-kept-for-the-book-to-refuse",
    ],
)  # fmt: skip
def test_a_price_weighs_as_long_as_it_held(points, median, p90):
    (found,) = pool_prices(history(*points), START, END)
    assert (found.median_usd_per_hour, found.p90_usd_per_hour) == (Decimal(median), Decimal(p90))
    assert pool_prices(reversed(history(*points)), START, END) == [found]


@pytest.mark.parametrize(
    "points",
    [[], [(10, "0.30")], [(11, "0.30")], [(-5, None)], [(-5, "0.30"), (0, None)]],
    ids=["nothing", "begins-at-the-end", "begins-later", "blank", "blank-from-the-start"],
)
def test_a_pool_without_a_price_in_the_window_is_left_out(points):
    assert pool_prices(history(*points), START, END) == []


def test_pools_are_apart_and_in_order():
    other = [
        PriceChange(instance_type=name, zone=zone, at=START, usd_per_hour=Decimal(usd))
        for name, zone, usd in (("g6.xlarge", "us-east-1b", "0.5"), ("g5.xlarge", "us-east-1a", "0.7"))
    ]
    found = pool_prices([*history((0, "0.3")), *other], START, END)
    assert [(each.instance_type, each.zone, str(each.median_usd_per_hour)) for each in found] == [
        ("g5.xlarge", "us-east-1a", "0.7"), ("g6.xlarge", "us-east-1a", "0.3"), ("g6.xlarge", "us-east-1b", "0.5"),
    ]  # fmt: skip


prices = st.decimals(min_value="0.001", max_value="100", places=4)
points = st.lists(st.tuples(st.floats(min_value=-100, max_value=100), prices), min_size=1, max_size=30)


@settings(deadline=None)
@given(points=points, order=st.randoms(use_true_random=False))
def test_median_and_p90_are_prices_of_the_pool_whatever_the_order_of_records(points, order):
    found = history(*((hours, str(usd)) for hours, usd in points))
    straight = pool_prices(found, START, END)
    order.shuffle(found)
    assert pool_prices(found, START, END) == straight
    for pool in straight:
        told = {usd for _, usd in points}
        assert pool.median_usd_per_hour in told and pool.p90_usd_per_hour in told
        assert min(told) <= pool.median_usd_per_hour <= pool.p90_usd_per_hour <= max(told)


@settings(deadline=None)
@given(points=st.lists(st.tuples(st.integers(min_value=-500, max_value=700), prices), min_size=1, max_size=20))
def test_against_the_price_at_every_minute(points):
    """Brute force: the price of each of the window's 600 minutes, sorted; the one at a half and at nine tenths."""
    found = pool_prices(history(*((minute / 60, str(usd)) for minute, usd in points)), START, END)
    held = sorted(
        max(before)[1] for minute in range(600) if (before := [point for point in points if point[0] <= minute])
    )
    if not held:
        assert found == []
        return
    half, nine_tenths = (held[math.ceil(len(held) * share / 10) - 1] for share in (5, 9))
    assert (found[0].median_usd_per_hour, found[0].p90_usd_per_hour) == (half, nine_tenths)


@settings(deadline=None)
@given(points=points, factor=st.integers(min_value=2, max_value=9))
def test_prices_that_all_rise_alike_raise_the_median_alike(points, factor):
    once = pool_prices(history(*((hours, str(usd)) for hours, usd in points)), START, END)
    risen = pool_prices(history(*((hours, str(usd * factor)) for hours, usd in points)), START, END)
    assert [each.median_usd_per_hour * factor for each in once] == [each.median_usd_per_hour for each in risen]


@settings(deadline=None)
@given(weights=st.dictionaries(prices, st.integers(min_value=1, max_value=10**12), min_size=1), share=st.floats(0, 1))
def test_a_quantile_splits_the_weight(weights, share):
    share = Decimal(str(round(share, 3)))
    found = weighted_quantile(weights, share)
    total = sum(weights.values())
    assert sum(weight for value, weight in weights.items() if value <= found) >= share * total
    assert sum(weight for value, weight in weights.items() if value < found) <= share * total


def test_records_become_changes_in_utc(make):
    record = make.spot("g6.xlarge", "us-east-1a", "0.355100")
    record["Timestamp"] = datetime(2026, 11, 24, 3, 30, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    (found,) = changes([record])
    assert found.at == datetime(2026, 11, 23, 22, tzinfo=UTC) and found.at.utcoffset() == timedelta(0)
    assert found.usd_per_hour == Decimal("0.3551")


def test_a_blank_price_is_none_and_other_systems_are_passed_over(make):
    found = changes(
        [make.spot("g6.xlarge", "us-east-1a", ""), make.spot("g6.xlarge", "us-east-1a", "0.9", system="Windows")]
    )
    assert [each.usd_per_hour for each in found] == [None]


@pytest.mark.parametrize(
    "wrong",
    [{"SpotPrice": "cheap"}, {"SpotPrice": "NaN"}, {"SpotPrice": "-1"}, {"Timestamp": datetime(2026, 11, 24)},  # noqa: DTZ001
     {"Timestamp": "2026-11-24"}],
    ids=["text", "nan", "negative", "no-time-zone", "text-time"],
)  # fmt: skip
def test_a_record_that_cannot_be_read_is_an_error_and_never_skipped(make, wrong):
    with pytest.raises(OperationError, match="cannot be read"):
        changes([{**make.spot("g6.xlarge", "us-east-1a", "0.3"), **wrong}])


def test_a_record_without_a_zone_is_an_error(make):
    record = make.spot("g6.xlarge", "us-east-1a", "0.3")
    del record["AvailabilityZone"]
    with pytest.raises(OperationError, match="cannot be read"):
        changes([record])
