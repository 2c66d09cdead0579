"""Shapes of traffic and what they are called."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.advice.traffic import Shape, classify, correlation_at, shape_of, traced, windows
from orchestrator.model.job import Pattern

MINUTE, DAY_MINUTES = 60.0, 1440


def minutes(days: float) -> range:
    return range(int(days * DAY_MINUTES))


def day(minute: int, height: float) -> float:
    """A sine over the day, from 1 - height to 1 + height."""
    return 1.0 + height * math.sin(2 * math.pi * minute / DAY_MINUTES)


def business_hours(minute: int) -> float:
    return 10.0 if 540 <= minute % DAY_MINUTES < 720 else 0.5


def unlike_any_other_day(minute: int) -> float:
    """A burst of three hours that starts at another time every day."""
    number, at = divmod(minute, DAY_MINUTES)
    start = (number * 613) % 1200
    return 10.0 if start <= at < start + 180 else 0.5


@pytest.mark.parametrize(
    ("rate", "days", "expected"),
    [
        pytest.param(lambda minute: 3.0, 3, Pattern.CONSTANT, id="flat"),
        pytest.param(lambda minute: day(minute, 0.2), 3, Pattern.CONSTANT, id="within the headroom"),
        pytest.param(lambda minute: day(minute, 0.2), 1, Pattern.CONSTANT, id="a day is enough for constant"),
        pytest.param(lambda minute: day(minute, 0.8), 7, Pattern.PREDICTABLE, id="daily rhythm"),
        pytest.param(business_hours, 7, Pattern.SPIKY, id="high peak at the same hours"),
        pytest.param(unlike_any_other_day, 14, Pattern.UNPREDICTABLE, id="bursts at any time"),
        pytest.param(lambda minute: day(minute, 0.8), 1, None, id="one day shows no rhythm"),
        pytest.param(lambda minute: 3.0, 0.5, None, id="half a day shows nothing"),
        pytest.param(lambda minute: 0.0, 7, None, id="no traffic"),
    ],
)
def test_pattern(rate, days, expected):
    times_s = [minute * MINUTE for minute in minutes(days)]
    assert traced("f", "c", times_s, [rate(minute) for minute in minutes(days)]).pattern is expected


def test_the_figures_of_a_shape_by_hand():
    found = shape_of([1.0, 1.0, 4.0, 0.0], 600.0)
    assert (found.windows, found.days) == (4, pytest.approx(4 / 144))
    assert found.peak_to_mean == pytest.approx(4 / 1.5)
    assert found.variation == pytest.approx(math.sqrt((0.25 + 0.25 + 6.25 + 2.25) / 4) / 1.5)
    assert found.idle_share == 0.25 and found.daily_repeat is None


def test_correlation_at_a_lag():
    assert correlation_at([1.0, 2.0, 3.0, 1.0, 2.0, 3.0], 3) == pytest.approx(1.0)
    assert correlation_at([1.0, 2.0, 3.0, 3.0, 2.0, 1.0], 3) == pytest.approx(-1.0)
    assert correlation_at([1.0, 2.0, 3.0, 1.0, 2.0], 3) is None
    assert correlation_at([1.0, 1.0, 1.0, 1.0], 2) is None


def test_windows_average_rates_and_add_up_events():
    rates, window_s = windows([0.0, 60.0, 600.0, 660.0], [1.0, 3.0, 5.0, 7.0], add_up=False)
    assert (rates, window_s) == ([2.0, 6.0], 600.0)
    events, _ = windows([0.0, 10.0, 1300.0, 1900.0], [1.0, 3.0, 5.0, 7.0], add_up=True)
    assert events == [4.0, 0.0, 5.0]  # the last window has hardly begun


def test_rows_further_apart_than_a_window_are_windows_themselves():
    assert windows([0.0, 3600.0, 7200.0], [1.0, 2.0, 3.0], add_up=False) == ([1.0, 2.0, 3.0], 3600.0)


def test_unevenly_spaced_rows_are_events():
    assert traced("f", "c", [0.0, 1.0, 700.0, 1900.0], [1.0] * 4).events
    assert not traced("f", "c", [0.0, 60.0, 120.0], [1.0] * 3).events


@given(
    rates=st.lists(st.floats(0.0, 1e6, allow_subnormal=False), min_size=300, max_size=320),
    unit=st.sampled_from([2.0**-20, 0.25, 4.0, 2.0**20]),
)
def test_the_pattern_does_not_change_with_the_unit(rates, unit):
    """Powers of two, as they are exact."""
    rates = [0.0 if rate < 1e-6 else rate for rate in rates]
    before, after = shape_of(rates, 600.0), shape_of([rate * unit for rate in rates], 600.0)
    assert classify(after) is classify(before)
    assert after.peak_to_mean == pytest.approx(before.peak_to_mean)
    assert after.variation == pytest.approx(before.variation)


@given(
    peak=st.floats(0.1, 50.0), variation=st.floats(0.0, 5.0), repeat=st.none() | st.floats(-1.0, 1.0),
    days=st.floats(0.0, 30.0),
)  # fmt: skip
def test_unpredictable_is_never_what_repeats(peak, variation, repeat, days):
    shape = Shape(days=days, windows=1, peak_to_mean=peak, variation=variation, daily_repeat=repeat, idle_share=0.0)
    found = classify(shape)
    if found is Pattern.UNPREDICTABLE:
        assert repeat is not None and repeat < 0.5 and days >= 1.0
    if found in (Pattern.SPIKY, Pattern.PREDICTABLE):
        assert repeat is not None and repeat >= 0.5
