"""Nightly windows: length, midnight, clock changes."""

import pytest

from orchestrator.catalog.quantity import QuantityError
from orchestrator.catalog.window import cron, shortest_window_s, timezone

HOUR_S = 3600


@pytest.mark.parametrize(
    ("cron_text", "zone", "done_by", "hours"),
    [
        pytest.param("0 2 * * *", "UTC", "06:00", 4, id="night"),
        pytest.param("0 2 * * *", "America/New_York", "06:00", 4, id="in a zone"),
        pytest.param("0 22 * * *", "Europe/Berlin", "06:00", 8, id="over midnight"),
        pytest.param("30 18 * * 1-5", "Asia/Kolkata", "10:00", 15.5, id="long, over midnight"),
        pytest.param("0 2,4 * * *", "UTC", "06:00", 2, id="the shortest of several starts"),
        pytest.param("0 2 * * 1", "UTC", "20:00", 18, id="by day"),
        pytest.param("0 2 1 3 *", "UTC", "06:00", 4, id="once a year"),
        pytest.param("*/30 2 * * *", "UTC", "03:00", 0.5, id="every half hour"),
    ],
)
def test_shortest_window(cron_text, zone, done_by, hours):
    assert shortest_window_s(cron_text, zone, done_by) == hours * HOUR_S


@pytest.mark.parametrize(
    ("cron_text", "done_by", "message"),
    [
        pytest.param("0 2 * * *", "02:00", "the start itself", id="no time"),
        pytest.param("0 2 * * *", "01:00", "before the start at 02:00", id="before the start"),
        pytest.param("0 2,7 * * *", "06:00", "before the start at 07:00", id="before one of the starts"),
    ],
)
def test_impossible_windows(cron_text, done_by, message):
    with pytest.raises(QuantityError, match=message):
        shortest_window_s(cron_text, "UTC", done_by)


def test_window_across_a_clock_change_counts_real_hours():
    # Berlin's clocks go forward at 02:00 on 29 March 2026, the only start this expression has in that year's spring.
    assert shortest_window_s("0 1 29 3 *", "Europe/Berlin", "06:00") == 4 * HOUR_S


@pytest.mark.parametrize("text", ["0 2 * * *", "*/15 9-17 * * mon-fri", "0 0 29 2 *"])
def test_cron(text):
    assert cron(text) == text


@pytest.mark.parametrize(
    "value", ["", "@daily", "0 2 * *", "0 25 * * *", "0 0 30 2 *", "0 0 2 * * *", 5, None, ["0 2 * * *"]]
)
def test_not_cron(value):
    with pytest.raises(QuantityError):
        cron(value)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("Europe/Berln", "Europe/Berlin"),
        ("America/NewYork", "America/New_York"),
        ("New York", "America/New_York"),
        ("Berlin", "Europe/Berlin"),
        ("America", None),
        ("../../etc/passwd", None),
        ("/etc/passwd", None),
        ("\0", None),
        ("", None),
        (7, None),
    ],
)
def test_unknown_zones(name, near):
    with pytest.raises(QuantityError) as caught:
        timezone(name)
    if near is not None:
        assert caught.value.suggestion == near
