"""What drivers and users ask of the controller."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from orchestrator.control.admit import NewRun, NextAttempt, SameAttempt, admit
from orchestrator.control.assign import RefusedError, assign, check_placeable, selector
from orchestrator.control.changes import changes
from orchestrator.control.controller import FAILURES_KEPT, LOG, Controller
from orchestrator.control.measured import measured
from orchestrator.control.planning import Planned
from orchestrator.control.world import UnreachableError
from orchestrator.ledger import catalogs, events, pools, runs
from orchestrator.ledger.catalogs import CatalogText
from orchestrator.ledger.experience import as_event
from orchestrator.model.assignment import Assignment
from orchestrator.model.error import OperationError
from orchestrator.model.event import Event
from orchestrator.model.instant import to_iso
from orchestrator.model.job import BatchJob, Job, Kind, ServeJob
from orchestrator.model.run import Attempt, AttemptState, Run, RunState
from orchestrator.policy import candidates
from orchestrator.policy.observed import Driver
from orchestrator.policy.schedule import local_date

DRIVERS = {Kind.TRAIN: "python -m jobs.finetune", Kind.BATCH: "python -m jobs.batch_infer"}


class UnknownError(OperationError):
    """No such job or run."""


def apply_catalog(controller: Controller, source: CatalogText) -> tuple[Planned, tuple[str, ...]]:
    """Make a catalog the one that counts; returns its plan and what it changes. CatalogFaultsError changes nothing."""
    with controller.quiet():
        before = controller.applied()
        planned = controller.replan(source)
        now = controller.clock()
        controller.offer_nodes(planned)
        schedules = [
            (job.name, job.schedule) for job in planned.catalog.jobs if isinstance(job, BatchJob) and job.schedule
        ]
        told = changes(before, planned)
        with controller.database.write() as connection:
            catalogs.apply(connection, source, to_iso(now))
            catalogs.mark_schedules(connection, schedules, to_iso(now))
            message = f"{source.file}: {'; '.join(told) or 'no change'}"
            events.append(connection, Event(at=to_iso(now), kind="applied", message=message))
        return planned, told


def begin_run(
    controller: Controller,
    job_name: str,
    submission_id: str,
    own: CatalogText | None,
    *,
    kind: str | None = None,
) -> Assignment:
    """The assignment of a driver that just started, for jobs of `kind` (None = any); RefusedError when it must not go
    on."""
    with controller.quiet():
        now = controller.clock()
        planned = _planned(controller, own)
        job = _job(planned, job_name)
        if kind is not None and job.kind.value != kind:
            raise RefusedError(f"{job_name} is a {job.kind.value} job.", f"Submit it with {DRIVERS[job.kind]}.")
        check_placeable(planned, job)
        with controller.database.read() as connection:
            going_on = [run for run in runs.of_job(connection, job_name) if run.state is RunState.OPEN]
        # A user's driver may be for any day; a scheduled one is for the day of its start.
        scheduled = bool(going_on) and going_on[-1].scheduled_for is not None
        date = _date(job, going_on[-1]) if scheduled else None
        missing = controller.models.missing_inputs(job, planned.catalog, date=date, fresh=True)
        if missing:
            raise RefusedError(f"{job_name} cannot start: {missing}.")
        drivers = controller.world.drivers()
        driver = next((one for one in drivers if one.submission_id == submission_id), None)
        if driver is not None:
            _keep_package(controller, driver)
        with controller.database.write() as connection:
            run, attempt = _admitted(connection, planned, job, driver, drivers, now)
            return _begin(connection, planned, job, run, attempt, now)


def report_event(controller: Controller, run_id: str, kind: str, message: str, data: dict[str, Any]) -> int:
    """Note what a driver tells of its run; returns the event's number. A run that is finished is closed at once."""
    with controller.quiet():
        at = to_iso(controller.clock())
        with controller.database.write() as connection:
            run = runs.get(connection, run_id)
            if run is None:
                raise UnknownError(f"there is no run {run_id}.")
            event = Event(
                at=at, kind=kind, message=message, job=run.job, run_id=run_id, data=tuple(sorted(data.items()))
            )
            number = events.append(connection, event)
            last = run.last
            if last is not None and kind == "finished":
                runs.end_attempt(connection, run_id, last.number, AttemptState.SUCCEEDED, message, at)
                runs.close(connection, run_id, RunState.SUCCEEDED, message, at)
                _learn(controller, connection, run, at)
            elif last is not None and kind == "failed" and not last.submission_id:
                # Nobody else will tell how this driver ended: it was not submitted to Ray.
                runs.end_attempt(connection, run_id, last.number, AttemptState.FAILED, message, at)
                runs.close(connection, run_id, RunState.FAILED, message, at)
            return number


def _learn(controller: Controller, connection: Connection, run: Run, at: str) -> None:
    """Keep what a finished run says of its estimate, for the next plan."""
    if run.emulated:
        return
    planned = controller.applied()
    one = measured(planned, run, events.of_run(connection, run.run_id)) if planned is not None else None
    if one is not None:
        events.append(connection, as_event(one, at=at, job=run.job, run_id=run.run_id))


