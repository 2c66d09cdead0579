"""The controller's actions: recorded before they are done, so that a killed controller forgets and repeats none."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from orchestrator.ledger.tables import actions
from orchestrator.model.instant import from_iso, to_iso

RETRY_BASE_S, RETRY_CAP_S = 2.0, 60.0
"""A failed action is tried again after 2, 4, 8, … and at most 60 seconds."""


class ActionState(StrEnum):
    """PLANNED = recorded, perhaps under way when a controller was killed."""

    PLANNED = "planned"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRecord:
    """A recorded action. `tries` counts failures, the last of which said `error`."""

    id: str
    kind: str
    state: ActionState
    tries: int
    error: str
    tried_at: str | None
    done_at: str | None


def record(connection: Connection, action: Any, now: datetime, *, done: bool = False) -> bool:
    """Record an action (a dataclass with an `id`); True = go ahead, False = it was done before or is to wait.

    `done` = the caller carries it out inside this very transaction.
    """
    at = to_iso(now)
    known = get(connection, action.id)
    if known is None:
        state = ActionState.DONE if done else ActionState.PLANNED
        row = {"id": action.id, "kind": type(action).__name__, "payload": asdict(action), "state": state}
        times = {"planned_at": at, "tried_at": at, "done_at": at if done else None}
        connection.execute(insert(actions).values({**row, **times, "tries": 0, "error": ""}))
        return True
    if known.state is ActionState.DONE:
        return False
    if known.state is ActionState.FAILED and known.tried_at is not None:
        wait_s = min(RETRY_CAP_S, RETRY_BASE_S * 2 ** (known.tries - 1))
        return now >= from_iso(known.tried_at) + timedelta(seconds=wait_s)
    return True


def mark_done(connection: Connection, action_id: str, at: str) -> None:
    """The action has been carried out."""
    connection.execute(
        update(actions).where(actions.c.id == action_id).values(state=ActionState.DONE, done_at=at, error="")
    )


def mark_failed(connection: Connection, action_id: str, at: str, error: str) -> int:
    """The action failed; returns how often it has failed so far."""
    connection.execute(
        update(actions)
        .where(actions.c.id == action_id)
        .values(state=ActionState.FAILED, tried_at=at, error=error, tries=actions.c.tries + 1)
    )
    return int(connection.execute(select(actions.c.tries).where(actions.c.id == action_id)).scalar_one())


def get(connection: Connection, action_id: str) -> ActionRecord | None:
    """The action with that id, or None."""
    row = connection.execute(select(actions).where(actions.c.id == action_id)).one_or_none()
    if row is None:
        return None
    return ActionRecord(
        id=row.id,
        kind=row.kind,
        state=ActionState(row.state),
        tries=row.tries,
        error=row.error,
        tried_at=row.tried_at,
        done_at=row.done_at,
    )


def last_done(connection: Connection, kind: str) -> tuple[dict[str, Any], str, int] | None:
    """The newest done action of a kind: its payload, when it was done, how many of the kind are done; None = none."""
    done = (actions.c.kind == kind) & (actions.c.state == ActionState.DONE)
    row = connection.execute(select(actions).where(done).order_by(actions.c.done_at.desc()).limit(1)).one_or_none()
    if row is None:
        return None
    count = connection.execute(select(func.count()).select_from(actions).where(done)).scalar_one()
    return dict(row.payload), row.done_at, int(count)
