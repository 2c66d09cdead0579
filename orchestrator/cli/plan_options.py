"""What a plan depends on beside catalog and prices: the time, and what a ledger learnt."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.state_dir_option import state_of
from orchestrator.estimate.calibration import Experience
from orchestrator.model.error import InputError
from orchestrator.model.instant import from_iso, to_iso

NowOption = Annotated[
    str | None, typer.Option("--now", metavar="ISO", help="Time to plan for, ISO 8601; default: now.")
]

LedgerOption = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="FILE",
        help="The ledger whose runs correct the estimates.  [default: ledger.db of the state directory, if any]",
    ),
]


EARLIEST_YEAR, LATEST_YEAR = 1970, 9000


def instant(now: str | None) -> str:
    """The given time, or the clock's, in ISO 8601 UTC; the clock is read here and nowhere below. Raises InputError."""
    if now is None:
        return to_iso(datetime.fromtimestamp(int(time.time()), UTC))
    try:
        at = from_iso(now)
        if not EARLIEST_YEAR <= at.year <= LATEST_YEAR:
            raise ValueError(f"year {at.year}")
        return to_iso(at)
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"--now: {now!r} is not an ISO 8601 time.", "Use, for example, 2026-11-30T02:00:00Z."
        ) from error


def learnt(ledger: Path | None) -> tuple[Experience, ...]:
    """What the runs of a ledger taught; of the state directory's, unless another is named. Raises InputError."""
    path = ledger or state_of(None).root / "ledger.db"
    if not path.exists():
        if ledger is not None:
            raise InputError(f"--ledger: {ledger} does not exist.", "Name a cluster's ledger.db, or leave it out.")
        return ()
    from orchestrator.ledger.experience import read_experience

    try:
        return read_experience(path)
    except InputError as error:
        if ledger is not None:
            raise
        typer.echo(f"warning: planned without earlier runs: {error}", err=True)
        return ()