def _planned(controller: Controller, own: CatalogText | None) -> Planned:
    if own is not None:
        planned = controller.plan(own)
        controller.offer_nodes(planned)
        return planned
    planned_or_none = controller.applied()
    if planned_or_none is None:
        raise RefusedError("no catalog is applied.", "Run `orchestrator apply CATALOG`, or give the driver --catalog.")
    return planned_or_none


def _job(planned: Planned, name: str) -> Job:
    job = planned.catalog.job(name)
    if job is None:
        known = ", ".join(one.name for one in planned.catalog.jobs) or "none"
        raise UnknownError(f"the catalog has no job {name} (it has: {known}).", "Apply a catalog that has it.")
    if isinstance(job, ServeJob):
        raise RefusedError(f"{name} is a service.", "`orchestrator apply` deploys it; there is nothing to submit.")
    return job


def _keep_package(controller: Controller, driver: Driver) -> None:
    """Without its working directory the run could not be resubmitted; it can still begin."""
    try:
        controller.world.keep_package(driver.runtime_env_json)
    except UnreachableError as error:
        LOG.warning("no copy of the working directory of %s: %s", driver.submission_id, error)


def _admitted(
    connection: Connection,
    planned: Planned,
    job: Job,
    driver: Driver | None,
    drivers: tuple[Driver, ...],
    now: datetime,
) -> tuple[Run, Attempt]:
    """The run and attempt that the driver becomes, as they stand in the ledger now."""
    submission_id = driver.submission_id if driver else ""
    open_runs = [run for run in runs.of_job(connection, job.name) if run.state is RunState.OPEN]
    admission = admit(open_runs, drivers, submission_id)
    match admission:
        case SameAttempt(run=run, attempt=attempt):
            # A user's own driver may take the place of one that was planned but not yet started.
            runs.change_attempt(connection, run.run_id, attempt.number, submission_id=submission_id)
            return run, attempt
        case NextAttempt(run=run, number=number):
            if run.last is not None:
                reason = "its driver is gone; another one goes on"
                runs.end_attempt(connection, run.run_id, run.last.number, AttemptState.DIED, reason, to_iso(now))
        case NewRun():
            run, number = _new_run(connection, planned, job, driver, now), 1
    attempt = Attempt(
        run_id=run.run_id,
        number=number,
        submission_id=submission_id,
        state=AttemptState.PLANNED,
        planned_at=to_iso(now),
    )
    runs.add_attempt(connection, attempt)
    return run, attempt


def _new_run(connection: Connection, planned: Planned, job: Job, driver: Driver | None, now: datetime) -> Run:
    catalogs.store(connection, planned.source)
    taken = {run.run_id for run in runs.of_job(connection, job.name)}
    name = f"{job.name}-{now:%Y%m%dT%H%M%SZ}"
    run_id = next(one for one in (name, *(f"{name}-{n}" for n in range(2, len(taken) + 3))) if one not in taken)
    run = Run(
        run_id=run_id,
        job=job.name,
        kind=job.kind,
        state=RunState.OPEN,
        created_at=to_iso(now),
        ended_at=None,
        scheduled_for=None,
        catalog_hash=planned.source.hash,
        entrypoint=driver.entrypoint if driver else "",
        runtime_env_json=driver.runtime_env_json if driver else "{}",
        emulated=planned.emulated,
    )
    runs.add(connection, run)
    return run


def _begin(connection: Connection, planned: Planned, job: Job, run: Run, attempt: Attempt, now: datetime) -> Assignment:
    """Give the attempt its place and note that its driver runs."""
    offers = planned.offers(job.name)
    failures = pools.failures_since(connection, to_iso(now - FAILURES_KEPT))
    kept = attempt.offer if attempt.offer in offers else None
    offer_name = kept or candidates.pick(offers, failures, now) or offers[0]
    offer = next(one for one in planned.prices.offers if one.name == offer_name)
    again = attempt.state is AttemptState.RUNNING
    runs.change_attempt(
        connection,
        run.run_id,
        attempt.number,
        state=AttemptState.RUNNING,
        began_at=attempt.began_at or to_iso(now),
        offer=offer_name,
        selector=selector(offer),
    )
    if not again:
        message = f"attempt {attempt.number} begins on {offer_name}"
        event = Event(at=to_iso(now), kind="began", message=message, job=job.name, run_id=run.run_id)
        events.append(connection, event)
    return assign(planned, job, offer_name, run_id=run.run_id, attempt=attempt.number, date=_date(job, run))


def _date(job: Job, run: Run) -> str:
    """The day a run is for: of its scheduled start, else of its beginning; in the schedule's time zone, else in UTC."""
    start = run.scheduled_for or run.created_at
    if isinstance(job, BatchJob) and job.schedule:
        return local_date(job.schedule, start)
    return start[:10]
