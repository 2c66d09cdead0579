"""The one place of this package that reads the clock, and the ISO form in which times are written."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    """The time now, in UTC."""
    return datetime.now(UTC)  # noqa: TID251 the shell's clock


def iso(at: datetime) -> str:
    """ISO 8601 in UTC with milliseconds, for example "2026-11-30T13:00:00.250Z"; sorts by time."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse(text: str) -> datetime:
    """The time that `iso` wrote, or any ISO 8601 text with an offset."""
    return datetime.fromisoformat(text)
