"""Quantities with their units."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.catalog import quantity
from orchestrator.catalog.quantity import QuantityError

anything = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers()), st.just({"a": 1})
)
READERS = {
    "duration": quantity.duration_s,
    "per hour": lambda value: quantity.usd_per(value, "h"),
    "per day": lambda value: quantity.usd_per(value, "day"),
    "percent": quantity.percent_fraction,
    "fraction": quantity.fraction,
    "count": quantity.count,
    "whole count": quantity.whole_count,
    "clock": quantity.clock,
}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("800ms", 0.8), ("90s", 90), ("10m", 600), ("24h", 86400), ("7d", 604800), ("1h30m", 5400), ("1.5h", 5400)],
)
def test_duration(text, seconds):
    assert quantity.duration_s(text) == seconds


@pytest.mark.parametrize(
    "value", ["", "m", "10", "10x", "-5m", "0s", "0.0004", "1h m", "5m!", "9999d", 10, True, None, []]
)
def test_not_a_duration(value):
    with pytest.raises(QuantityError):
        quantity.duration_s(value)


@pytest.mark.parametrize(
    ("text", "meant"), [("10M", "10m"), ("10min", "10m"), ("2 hours", "2h"), ("3D", "3d"), ("5 weeks", None)]
)
def test_misspelt_units_of_time(text, meant):
    with pytest.raises(QuantityError) as caught:
        quantity.duration_s(text)
    assert caught.value.suggestion == meant


@pytest.mark.parametrize(
    ("text", "period", "usd"),
    [
        ("$3.20/h", "h", "3.20"),
        ("$60/h", "h", "60"),
        ("$ 3 / hour", "h", "3"),
        ("$20/day", "day", "20"),
        ("$20/d", "day", "20"),
    ],
)
def test_money(text, period, usd):
    assert quantity.usd_per(text, period) == Decimal(usd)


@pytest.mark.parametrize(
    ("value", "suggestion"),
    [
        (3.2, "$3.2/h"),
        ("3.20", "$3.20/h"),
        ("$3.20", "$3.20/h"),
        ("3.20 USD", "$3.20/h"),
        ("$3.20/day", None),
        ("$-1/h", None),
        ("$0/h", None),
        ("€3/h", None),
        (True, None),
    ],
)
def test_not_money(value, suggestion):
    with pytest.raises(QuantityError) as caught:
        quantity.usd_per(value, "h")
    assert caught.value.suggestion == suggestion


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("40M", 40e6),
        ("5k", 5000),
        ("8B", 8e9),
        ("8.03e9", None),
        (8.03e9, 8.03e9),
        ("2G", 2e9),
        ("1T", 1e12),
        (5, 5),
        ("5000", 5000),
    ],
)
def test_count(value, number):
    if number is None:
        with pytest.raises(QuantityError):
            quantity.count(value)
    else:
        assert quantity.count(value) == number


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), 10**400, "5K", "5,000", "five", True, None, {}])
def test_not_a_count(value):
    with pytest.raises(QuantityError):
        quantity.count(value)


def test_whole_counts():
    assert quantity.whole_count("1.5k") == 1500
    with pytest.raises(QuantityError, match="whole number"):
        quantity.whole_count(1.5)


@pytest.mark.parametrize(("value", "part"), [("2%", 0.02), ("100%", 1.0), ("0.5%", 0.005)])
def test_percent(value, part):
    assert quantity.percent_fraction(value) == pytest.approx(part)
    assert quantity.fraction(value) == pytest.approx(part)


@pytest.mark.parametrize("value", ["0%", "101%", "2", "-1%", 0, 1.1, -0.5, float("nan"), True])
def test_not_a_fraction(value):
    with pytest.raises(QuantityError):
        quantity.fraction(value)


def test_percent_needs_its_sign():
    assert quantity.fraction(0.9) == 0.9
    with pytest.raises(QuantityError, match="percent sign"):
        quantity.percent_fraction(0.9)


@pytest.mark.parametrize(("text", "clock"), [("06:00", "06:00"), ("6:00", "06:00"), ("23:59", "23:59")])
def test_clock(text, clock):
    assert quantity.clock(text) == clock


@pytest.mark.parametrize("value", ["24:00", "6am", "06:60", "6", 360, None])
def test_not_a_clock(value):
    with pytest.raises(QuantityError):
        quantity.clock(value)


@pytest.mark.parametrize("name", READERS)
@given(value=anything)
def test_anything_is_read_or_refused_by_name(name, value):
    try:
        READERS[name](value)
    except QuantityError as error:
        assert error.message


@given(hours=st.integers(0, 1000), minutes=st.integers(0, 59), seconds=st.integers(1, 59))
def test_compound_durations_add_up(hours, minutes, seconds):
    assert quantity.duration_s(f"{hours}h{minutes}m{seconds}s") == hours * 3600 + minutes * 60 + seconds
