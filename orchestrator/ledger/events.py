"""The append-only list of what happened."""

from typing import Any

from sqlalchemy import Connection, Row, insert, select

from orchestrator.ledger.tables import events
from orchestrator.model.event import Event


def append(connection: Connection, event: Event) -> int:
    """Add an event; returns its number, which only grows."""
    row = {
        "at": event.at,
        "kind": event.kind,
        "message": event.message,
        "job": event.job,
        "run_id": event.run_id,
        "node_id": event.node_id,
        "data": dict(event.data),
    }
    result = connection.execute(insert(events).values(row))
    return int(result.inserted_primary_key[0])


def after(
    connection: Connection, number: int = 0, *, job: str = "", limit: int = 1000
) -> tuple[tuple[int, Event], ...]:
    """Events with a number above `number`, oldest first, of one job or of all."""
    query = select(events).where(events.c.id > number).order_by(events.c.id).limit(limit)
    if job:
        query = query.where(events.c.job == job)
    return tuple((row.id, _event(row)) for row in connection.execute(query))


def of_run(connection: Connection, run_id: str) -> tuple[Event, ...]:
    """All events of a run, oldest first."""
    query = select(events).where(events.c.run_id == run_id).order_by(events.c.id)
    return tuple(_event(row) for row in connection.execute(query))


def last(connection: Connection, kind: str, *, job: str = "", node_id: str = "") -> Event | None:
    """The newest event of a kind about a job or a node, or None."""
    about = (events.c.kind == kind) & (events.c.job == job) & (events.c.node_id == node_id)
    row = connection.execute(select(events).where(about).order_by(events.c.id.desc()).limit(1)).one_or_none()
    return None if row is None else _event(row)


def of_kinds(connection: Connection, *kinds: str) -> tuple[Event, ...]:
    """All events of those kinds, oldest first."""
    query = select(events).where(events.c.kind.in_(kinds)).order_by(events.c.id)
    return tuple(_event(row) for row in connection.execute(query))


def _event(row: Row[Any]) -> Event:
    return Event(
        at=row.at,
        kind=row.kind,
        message=row.message,
        job=row.job,
        run_id=row.run_id,
        node_id=row.node_id,
        data=tuple(sorted(row.data.items())),
    )
