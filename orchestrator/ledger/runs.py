"""Runs and their attempts."""

from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from orchestrator.ledger.tables import attempts, runs
from orchestrator.model.job import Kind
from orchestrator.model.run import Attempt, AttemptState, Run, RunState


def add(connection: Connection, run: Run) -> None:
    """A new run, with the attempts it has."""
    row = {column.name: getattr(run, column.name) for column in runs.c}
    connection.execute(insert(runs).values(row))
    for attempt in run.attempts:
        add_attempt(connection, attempt)


def add_attempt(connection: Connection, attempt: Attempt) -> None:
    """A new attempt of a known run."""
    connection.execute(insert(attempts).values({column.name: getattr(attempt, column.name) for column in attempts.c}))


def change_attempt(connection: Connection, run_id: str, number: int, **values: Any) -> None:
    """Set columns of an attempt."""
    connection.execute(
        update(attempts).where(attempts.c.run_id == run_id, attempts.c.number == number).values(**values)
    )


def end_attempt(connection: Connection, run_id: str, number: int, state: AttemptState, reason: str, at: str) -> None:
    """End an attempt, unless it is over already."""
    live = attempts.c.state.in_([AttemptState.PLANNED, AttemptState.RUNNING])
    connection.execute(
        update(attempts)
        .where(attempts.c.run_id == run_id, attempts.c.number == number, live)
        .values(state=state, reason=reason, ended_at=at, pending_since=None)
    )


def close(connection: Connection, run_id: str, state: RunState, reason: str, at: str) -> None:
    """End a run, unless it has ended already."""
    connection.execute(
        update(runs)
        .where(runs.c.run_id == run_id, runs.c.state == RunState.OPEN)
        .values(state=state, reason=reason, ended_at=at)
    )


def change(connection: Connection, run_id: str, **values: Any) -> None:
    """Set columns of a run."""
    connection.execute(update(runs).where(runs.c.run_id == run_id).values(**values))


def get(connection: Connection, run_id: str) -> Run | None:
    """The run with that id, or None."""
    return next(iter(_runs(connection, runs.c.run_id == run_id)), None)


def of_state(connection: Connection, state: RunState) -> tuple[Run, ...]:
    """Runs in a state, oldest first."""
    return _runs(connection, runs.c.state == state)


def of_job(connection: Connection, job: str) -> tuple[Run, ...]:
    """Runs of a job, oldest first."""
    return _runs(connection, runs.c.job == job)


def of_submissions(connection: Connection, submission_ids: list[str]) -> tuple[Run, ...]:
    """Runs that have an attempt with one of those submission ids, oldest first."""
    having = select(attempts.c.run_id).where(attempts.c.submission_id.in_(submission_ids))
    return _runs(connection, runs.c.run_id.in_(having))


def every(connection: Connection) -> tuple[Run, ...]:
    """All runs, oldest first."""
    return _runs(connection, runs.c.run_id.is_not(None))


def _runs(connection: Connection, where: Any) -> tuple[Run, ...]:
    found = connection.execute(select(runs).where(where).order_by(runs.c.created_at, runs.c.run_id)).all()
    ids = [row.run_id for row in found]
    query = select(attempts).where(attempts.c.run_id.in_(ids)).order_by(attempts.c.number)
    by_run: dict[str, list[Attempt]] = {run_id: [] for run_id in ids}
    for row in connection.execute(query):
        by_run[row.run_id].append(_attempt(row))
    return tuple(_run(row, tuple(by_run[row.run_id])) for row in found)


def _run(row: Row[Any], tries: tuple[Attempt, ...]) -> Run:
    values = dict(row._mapping)
    return Run(**{**values, "kind": Kind(row.kind), "state": RunState(row.state), "attempts": tries})


def _attempt(row: Row[Any]) -> Attempt:
    selector = tuple((key, value) for key, value in row.selector)
    return Attempt(**{**row._mapping, "state": AttemptState(row.state), "selector": selector})
