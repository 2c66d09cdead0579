"""When a nightly job starts, and how long it has."""

import itertools
import zoneinfo
from datetime import UTC, datetime, timedelta
from functools import cache

from cronsim import CronSim, CronSimError

from orchestrator.catalog.quantity import QuantityError, shown
from orchestrator.catalog.suggest import nearest

REFERENCE = datetime(2026, 1, 5, tzinfo=UTC)
"""A Monday in winter. Windows are measured on the starts of the week after it, so that a catalog always means the same;
on the two days a year on which clocks change, the controller's real window is an hour longer or shorter."""

MAX_OVERNIGHT = timedelta(hours=16)
"""`done_by` earlier in the day than the start means the next day only up to so long a window; more is a mistake."""

_STARTS = 100
_WEEK = timedelta(days=7)


def cron(value: object) -> str:
    """A cron expression of five fields that starts at some time."""
    if not isinstance(value, str):
        raise QuantityError(f'must be a cron expression such as "0 2 * * *", not {shown(value)}')
    fields = value.split()
    if len(fields) != 5:
        raise QuantityError(f"cron needs 5 fields (minute hour day month weekday), not {len(fields)}")
    try:
        next(CronSim(value, REFERENCE))
    except CronSimError as error:
        raise QuantityError(f"not a valid cron expression: {str(error).lower()}") from error
    except StopIteration as error:
        raise QuantityError("this cron expression never starts anything") from error
    return value


def timezone(value: object) -> str:
    """An IANA time zone."""
    if not isinstance(value, str) or not value:
        raise QuantityError(f"must be an IANA time zone such as Europe/Berlin, not {shown(value)}")
    try:
        zoneinfo.ZoneInfo(value)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise QuantityError(f"unknown time zone {shown(value)}", _near_zone(value)) from error
    return value


def shortest_window_s(cron_text: str, zone_name: str, done_by: str) -> float:
    """Seconds from a start to `done_by`, for the start of the reference week with the least time.

    Raises QuantityError where `done_by` is not after a start. A week without a start is measured on the first start.
    """
    return min(_window(start, done_by).total_seconds() for start in _starts(cron_text, zone_name))


@cache
def _starts(cron_text: str, zone_name: str) -> tuple[datetime, ...]:
    begin = REFERENCE.astimezone(zoneinfo.ZoneInfo(zone_name))
    starts = CronSim(cron_text, begin)
    first = next(starts)
    rest = itertools.takewhile(lambda start: start - begin < _WEEK, itertools.islice(starts, _STARTS))
    return first, *rest


def _window(start: datetime, done_by: str) -> timedelta:
    hour, minute = (int(part) for part in done_by.split(":"))
    same_day = start.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if same_day == start:
        raise QuantityError(f"{done_by} is the start itself; a window needs time")
    end = same_day if same_day > start else same_day + timedelta(days=1)
    window = end.astimezone(UTC) - start.astimezone(UTC)
    if end != same_day and window > MAX_OVERNIGHT:
        limit = int(MAX_OVERNIGHT.total_seconds() // 3600)
        raise QuantityError(
            f"{done_by} is before the start at {start:%H:%M} (a window over midnight may last {limit} h at most)"
        )
    return window


def _near_zone(value: str) -> str | None:
    zones = zoneinfo.available_timezones()
    by_city = {zone.rpartition("/")[2]: zone for zone in sorted(zones)}
    city = value.rpartition("/")[2].replace(" ", "_")
    near_city = nearest(city, by_city)
    return nearest(value, zones) or (by_city[near_city] if near_city else None)
