"""How often a job runs in a 730-hour month."""

from datetime import timedelta
from functools import lru_cache

from cronsim import CronSim

from orchestrator.estimate.money import HOURS_PER_MONTH, SECONDS_PER_MONTH
from orchestrator.model.instant import from_iso
from orchestrator.model.job import BatchJob, Job, Schedule, TrainJob

RUNS_PER_MONTH = {
    "never": 1.0,
    "hourly": HOURS_PER_MONTH,
    "daily": HOURS_PER_MONTH / 24,
    "weekly": HOURS_PER_MONTH / 168,
    "monthly": 1.0,
    "quarterly": 1.0 / 3.0,
    "yearly": 1.0 / 12.0,
}
"""By the catalog's `retrain`; "never" is a single run, counted in the month it happens."""

MONTHS = 12
ENOUGH_STARTS = 2000
"""After so many starts their mean distance stands for the year."""


def runs_per_month(job: Job, now: str) -> float:
    """Runs of a train or batch job; 1 for a service, which is billed by the month."""
    if isinstance(job, TrainJob):
        return retrain_per_month(job.retrain)
    return starts_per_month(job.schedule, now) if isinstance(job, BatchJob) else 1.0


def most_runs_per_month(expected_s: float) -> float:
    """Runs of so many seconds that fit into a month one after the other; one at least."""
    return max(SECONDS_PER_MONTH / expected_s, 1.0)


def retrain_per_month(retrain: str) -> float:
    """Training runs a month."""
    return RUNS_PER_MONTH.get(retrain, 1.0)


def starts_per_month(schedule: Schedule | None, now: str) -> float:
    """Mean starts of a schedule in a 730-hour month of the year from `now` (ISO 8601); one without a schedule.

    The time zone moves the starts, not their number, and is left out.
    """
    return 1.0 if schedule is None else _cron_starts_per_month(schedule.cron, now)


@lru_cache(maxsize=1024)
def _cron_starts_per_month(cron: str, now: str) -> float:
    begin = from_iso(now)
    year = timedelta(hours=HOURS_PER_MONTH * MONTHS)
    count = 0
    for start in CronSim(cron, begin):
        if start > begin + year:
            break
        count += 1
        if count == ENOUGH_STARTS:
            return count * (year / (start - begin)) / MONTHS
    return count / MONTHS
