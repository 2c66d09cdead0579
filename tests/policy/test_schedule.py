"""When scheduled starts are due: time zones, clock changes, downtime."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.model.instant import from_iso, to_iso
from orchestrator.model.job import Schedule
from orchestrator.policy.schedule import due_start, local_date, next_start

NIGHTLY = Schedule(cron="0 2 * * *", timezone="America/New_York", done_by="06:00", overlap="skip")

EARLIEST = datetime(2024, 1, 1, tzinfo=UTC)


def at(text: str) -> datetime:
    return from_iso(text)


@pytest.mark.parametrize(
    ("after", "now", "due"),
    [
        pytest.param("2026-11-30T00:00Z", "2026-11-30T06:59:59Z", None, id="a-second-early"),
        pytest.param("2026-11-30T00:00Z", "2026-11-30T07:00:00Z", "2026-11-30T07:00Z", id="on-the-dot"),
        pytest.param("2026-11-30T00:00Z", "2026-11-30T09:30:00Z", "2026-11-30T07:00Z", id="late"),
        pytest.param("2026-11-30T07:00Z", "2026-11-30T09:30:00Z", None, id="dealt-with"),
        pytest.param("2026-11-25T07:00Z", "2026-11-30T09:30:00Z", "2026-11-30T07:00Z", id="five-missed-one-is-due"),
        pytest.param("2026-07-01T00:00Z", "2026-07-01T06:30:00Z", "2026-07-01T06:00Z", id="summer-time"),
    ],
)
def test_due_start(after: str, now: str, due: str | None) -> None:
    assert due_start(NIGHTLY, after, at(now)) == (None if due is None else to_iso(at(due)))


def test_the_hour_that_a_clock_change_skips_is_started_once() -> None:
    """On 2026-03-08 New York has no 02:00; the start moves and does not vanish."""
    marks, now = to_iso(at("2026-03-08T00:00Z")), at("2026-03-08T00:00Z")
    starts = []
    while now < at("2026-03-09T00:00Z"):
        start = due_start(NIGHTLY, marks, now)
        if start is not None:
            starts.append(start)
            marks = start
        now += timedelta(minutes=5)
    assert len(starts) == 1


def test_next_start_is_in_the_future_and_in_utc() -> None:
    assert next_start(NIGHTLY, at("2026-11-30T07:00:00Z")) == to_iso(at("2026-12-01T07:00Z"))


def test_the_date_of_a_start_is_the_schedules_local_one() -> None:
    evening = Schedule(cron="0 22 * * *", timezone="America/New_York", done_by=None, overlap="skip")
    start = due_start(evening, "2026-11-30T00:00Z", at("2026-11-30T03:30Z"))
    assert start == to_iso(at("2026-11-30T03:00Z"))
    assert local_date(evening, start or "") == "2026-11-29"


@settings(deadline=None)
@given(
    st.integers(0, 3 * 365 * 86400).map(lambda seconds: EARLIEST + timedelta(seconds=seconds)),
    st.floats(min_value=0, max_value=30 * 86400),
)
def test_a_due_start_lies_in_the_asked_span_and_is_due_once(after: datetime, later_s: float) -> None:
    mark = to_iso(after)
    now = from_iso(mark) + timedelta(seconds=later_s)
    start = due_start(NIGHTLY, mark, now)
    if start is None:
        assert later_s < 25 * 3600
        return
    assert from_iso(mark) < from_iso(start) <= now
    assert due_start(NIGHTLY, start, now) is None
