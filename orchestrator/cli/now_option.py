"""The `--now` option: the time to plan for. The clock is read here and nowhere below."""

import time
from datetime import UTC, datetime
from typing import Annotated

import typer

from orchestrator.model.error import InputError
from orchestrator.model.instant import from_iso, to_iso

NowOption = Annotated[
    str | None, typer.Option("--now", metavar="ISO", help="Time to plan for, ISO 8601; default: now.")
]


def instant(now: str | None) -> str:
    """The given time, or the clock's, in ISO 8601 UTC. Raises InputError for anything else."""
    if now is None:
        return to_iso(datetime.fromtimestamp(int(time.time()), UTC))
    try:
        return to_iso(from_iso(now))
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"--now: {now!r} is not an ISO 8601 time.", "Use, for example, 2026-11-30T02:00:00Z."
        ) from error
