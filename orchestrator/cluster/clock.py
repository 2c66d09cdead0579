"""The one place of this package that reads the clock."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    """The time now, in UTC."""
    return datetime.now(UTC)  # noqa: TID251 the shell's clock
