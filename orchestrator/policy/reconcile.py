"""decide(): from what is observed to what is done next. Every rule looks at one run, one schedule or Serve."""

from collections.abc import Iterator
from datetime import datetime

from orchestrator.model.instant import from_iso
from orchestrator.model.job import BatchJob, ServeJob, TrainJob
from orchestrator.model.run import Attempt, AttemptState, Run, RunState
from orchestrator.policy import candidates
from orchestrator.policy.action import (
    Action,
    BlameOffer,
    CloseRun,
    DeployServices,
    MoveToNext,
    OpenRun,
    SkipStart,
    StartDriver,
    StopDriver,
    Wait,
)
from orchestrator.policy.observed import Driver, FollowedRun, Observed
from orchestrator.policy.retry import RetryRule, after_end, ending
from orchestrator.policy.schedule import due_start

REDEPLOY_AFTER_S = 30.0
"""How long Serve may take to show an application it was given before it is handed over again."""

RETRY = RetryRule()

LEFT_BEHIND = frozenset({AttemptState.MOVED, AttemptState.STOPPED, AttemptState.DIED})
"""Attempts whose driver must not live on. A SUCCEEDED one may: it reported its end and is tidying up."""


def decide(observed: Observed, now: datetime) -> tuple[Action, ...]:
    """Everything to do now, in a stable order: runs by id, then schedules and services by name."""
    actions: list[Action] = []
    for followed in sorted(observed.runs, key=lambda followed: followed.run.run_id):
        actions.extend(_run(observed, followed, now))
    actions.extend(_schedules(observed, now))
    actions.extend(_services(observed, now))
    return tuple(actions)


def _run(observed: Observed, followed: FollowedRun, now: datetime) -> Iterator[Action]:
    """One run: stop what was left behind, start what is planned, follow what runs, answer what ended."""
    run, last = followed.run, followed.run.last
    if observed.drivers is None or last is None:
        return
    drivers = {driver.submission_id: driver for driver in observed.drivers}
    left_alive = list(_stops(run, drivers))
    yield from left_alive
    if run.state is not RunState.OPEN:
        return
    driver = drivers.get(last.submission_id)
    if last.state is AttemptState.PLANNED and driver is None and last.submitted_at is None:
        if not left_alive and (last.not_before is None or now >= from_iso(last.not_before)):
            yield StartDriver(run_id=run.run_id, attempt=last.number, submission_id=last.submission_id)
    elif driver is not None and driver.status.alive and not last.state.over:
        yield from _alive(observed, followed, last, now)
    elif last.submission_id:
        again = _resubmittable(followed)
        yield after_end(run.attempts, driver, ending(driver), resubmittable=again, rule=RETRY, now=now)


def _stops(run: Run, drivers: dict[str, Driver]) -> Iterator[StopDriver]:
    """Drivers of attempts that are over for us, but not for Ray."""
    for attempt in run.attempts:
        driver = drivers.get(attempt.submission_id)
        if driver is not None and driver.status.alive and attempt.state in LEFT_BEHIND:
            yield StopDriver(
                run_id=run.run_id, attempt=attempt.number, submission_id=attempt.submission_id, reason=attempt.reason
            )


def _alive(observed: Observed, followed: FollowedRun, last: Attempt, now: datetime) -> Iterator[Action]:
    """A live driver: over its time, or without capacity for too long?"""
    run, job = followed.run, followed.job
    limit_s = job.max_duration_s if isinstance(job, TrainJob | BatchJob) else None
    age_s = (now - from_iso(run.created_at)).total_seconds()
    if limit_s is not None and age_s > limit_s:
        reason = f"longer than max_duration ({limit_s:g} s)"
        yield CloseRun(run_id=run.run_id, attempt=last.number, state=RunState.STOPPED, reason=reason)
        return
    if last.pending_since is None:
        return
    waited_s = (now - from_iso(last.pending_since)).total_seconds()
    if waited_s <= observed.stall_after_s:
        return
    following = candidates.pick(followed.offers, observed.pool_failures, now, leaving=last.offer)
    if following is None or not run.entrypoint:
        reason = f"no capacity of {last.offer}, and no other candidate"
        yield Wait(job=run.job, key=f"{run.run_id}:{last.number}", reason=reason)
        return
    yield MoveToNext(
        run_id=run.run_id,
        attempt=last.number + 1,
        from_offer=last.offer,
        to_offer=following,
        waited_s=waited_s,
    )


def _resubmittable(followed: FollowedRun) -> bool:
    """Whether we know how to start the driver again and the catalog lets us."""
    job = followed.job
    wanted = job.checkpoint.recovery == "auto-restart" if isinstance(job, TrainJob) else True
    return bool(followed.run.entrypoint) and wanted


def _schedules(observed: Observed, now: datetime) -> Iterator[Action]:
    """Scheduled batch jobs whose start is due."""
    if observed.catalog is None:
        return
    marks = dict(observed.schedule_marks)
    busy = {followed.run.job for followed in observed.runs if followed.run.state is RunState.OPEN}
    missing = dict(observed.inputs_missing)
    for job in observed.catalog.jobs:
        if not isinstance(job, BatchJob) or job.schedule is None or job.name not in marks:
            continue
        start = due_start(job.schedule, marks[job.name], now)
        if start is None:
            continue
        if job.name in busy:
            if job.schedule.overlap == "skip":
                yield SkipStart(job=job.name, start=start, reason="the previous run still goes on")
        elif job.name in missing:
            yield Wait(job=job.name, key=start, reason=missing[job.name])
        else:
            yield OpenRun(job=job.name, start=start, late_s=(now - from_iso(start)).total_seconds())


def _services(observed: Observed, now: datetime) -> Iterator[Action]:
    """Serve as the catalog says: deploy when the content differs or an application is gone."""
    serving = observed.serving
    names = {job.name for job in observed.catalog.jobs if isinstance(job, ServeJob)} if observed.catalog else set()
    for job, reason in serving.waits_for:
        if job in names:
            yield Wait(job=job, key="deploy", reason=reason)
    yield from _blames(observed, now)
    lost = [app for app in serving.wanted_apps if app not in serving.present_apps]
    if not serving.wanted_hash or not (serving.wanted_apps or serving.present_apps):
        return
    if serving.wanted_hash != serving.deployed_hash:
        reason = "the catalog, a model or its place changed" if serving.deployed_hash else "first deployment"
    elif lost and _quiet_for_s(serving.deployed_at, now) > REDEPLOY_AFTER_S:
        reason = f"Serve does not have {', '.join(lost)}"
    else:
        return
    yield DeployServices(
        wanted_hash=serving.wanted_hash, ordinal=serving.deploys + 1, offers=serving.wanted_offers, reason=reason
    )


def _blames(observed: Observed, now: datetime) -> Iterator[BlameOffer]:
    """Models of services that waited too long for an offer, where there is another to try."""
    for stalled in observed.serving.stalled:
        waited_s = (now - from_iso(stalled.since)).total_seconds()
        if waited_s > observed.stall_after_s and stalled.alternatives:
            yield BlameOffer(
                job=stalled.job, part=stalled.part, offer=stalled.offer, since=stalled.since, waited_s=waited_s
            )


def _quiet_for_s(since: str | None, now: datetime) -> float:
    return float("inf") if since is None else (now - from_iso(since)).total_seconds()
