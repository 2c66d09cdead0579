"""From what was seen to the ledger: node intervals, who used which node, waits for capacity, and their events."""

from collections.abc import Sequence

from sqlalchemy import Connection

from orchestrator.control.waits import waits_in_vain
from orchestrator.control.world import ServedApp, WorldView
from orchestrator.ledger import events, nodes, runs
from orchestrator.model.event import Event
from orchestrator.model.job import Kind
from orchestrator.model.node import NodeInterval
from orchestrator.model.run import AttemptState, Run, RunState

INTERRUPTED = "interrupted-"
"""Start of the end reasons of nodes that were taken away."""

OTHER = "other"
"""Job name and kind of drivers that took no assignment from us."""


def record(connection: Connection, view: WorldView, at: str) -> None:
    """Write down one look at the world."""
    record_intervals(connection, view.intervals)
    followed = runs.of_submissions(connection, [driver.submission_id for driver in view.drivers])
    uses = seen_uses(view, followed)
    nodes.record_uses(connection, uses, at)
    _record_waits(connection, view, followed, {consumer for _, _, consumer, _ in uses}, at)
    _record_notices(connection, view)
    for app in view.apps:
        _record_app(connection, app, at)


def record_intervals(connection: Connection, intervals: Sequence[NodeInterval]) -> None:
    """Bring node intervals up to date, with an event for each node that came or went."""
    for interval in nodes.record_intervals(connection, intervals):
        where = f"{interval.instance_type} {interval.market.value} in {interval.zone}"
        price = f"${interval.price_usd_per_hour}/h{' (emulated)' if interval.emulated else ''}"
        if interval.ended_at is None:
            kind, message, when = "node-started", f"{where} at {price}", interval.started_at
        else:
            kind, message, when = "node-ended", f"{where}: {interval.end_reason}", interval.ended_at
        events.append(connection, Event(at=when, kind=kind, message=message, node_id=interval.node_id))


def seen_uses(view: WorldView, followed: Sequence[Run]) -> tuple[tuple[str, str, str, str], ...]:
    """Who is on which node, the head aside: (job, kind, consumer, node id), each once."""
    heads = {node.node_id for node in view.nodes if node.head}
    submissions = {driver.ray_job_id: driver.submission_id for driver in view.drivers if driver.ray_job_id}
    by_submission = {attempt.submission_id: run for run in followed for attempt in run.attempts}
    seen: set[tuple[str, str, str, str]] = set()
    for worker in view.workers:
        submission = submissions.get(worker.ray_job_id)
        if submission is None or worker.node_id in heads:
            continue
        run = by_submission.get(submission)
        owner = (run.job, run.kind.value, run.run_id) if run else (OTHER, OTHER, submission)
        seen.add((*owner, worker.node_id))
    for app in view.apps:
        seen.update((app.name, Kind.SERVE.value, app.name, node) for node in app.replica_nodes if node not in heads)
    return tuple(sorted(seen))


def _record_waits(connection: Connection, view: WorldView, followed: Sequence[Run], working: set[str], at: str) -> None:
    """An attempt waits while it asks for capacity, has none and none is booting."""
    for run in followed:
        last = run.last
        if run.state is not RunState.OPEN or last is None or last.state is not AttemptState.RUNNING:
            continue
        waits = run.run_id not in working and waits_in_vain(view, dict(last.selector), at)
        if waits and last.pending_since is None:
            runs.change_attempt(connection, run.run_id, last.number, pending_since=at)
        elif not waits and last.pending_since is not None:
            runs.change_attempt(connection, run.run_id, last.number, pending_since=None)


def _record_notices(connection: Connection, view: WorldView) -> None:
    for notice in view.notices:
        if events.last(connection, notice.kind, node_id=notice.node_id) is None:
            message = f"the node is told that it {'goes' if 'interruption' in notice.kind else 'may go'} at {notice.at}"
            event = Event(at=notice.at, kind=notice.kind, message=message, node_id=notice.node_id)
            events.append(connection, event)


def _record_app(connection: Connection, app: ServedApp, at: str) -> None:
    """An event when an application's status changed."""
    before = events.last(connection, "service", job=app.name)
    if before is None or dict(before.data).get("status") != app.status:
        detail = f": {app.message.strip().splitlines()[-1]}" if app.message.strip() else ""
        message = f"{app.name} is {app.status}{detail}"
        event = Event(at=at, kind="service", message=message, job=app.name, data=(("status", app.status),))
        events.append(connection, event)
