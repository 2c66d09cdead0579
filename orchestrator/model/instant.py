"""Instants: ISO 8601 UTC text in records, aware datetimes in arithmetic."""

from datetime import UTC, datetime


def to_iso(at: datetime) -> str:
    """ISO 8601 in UTC with microseconds and a trailing Z, so that text order is time order."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def from_iso(text: str) -> datetime:
    """The aware UTC datetime of an ISO 8601 text; text without an offset is read as UTC."""
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def seconds_between(start: str, end: str) -> float:
    """Seconds from `start` to `end`; negative when `end` is earlier."""
    return (from_iso(end) - from_iso(start)).total_seconds()
