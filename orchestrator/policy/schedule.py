"""When a scheduled job is due."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim

from orchestrator.model.instant import from_iso, to_iso
from orchestrator.model.job import Schedule


def due_start(schedule: Schedule, after: str, now: datetime) -> str | None:
    """The latest start the schedule asks for in (after, now], as ISO 8601 UTC; None = nothing is due.

    Only the latest counts: a controller that was away over several starts catches up on one.
    """
    zone = ZoneInfo(schedule.timezone)
    found = next(CronSim(schedule.cron, (now + timedelta(seconds=1)).astimezone(zone), reverse=True), None)
    if found is None or found <= from_iso(after):
        return None
    return to_iso(found)


def local_date(schedule: Schedule, start: str) -> str:
    """The day (YYYY-MM-DD) of a start, in the schedule's time zone."""
    return f"{from_iso(start).astimezone(ZoneInfo(schedule.timezone)):%Y-%m-%d}"


def next_start(schedule: Schedule, now: datetime) -> str | None:
    """The next start after `now`, as ISO 8601 UTC; None = there is none."""
    found = next(CronSim(schedule.cron, now.astimezone(ZoneInfo(schedule.timezone))), None)
    return None if found is None else to_iso(found)
