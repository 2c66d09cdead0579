"""Answers from the ledger: status, events and cost; the same with and without a running controller."""

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from orchestrator.control.controller import Controller
from orchestrator.control.planning import Planned
from orchestrator.control.status import (
    JobStatus,
    Status,
    job_status,
    node_statuses,
    service_job_status,
    service_statuses,
    unseen_note,
)
from orchestrator.control.world import WorldView
from orchestrator.ledger import catalogs, events, nodes, report, runs
from orchestrator.ledger.database import Database
from orchestrator.ledger.report import Bill, Line
from orchestrator.model.instant import to_iso
from orchestrator.model.job import BatchJob, Kind
from orchestrator.policy.schedule import next_start

LOST_WORK_KINDS = ("resumed",)


def status(controller: Controller) -> Status:
    """Status as of the controller's last look."""
    now = controller.clock()
    found = read_status(
        controller.database,
        now,
        planned=controller.applied(),
        view=controller.view,
        ticked_at=controller.ticked_at,
        serve_url=controller.settings.serve_url,
    )
    return replace(found, note=unseen_note(found.ticked_at, controller.started_at, now))


def read_status(
    database: Database,
    now: datetime,
    *,
    planned: Planned | None = None,
    view: WorldView | None = None,
    ticked_at: str | None = None,
    serve_url: str = "",
) -> Status:
    """Status from the ledger; without a plan and a view it tells of past runs and their cost."""
    with database.read() as connection:
        intervals = nodes.all_intervals(connection)
        uses = nodes.all_uses(connection)
        every = runs.every(connection)
        current = catalogs.current(connection)
        bill = _bill(connection, now)
        by_job: dict[str, list[Any]] = {}
        for run in every:
            by_job.setdefault(run.job, []).append(run)
        kinds = {name: found[-1].kind for name, found in by_job.items()}
        schedules = {}
        if planned is not None:
            kinds.update({job.name: job.kind for job in planned.catalog.jobs})
            schedules = {
                job.name: job.schedule for job in planned.catalog.jobs if isinstance(job, BatchJob) and job.schedule
            }
        jobs: list[JobStatus] = []
        for name in sorted(kinds):
            if kinds[name] is Kind.SERVE:
                waiting = events.last(connection, "waiting", job=name)
                app = next((one for one in (view.apps if view else ()) if one.name == name), None)
                jobs.append(service_job_status(name, app, waiting.message if waiting else "", bill))
                continue
            found = by_job.get(name, [])
            told = events.of_run(connection, found[-1].run_id) if found else ()
            due = next_start(schedules[name], now) if name in schedules else None
            jobs.append(job_status(name, kinds[name], found, told, bill, due))
    running = node_statuses(intervals, uses, view)
    return Status(
        at=to_iso(now),
        catalog=current[0].file if current else "",
        ticked_at=ticked_at,
        usd_per_hour=sum((node.usd_per_hour for node in running), Decimal(0)),
        usd=bill.total.usd,
        emulated=bill.total.emulated,
        nodes=running,
        jobs=tuple(jobs),
        services=service_statuses(view, serve_url),
    )


def events_json(database: Database, after: int, *, job: str = "", limit: int = 1000) -> list[dict[str, Any]]:
    """Events with a number above `after`, oldest first."""
    with database.read() as connection:
        found = events.after(connection, after, job=job, limit=limit)
    return [
        {"id": number, **asdict(event), "data": {key: _json(value) for key, value in event.data}}
        for number, event in found
    ]


def _json(value: Any) -> Any:
    """JSON has no word for infinity and "not a number", which older versions let in: they become text."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def read_bill(database: Database, now: datetime) -> Bill:
    """The bill up to `now`."""
    with database.read() as connection:
        return _bill(connection, now)


def cost_json(database: Database, now: datetime) -> dict[str, Any]:
    """The bill for machines: amounts in USD as numbers, with six decimals at most."""
    found = read_bill(database, now)
    return {
        "as_of": found.as_of,
        "currency": "USD",
        "emulated": found.total.emulated,
        "lines": [_line_json(line) for line in found.lines],
        "idle": _line_json(found.idle),
        "total": _line_json(found.total),
    }


def _bill(connection: Any, now: datetime) -> Bill:
    return report.bill(
        nodes.all_intervals(connection),
        nodes.all_uses(connection),
        runs.every(connection),
        events.of_kinds(connection, *LOST_WORK_KINDS),
        now,
    )


def _line_json(line: Line) -> Mapping[str, Any]:
    money = {"usd": line.usd, "on_demand_usd": line.on_demand_usd, "saved_usd": line.saved_usd}
    return {**asdict(line), **{name: float(amount) for name, amount in money.items()}}
