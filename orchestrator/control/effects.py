"""What an action changes in the ledger, and the event that tells of it."""

import shlex
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from sqlalchemy import Connection

from orchestrator.ledger import catalogs, events, pools, runs
from orchestrator.model.event import Event
from orchestrator.model.instant import from_iso, to_iso
from orchestrator.model.job import Kind
from orchestrator.model.run import Attempt, AttemptState, Run, RunState
from orchestrator.policy.action import (
    BlameOffer,
    CloseRun,
    DeployServices,
    LedgerAction,
    MoveToNext,
    OpenRun,
    Resubmit,
    SkipStart,
    StartDriver,
    StopDriver,
    Wait,
    WorldAction,
)

BATCH_MODULE = "jobs.batch_infer"
"""What a scheduled batch job runs; started by its entry point, never imported."""

ENDED_AS = {
    RunState.SUCCEEDED: AttemptState.SUCCEEDED,
    RunState.FAILED: AttemptState.FAILED,
    RunState.STOPPED: AttemptState.STOPPED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What effects need beside the action."""

    now: datetime
    catalog_hash: str
    emulated: bool

    @property
    def at(self) -> str:
        """Now, as the ledger writes it."""
        return to_iso(self.now)


def decided(connection: Connection, action: LedgerAction, context: Context) -> None:
    """Carry out a decision that changes the ledger alone."""
    match action:
        case OpenRun():
            _open_run(connection, action, context)
        case SkipStart():
            catalogs.advance_mark(connection, action.job, action.start)
            _tell(connection, context, "skipped", f"start {action.start}: {action.reason}", job=action.job)
        case Wait():
            _tell(connection, context, "waiting", action.reason, job=action.job)
        case Resubmit():
            _resubmit(connection, action, context)
        case MoveToNext():
            _move(connection, action, context)
        case BlameOffer():
            pools.record_failure(connection, action.offer, context.at, action.waited_s)
            message = f"{action.part}: no capacity of {action.offer} for {action.waited_s:.0f} s"
            _tell(connection, context, "moved", message, job=action.job)
        case CloseRun():
            ended = ENDED_AS[action.state]
            runs.end_attempt(connection, action.run_id, action.attempt, ended, action.reason, context.at)
            runs.close(connection, action.run_id, action.state, action.reason, context.at)
            _tell_of_run(connection, context, action.run_id, action.state.value, action.reason)
        case _:
            assert_never(action)


def carried_out(connection: Connection, action: WorldAction, context: Context) -> None:
    """Note that the world has been changed."""
    match action:
        case StartDriver():
            runs.change_attempt(connection, action.run_id, action.attempt, submitted_at=context.at)
            message = f"attempt {action.attempt} handed to Ray as {action.submission_id}"
            _tell_of_run(connection, context, action.run_id, "submitted", message)
        case StopDriver():
            message = f"driver {action.submission_id} stopped: {action.reason}"
            _tell_of_run(connection, context, action.run_id, "driver-stopped", message)
        case DeployServices():
            _tell(connection, context, "deployed", f"services handed to Serve: {action.reason}")
        case _:
            assert_never(action)


def failed(connection: Connection, action: WorldAction, error: str, tries: int, context: Context) -> None:
    """Note that a change of the world did not succeed; a driver that cannot be started is given up after MAX_TRIES."""
    message = f"{action.id} failed for the {tries}. time: {error}"
    if isinstance(action, DeployServices):
        _tell(connection, context, "action-failed", message)
        return
    _tell_of_run(connection, context, action.run_id, "action-failed", message)
    if isinstance(action, StartDriver) and tries >= MAX_TRIES:
        runs.end_attempt(connection, action.run_id, action.attempt, AttemptState.DIED, error, context.at)


MAX_TRIES = 5


def _open_run(connection: Connection, action: OpenRun, context: Context) -> None:
    run_id = f"{action.job}-{from_iso(action.start):%Y%m%dT%H%MZ}"
    first = Attempt(run_id=run_id, number=1, submission_id=run_id, state=AttemptState.PLANNED, planned_at=context.at)
    run = Run(
        run_id=run_id,
        job=action.job,
        kind=Kind.BATCH,
        state=RunState.OPEN,
        created_at=context.at,
        ended_at=None,
        scheduled_for=action.start,
        catalog_hash=context.catalog_hash,
        entrypoint=f"python -m {BATCH_MODULE} --job {shlex.quote(action.job)}",
        runtime_env_json="{}",
        emulated=context.emulated,
        attempts=(first,),
    )
    runs.add(connection, run)
    catalogs.advance_mark(connection, action.job, action.start)
    late = f", {action.late_s:.0f} s late" if action.late_s > 60 else ""
    _tell(connection, context, "scheduled", f"start {action.start} is due{late}", job=action.job, run_id=run_id)


def _resubmit(connection: Connection, action: Resubmit, context: Context) -> None:
    ended = AttemptState.DIED if action.died else AttemptState.FAILED
    runs.end_attempt(connection, action.run_id, action.attempt - 1, ended, action.reason, context.at)
    again = _next_attempt(action.run_id, action.attempt, context)
    runs.add_attempt(connection, replace(again, not_before=action.not_before))
    message = f"attempt {action.attempt} at {action.not_before}: {action.reason}"
    _tell_of_run(connection, context, action.run_id, "resubmitted", message)


def _move(connection: Connection, action: MoveToNext, context: Context) -> None:
    reason = f"no capacity of {action.from_offer} for {action.waited_s:.0f} s"
    runs.end_attempt(connection, action.run_id, action.attempt - 1, AttemptState.MOVED, reason, context.at)
    again = _next_attempt(action.run_id, action.attempt, context)
    runs.add_attempt(connection, replace(again, offer=action.to_offer))
    pools.record_failure(connection, action.from_offer, context.at, action.waited_s)
    _tell_of_run(connection, context, action.run_id, "moved", f"{reason}: on to {action.to_offer}")


def _next_attempt(run_id: str, number: int, context: Context) -> Attempt:
    return Attempt(
        run_id=run_id,
        number=number,
        submission_id=f"{run_id}-a{number}",
        state=AttemptState.PLANNED,
        planned_at=context.at,
    )


def _tell_of_run(connection: Connection, context: Context, run_id: str, kind: str, message: str) -> None:
    run = runs.get(connection, run_id)
    _tell(connection, context, kind, message, job=run.job if run else "", run_id=run_id)


def _tell(
    connection: Connection, context: Context, kind: str, message: str, *, job: str = "", run_id: str = ""
) -> None:
    events.append(connection, Event(at=context.at, kind=kind, message=message, job=job, run_id=run_id))
