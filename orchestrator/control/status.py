"""What there is to say about the cluster and its jobs, as plain values for `status` and the API. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from orchestrator.control.world import ServedApp, WorldView
from orchestrator.ledger.report import Bill
from orchestrator.model.event import Event
from orchestrator.model.instant import from_iso
from orchestrator.model.job import Kind
from orchestrator.model.node import NodeInterval
from orchestrator.model.run import Attempt, Run, Use


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """A node that is being paid for. `used_by` names runs and services on it now; `draining` = it is about to go."""

    node_id: str
    instance_type: str
    accelerator: str | None
    market: str
    zone: str
    usd_per_hour: Decimal
    started_at: str
    emulated: bool
    draining: bool
    used_by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """A catalog entry or past job with its newest run. `state` is the run's, a service's status, or "idle".

    `progress` is the driver's newest word; `offer` where it runs; `next_start` of a schedule. `usd` is the cost so far
    of all its runs.
    """

    name: str
    kind: str
    state: str
    run_id: str
    attempt: int
    progress: str
    offer: str
    reason: str
    next_start: str | None
    usd: Decimal
    emulated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """An application as Serve reports it."""

    name: str
    status: str
    message: str
    url: str
    replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Everything `status` shows. `ticked_at` None = the controller has not looked yet, or there is none.

    `note` says in one line why the rest may be out of date, "" = it is not.
    """

    at: str
    catalog: str
    ticked_at: str | None
    usd_per_hour: Decimal
    usd: Decimal
    emulated: bool
    nodes: tuple[NodeStatus, ...]
    jobs: tuple[JobStatus, ...]
    services: tuple[ServiceStatus, ...]
    note: str = ""


UNSEEN_AFTER = timedelta(seconds=20)
"""A look at the cluster this old is worth a word: there is one every few seconds."""


def unseen_note(ticked_at: str | None, started_at: str, now: datetime) -> str:
    """That the controller has not seen the cluster for some time, since when, and what to do; "" when it has."""
    since = from_iso(ticked_at or started_at)
    if now - since <= UNSEEN_AFTER:
        return ""
    begun = "" if ticked_at else ", when it was started"
    return (
        f"the controller has not seen the cluster since {since:%H:%M:%S} UTC{begun}: what it shows may be out of date."
        " If that lasts, `orchestrator up` starts the cluster anew, or run `orchestrator down`."
    )


def node_statuses(
    intervals: Iterable[NodeInterval], uses: Sequence[Use], view: WorldView | None
) -> tuple[NodeStatus, ...]:
    """Nodes without an end, by id."""
    draining = {node.node_id for node in view.nodes if node.deadline_ms is not None} if view else set()
    return tuple(
        NodeStatus(
            node_id=one.node_id,
            instance_type=one.instance_type,
            accelerator=one.accelerator,
            market=one.market.value,
            zone=one.zone,
            usd_per_hour=one.price_usd_per_hour,
            started_at=one.started_at,
            emulated=one.emulated,
            draining=one.node_id in draining,
            used_by=tuple(sorted({use.consumer for use in uses if use.node_id == one.node_id and use.still})),
        )
        for one in sorted(intervals, key=lambda one: one.node_id)
        if one.ended_at is None
    )


def job_status(
    name: str, kind: Kind, runs: Sequence[Run], events: Sequence[Event], bill: Bill, next_start: str | None
) -> JobStatus:
    """A train or batch job by its newest run, of which `events` are."""
    run = runs[-1] if runs else None
    last = run.last if run else None
    lines = [line for line in bill.lines if line.job == name]
    told = [event for event in events if event.kind not in QUIET]
    return JobStatus(
        name=name,
        kind=kind.value,
        state=_state(run, last),
        run_id=run.run_id if run else "",
        attempt=last.number if last else 0,
        progress=told[-1].message if told else "",
        offer=last.offer if last else "",
        reason=run.reason or (last.reason if last else "") if run else "",
        next_start=next_start,
        usd=sum((line.usd for line in lines), Decimal(0)),
        emulated=any(line.emulated for line in lines),
    )


QUIET = frozenset({"submitted", "scheduled", "driver-stopped", "action-failed"})
"""Events that say nothing about how far a run is."""


def service_job_status(name: str, app: ServedApp | None, waits_for: str, bill: Bill) -> JobStatus:
    """A service by what Serve says; "waiting" with the reason while it is not deployed."""
    lines = [line for line in bill.lines if line.job == name]
    return JobStatus(
        name=name,
        kind=Kind.SERVE.value,
        state=app.status.lower() if app else "waiting" if waits_for else "not deployed",
        run_id="",
        attempt=0,
        progress="",
        offer="",
        reason=app.message if app else waits_for,
        next_start=None,
        usd=sum((line.usd for line in lines), Decimal(0)),
        emulated=any(line.emulated for line in lines),
    )


def service_statuses(view: WorldView | None, serve_url: str) -> tuple[ServiceStatus, ...]:
    """Applications with the address they answer at."""
    return tuple(
        ServiceStatus(
            name=app.name,
            status=app.status,
            message=app.message,
            url=f"{serve_url}{app.route_prefix.rstrip('/')}",
            replicas=len(app.replica_nodes),
        )
        for app in (view.apps if view else ())
    )


def _state(run: Run | None, last: Attempt | None) -> str:
    if run is None:
        return "idle"
    if last is None or last.state.over or run.ended_at is not None:
        return run.state.value
    return "waiting for capacity" if last.pending_since else last.state.value
