"""The controller: one loop that observes, decides, records and acts."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from orchestrator.control import effects, record
from orchestrator.control.effects import Context
from orchestrator.control.planning import Models, Planned, Planner
from orchestrator.control.serving import Deployed, Wanted, wanted
from orchestrator.control.stalls import ServiceStalls
from orchestrator.control.world import Submission, UnreachableError, World, WorldView
from orchestrator.ledger import actions, catalogs, pools, runs
from orchestrator.ledger.catalogs import CatalogText
from orchestrator.ledger.database import Database
from orchestrator.model.error import InputError, OperationError, OrchestratorError
from orchestrator.model.instant import to_iso
from orchestrator.model.job import BatchJob
from orchestrator.model.run import Run, RunState
from orchestrator.policy.action import Action, DeployServices, StartDriver, StopDriver, WorldAction
from orchestrator.policy.observed import FollowedRun, Observed, PoolFailure, Serving
from orchestrator.policy.reconcile import decide
from orchestrator.policy.schedule import due_start, local_date

LOG = logging.getLogger("orchestrator.control")

FAILURES_KEPT = timedelta(hours=1)
"""Pool failures older than this no longer matter: six half-lives."""


class BusyError(OperationError):
    """A request cannot be served now; nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What differs between clusters. `stall_after_s` is how long to wait for capacity before the next candidate;
    `patience_s`, how long a request waits for a tick to end.
    """

    serve_url: str
    stall_after_s: float = 90.0
    tick_s: float = 2.0
    patience_s: float = 20.0


class Controller:
    """State lives in the ledger; this object holds only the applied plan and what it saw last."""

    def __init__(
        self,
        *,
        database: Database,
        world: World,
        planner: Planner,
        models: Models,
        clock: Callable[[], datetime],
        settings: Settings,
    ) -> None:
        self.database = database
        self.world = world
        self.planner = planner
        self.models = models
        self.clock = clock
        self.settings = settings
        self.view: WorldView | None = None
        self.ticked_at: str | None = None
        self.started_at = to_iso(clock())
        self._lock = threading.RLock()
        self._plans: dict[str, Planned] = {}
        self._unplannable: set[str] = set()
        self._stalls = ServiceStalls()

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """No tick runs meanwhile: what was seen and what is decided belong together. BusyError when one does not
        end."""
        if not self._lock.acquire(timeout=self.settings.patience_s):
            since = f"has not seen the cluster since {self.ticked_at[11:19]} UTC" if self.ticked_at else "just began"
            raise BusyError(
                f"the controller has been busy for {self.settings.patience_s:g} s and {since};",
                "try again in a minute, and see `orchestrator status`.",
            )
        try:
            yield
        finally:
            self._lock.release()

    def applied(self) -> Planned | None:
        """The applied catalog with its plan; None while there is none, or it no longer plans."""
        with self.database.read() as connection:
            current = catalogs.current(connection)
        return None if current is None else self._plan_or_none(current[0])

    def plan(self, source: CatalogText) -> Planned:
        """The plan of a catalog, made once; CatalogFaultsError when it has faults."""
        known = self._plans.get(source.hash)
        if known is None:
            known = self._plans[source.hash] = self.planner(source, self.clock())
        return known

    def _plan_or_none(self, source: CatalogText) -> Planned | None:
        """The plan of a catalog that had one once; None, told once, when a newer version finds faults in it."""
        if source.hash in self._unplannable:
            return None
        try:
            return self.plan(source)
        except InputError as error:
            LOG.warning("%s no longer plans: %s", source.file, error)
            self._unplannable.add(source.hash)
            return None

    def replan(self, source: CatalogText) -> Planned:
        """Plan anew, as when a catalog is applied again after prices or data changed."""
        self._plans.pop(source.hash, None)
        self._unplannable.discard(source.hash)
        return self.plan(source)

    def offer_nodes(self, *more: Planned) -> None:
        """Let the cluster launch what the applied catalog, the open runs and `more` may use."""
        with self.database.read() as connection:
            open_runs = runs.of_state(connection, RunState.OPEN)
            sources = [catalogs.get(connection, run.catalog_hash) for run in open_runs]
        plans = [*more, self.applied(), *(self._plan_or_none(source) for source in sources if source)]
        unique = {planned.source.hash: planned for planned in plans if planned is not None}
        self.world.offer_nodes(tuple(unique.values()))

    def tick(self) -> tuple[Action, ...]:
        """One round: observe, record, decide, act. Returns what was decided."""
        with self._lock:
            now = self.clock()
            view = self.world.view()
            with self.database.write() as connection:
                record.record(connection, view, to_iso(now))
            self.view, self.ticked_at = view, to_iso(now)
            planned = self.applied()
            observed, services = self._observe(view, planned, now)
            decided = decide(observed, now)
            context = Context(
                now=now,
                catalog_hash=planned.source.hash if planned else "",
                emulated=planned.emulated if planned else False,
            )
            for action in decided:
                self._carry_out(action, context, services)
            return decided

    def _observe(self, view: WorldView, planned: Planned | None, now: datetime) -> tuple[Observed, Wanted | None]:
        with self.database.read() as connection:
            followed = self._followed(connection, view)
            marks = catalogs.marks(connection)
            failures = pools.failures_since(connection, to_iso(now - FAILURES_KEPT))
            deployed = _deployed(connection)
        services, serving = self._serving(view, planned, deployed, failures, now)
        observed = Observed(
            catalog=planned.catalog if planned else None,
            runs=followed,
            drivers=view.drivers,
            schedule_marks=marks,
            inputs_missing=self._inputs_missing(planned, dict(marks), now) if planned else (),
            pool_failures=failures,
            serving=serving,
            stall_after_s=self.settings.stall_after_s,
        )
        return observed, services

    def _followed(self, connection: Connection, view: WorldView) -> tuple[FollowedRun, ...]:
        """Open runs, and runs whose drivers are alive."""
        alive = [driver.submission_id for driver in view.drivers if driver.status.alive]
        found = (*runs.of_state(connection, RunState.OPEN), *runs.of_submissions(connection, alive))
        return tuple(self._follow(connection, run) for run in {run.run_id: run for run in found}.values())

    def _follow(self, connection: Connection, run: Run) -> FollowedRun:
        source = catalogs.get(connection, run.catalog_hash)
        planned = self._plan_or_none(source) if source else None
        if planned is None:
            return FollowedRun(run=run, job=None)
        return FollowedRun(run=run, job=planned.catalog.job(run.job), offers=planned.offers(run.job))

    def _inputs_missing(self, planned: Planned, marks: Mapping[str, str], now: datetime) -> tuple[tuple[str, str], ...]:
        """Why scheduled jobs that are due cannot start, where they cannot."""
        found = []
        for job in planned.catalog.jobs:
            if not isinstance(job, BatchJob) or job.schedule is None or job.name not in marks:
                continue
            start = due_start(job.schedule, marks[job.name], now)
            if start is not None:
                day = local_date(job.schedule, start)
                found.append((job.name, self.models.missing_inputs(job, planned.catalog, date=day)))
        return tuple((name, reason) for name, reason in found if reason)

    def _serving(
        self,
        view: WorldView,
        planned: Planned | None,
        deployed: Deployed,
        failures: tuple[PoolFailure, ...],
        now: datetime,
    ) -> tuple[Wanted | None, Serving]:
        if planned is None:
            return None, Serving()
        stalled = self._stalls.observe(view, planned, deployed, to_iso(now))
        services = wanted(
            planned,
            self.models,
            self.settings.serve_url,
            deployed=deployed,
            failures=failures,
            stalled=stalled,
            now=now,
        )
        return services, Serving(
            wanted_hash=services.hash,
            wanted_apps=services.apps,
            wanted_offers=services.offers,
            deployed_hash=deployed.hash,
            deployed_at=deployed.at,
            deploys=deployed.count,
            present_apps=tuple(app.name for app in view.apps),
            waits_for=services.waits_for,
            stalled=stalled,
        )

    def _carry_out(self, action: Action, context: Context, services: Wanted | None) -> None:
        """Record, then act. Decisions about the ledger alone happen in the transaction that records them."""
        if not isinstance(action, WorldAction):
            with self.database.write() as connection:
                if actions.record(connection, action, context.now, done=True):
                    effects.decided(connection, action, context)
            return
        with self.database.write() as connection:
            if not actions.record(connection, action, context.now):
                return
        try:
            self._act(action, services)
        except OrchestratorError as error:
            LOG.warning("%s: %s", action.id, error)
            with self.database.write() as connection:
                tries = actions.mark_failed(connection, action.id, context.at, str(error))
                effects.failed(connection, action, str(error), tries, context)
            if isinstance(error, UnreachableError):
                raise
            return
        with self.database.write() as connection:
            actions.mark_done(connection, action.id, context.at)
            effects.carried_out(connection, action, context)

    def _act(self, action: WorldAction, services: Wanted | None) -> None:
        match action:
            case StartDriver():
                self.world.submit(self._submission(action))
            case StopDriver():
                self.world.stop(action.submission_id)
            case DeployServices():
                assert services is not None, "only what was rendered is deployed"
                self.world.deploy(services.config)

    def _submission(self, action: StartDriver) -> Submission:
        with self.database.read() as connection:
            run = runs.get(connection, action.run_id)
        assert run is not None, "only recorded runs are started"
        return Submission(
            submission_id=action.submission_id,
            entrypoint=run.entrypoint,
            runtime_env_json=run.runtime_env_json,
            metadata=(("orchestrator_run", run.run_id), ("orchestrator_attempt", str(action.attempt))),
        )


def _deployed(connection: Connection) -> Deployed:
    last = actions.last_done(connection, DeployServices.__name__)
    if last is None:
        return Deployed()
    payload: dict[str, Any]
    payload, at, count = last
    offers = {(job, part): offer for job, part, offer in payload["offers"]}
    return Deployed(hash=payload["wanted_hash"], at=at, count=count, offers=offers)
