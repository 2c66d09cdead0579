"""Runs a month."""

import pytest

from orchestrator.model.job import Schedule
from orchestrator.placement.runs import retrain_per_month, starts_per_month

NOW = "2026-11-30T00:00:00Z"


@pytest.mark.parametrize(
    ("cron", "starts"),
    [("0 2 * * *", 30.4), ("0 * * * *", 730), ("0 2 * * 0", 4.345), ("0 2 1 * *", 1), ("*/1 * * * *", 43_800)],
    ids=["nightly", "hourly", "sundays", "monthly", "every-minute"],
)
def test_starts_of_a_schedule(cron, starts):
    schedule = Schedule(cron=cron, timezone="America/New_York", done_by=None, overlap="skip")
    assert starts_per_month(schedule, NOW) == pytest.approx(starts, rel=0.03)


def test_without_a_schedule_a_job_runs_once():
    assert starts_per_month(None, NOW) == 1.0


@pytest.mark.parametrize(
    ("retrain", "runs"),
    [
        ("never", 1),
        ("hourly", 730),
        ("daily", 30.4),
        ("weekly", 4.345),
        ("monthly", 1),
        ("quarterly", 1 / 3),
        ("yearly", 1 / 12),
    ],
)
def test_retrain(retrain, runs):
    assert retrain_per_month(retrain) == pytest.approx(runs, rel=0.001)
