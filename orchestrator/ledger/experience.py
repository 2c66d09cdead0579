"""What the ledger's own runs teach about the estimates."""

import math
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, StaticPool, create_engine
from sqlalchemy.exc import DBAPIError

from orchestrator.estimate.calibration import Experience
from orchestrator.ledger import events
from orchestrator.ledger.read_only import VERSION_TABLE, columns_of, connect_read_only, tables_of
from orchestrator.ledger.tables import events as events_table
from orchestrator.model.error import InputError
from orchestrator.model.event import Event

READ_TIMEOUT_S = 10.0
"""How long a look into a ledger waits for another process to let go of the file."""

EVENT_COLUMNS = frozenset(column.name for column in events_table.columns)

_FIX = "Name the ledger.db of a cluster's state directory."

MEASURED = "measured"
"""Kind of the events that hold an experience; runs on emulated nodes never get one."""


def experience(connection: Connection) -> tuple[Experience, ...]:
    """All experience of the ledger, oldest first; events of another form (of an older version) are passed over."""
    found = (_experience(event) for event in events.of_kinds(connection, MEASURED))
    return tuple(one for one in found if one is not None)


def read_experience(path: Path) -> tuple[Experience, ...]:
    """The experience in a ledger file that is only read, by whatever version it was made; InputError when it is no
    ledger or cannot be read."""
    try:
        with closing(connect_read_only(path, READ_TIMEOUT_S)) as raw:
            if VERSION_TABLE not in tables_of(raw) or not columns_of(raw, events_table.name) >= EVENT_COLUMNS:
                raise InputError(f"{path} is not a ledger.", _FIX)
            engine = create_engine("sqlite://", creator=lambda: raw, poolclass=StaticPool)
            with engine.connect() as connection:
                return experience(connection)
    except (sqlite3.Error, DBAPIError, ValueError) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        raise InputError(f"{path} cannot be read as a ledger: {_why(path, cause)}.", _FIX) from error


def _why(path: Path, cause: BaseException | None) -> str:
    """SQLite says of everything it cannot open that it is "unable to open database file"."""
    try:
        with path.open("rb"):
            return str(cause)
    except OSError as error:
        return error.strerror or str(error)


def as_event(one: Experience, *, at: str, job: str, run_id: str) -> Event:
    """The event that keeps an experience."""
    faster = "as fast as" if one.speed_ratio == 1 else f"{one.speed_ratio:.2f} times as fast as"
    return Event(
        at=at,
        kind=MEASURED,
        message=f"ran {faster} estimated on {one.accelerator}",
        job=job,
        run_id=run_id,
        data=(
            ("accelerator", one.accelerator),
            ("family", one.family),
            ("speed_ratio", one.speed_ratio),
            ("task", one.task),
        ),
    )


def _experience(event: Event) -> Experience | None:
    data = dict(event.data)
    ratio = data.get("speed_ratio")
    names = [data.get(key) for key in ("family", "accelerator", "task")]
    if not isinstance(ratio, int | float) or not all(isinstance(name, str) for name in names):
        return None
    if not math.isfinite(ratio) or ratio <= 0:
        return None
    return Experience(family=str(names[0]), accelerator=str(names[1]), task=str(names[2]), speed_ratio=float(ratio))
