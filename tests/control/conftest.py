"""A fake world that behaves as Ray does, as far as the controller can tell, and a controller on it.

`test_world_contract.py` runs the same expectations against this world and against a real cluster.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from orchestrator.control.controller import Controller, Settings
from orchestrator.control.plan_text import plan_text
from orchestrator.control.planning import Planned
from orchestrator.control.world import Demand, LiveNode, ServedApp, Submission, UnreachableError, Worker, WorldView
from orchestrator.ledger.catalogs import CatalogText
from orchestrator.ledger.database import open_database
from orchestrator.model.card import ModelCard
from orchestrator.model.catalog import Catalog
from orchestrator.model.error import InputError, OperationError
from orchestrator.model.job import Job
from orchestrator.policy.observed import Driver, DriverStatus

START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)

CATALOG = """\
version: 1
cluster: {provider: local, region: us-east-1, storage: ./storage, max_workers: 8}
models:
  base:
    {source: ./base, params: 135e6, layers: 30, hidden: 576, heads: 9, kv_heads: 3, head_dim: 64, context: 8192,
     dtype: fp32}
jobs:
  tune:
    {kind: train, model: base, method: lora, data: ./train.parquet, tokens: 50k, epochs: 1, precision: fp32,
     batch_size: 8, sequence_length: 128, accelerators: [T4, L4, A10G], lifecycle: spot, max_duration: 1h}
  nightly:
    {kind: batch, model: run:tune, input: ./in.parquet, output: "./out/date={date}", id_column: id,
     prompt: "{{ text }}", rows: 400, prompt_tokens: 80, output_tokens: 8, accelerators: [T4, L4, A10G],
     lifecycle: spot, schedule: {cron: "0 2 * * *", timezone: America/New_York, done_by: "06:00"}}
"""

SERVICE = """\
  chat:
    {kind: serve, models: {small: base, large: run:tune}, route: [{if: "prompt_words < 50", to: small}, {to: large}],
     traffic: {requests_per_second: 2, prompt_tokens: 80, output_tokens: 32, pattern: constant}, slo: {ttft_p99: 2s},
     replicas: {min: 1, max: 2}, accelerators: [T4, L4, A10G]}
"""


class Killed(BaseException):
    """The controller's process is gone: nothing below may catch this."""


@dataclass
class Clock:
    now: datetime = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass
class FakeWorld:
    """Ray in memory. `deeds` lists what was really done to it; `kill_at` says at which call the controller dies."""

    known: dict[str, Driver] = field(default_factory=dict)
    apps: dict[str, ServedApp] = field(default_factory=dict)
    nodes: list[LiveNode] = field(default_factory=list)
    workers: list[Worker] = field(default_factory=list)
    demands: list[Demand] = field(default_factory=list)
    notices: list[Any] = field(default_factory=list)
    intervals: list[Any] = field(default_factory=list)
    deeds: list[str] = field(default_factory=list)
    offered: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    packages: list[str] = field(default_factory=list)
    away: bool = False
    refuses: str = ""
    kill_at: str = ""

    def view(self) -> WorldView:
        return WorldView(
            drivers=self.drivers(),
            nodes=tuple(self.nodes),
            workers=tuple(self.workers),
            demands=tuple(self.demands),
            apps=tuple(self.apps[name] for name in sorted(self.apps)),
            notices=tuple(self.notices),
            intervals=tuple(self.intervals),
        )

    def drivers(self) -> tuple[Driver, ...]:
        self._reachable()
        return tuple(self.known.values())

    def submit(self, submission: Submission) -> None:
        self._deed("submit")
        if submission.submission_id not in self.known:
            self.known[submission.submission_id] = Driver(
                submission_id=submission.submission_id,
                status=DriverStatus.RUNNING,
                ray_job_id=f"job-{submission.submission_id}",
                entrypoint=submission.entrypoint,
                runtime_env_json=submission.runtime_env_json,
            )
            self.deeds.append(f"submit {submission.submission_id}")
        self._after("submit")

    def stop(self, submission_id: str) -> None:
        self._deed("stop")
        driver = self.known.get(submission_id)
        if driver is not None and driver.status.alive:
            self.end(submission_id, DriverStatus.STOPPED)
            self.deeds.append(f"stop {submission_id}")
        self._after("stop")

    def deploy(self, config: Mapping[str, Any]) -> None:
        self._deed("deploy")
        self.config = config
        wanted = {one["name"]: one["route_prefix"] for one in config["applications"]}
        self.apps = {
            name: self.apps.get(name, ServedApp(name=name, status="RUNNING", message="", route_prefix=prefix,
                                                replica_nodes=()))
            for name, prefix in wanted.items()
        }  # fmt: skip
        self.deeds.append(f"deploy {','.join(sorted(wanted))}")
        self._after("deploy")

    def offer_nodes(self, plans: Sequence[Planned]) -> None:
        self.offered = tuple(sorted(plan.source.hash for plan in plans))

    def keep_package(self, runtime_env_json: str) -> None:
        self._reachable()
        self.packages.append(runtime_env_json)

    def user_submits(self, submission_id: str, entrypoint: str = "python -m jobs.finetune --job tune") -> str:
        """A user runs `ray job submit`."""
        self.known[submission_id] = Driver(
            submission_id=submission_id,
            status=DriverStatus.RUNNING,
            ray_job_id=f"job-{submission_id}",
            entrypoint=entrypoint,
            runtime_env_json='{"working_dir": "gcs://x.zip"}',
        )
        return submission_id

    def end(self, submission_id: str, status: DriverStatus, exit_code: int | None = None) -> None:
        error = "JOB_ENTRYPOINT_COMMAND_ERROR" if exit_code else ""
        self.known[submission_id] = replace(
            self.known[submission_id], status=status, exit_code=exit_code, error_type=error
        )

    def _reachable(self) -> None:
        if self.away:
            raise UnreachableError("Ray is away")

    def _deed(self, name: str) -> None:
        self._reachable()
        if self.kill_at == f"before {name}":
            self.kill_at = ""
            raise Killed(name)
        if self.refuses == name:
            raise OperationError(f"{name} refused")

    def _after(self, name: str) -> None:
        if self.kill_at == f"after {name}":
            self.kill_at = ""
            raise Killed(name)


@dataclass
class FakeModels:
    """`absent` are runs whose model is not published; `version` of a model changes when it is trained again."""

    absent: set[str] = field(default_factory=set)
    no_input: set[str] = field(default_factory=set)
    version: int = 1

    def missing_inputs(self, job: Job, catalog: Catalog, *, date: str | None = None, fresh: bool = False) -> str:
        cards = [job.model] if not hasattr(job, "models") else [card for _, card in job.models]
        lacking = [f"waits for run:{card.run}" for card in cards if card.run in self.absent]
        return "; ".join([*lacking, *(["no input file"] if job.name in self.no_input else [])])

    def path(self, card: ModelCard, storage: str) -> str:
        if card.run in self.absent:
            raise InputError(f"no model of run:{card.run}")
        return f"{storage}/{card.run}/{self.version}" if card.run else card.source


@lru_cache(maxsize=32)
def plan_once(source: CatalogText) -> Planned:
    """The real planner; the same text is planned once per session."""
    return plan_text(source, START)


@dataclass
class Bench:
    """A controller on a fake world, which can be killed and started again on the same ledger."""

    folder: Path
    world: FakeWorld = field(default_factory=FakeWorld)
    models: FakeModels = field(default_factory=FakeModels)
    clock: Clock = field(default_factory=Clock)
    stall_after_s: float = 90.0

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.controller = Controller(
            database=open_database(self.folder / "ledger.db"),
            world=self.world,
            planner=lambda source, _now: plan_once(source),
            models=self.models,
            clock=self.clock,
            settings=Settings(serve_url="http://127.0.0.1:8000", stall_after_s=self.stall_after_s),
        )

    def restart(self) -> None:
        self.controller.database.close()
        self.start()

    def catalog(self, text: str = CATALOG) -> CatalogText:
        return CatalogText(text=text, file="catalog.yaml", base_dir=str(self.folder))

    def tick(self, times: int = 1, seconds: float = 2.0) -> list[str]:
        """Ids of what was decided, over some ticks with time in between."""
        decided: list[str] = []
        for _ in range(times):
            decided += [action.id for action in self.controller.tick()]
            self.clock.forward(seconds)
        return decided


@pytest.fixture(scope="session")
def make_bench(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Bench]:
    """A new bench. Its ledger is a copy of an empty one: migrating anew for every test would take most of the time."""
    empty = tmp_path_factory.mktemp("empty") / "ledger.db"
    open_database(empty).close()

    def build() -> Bench:
        folder = tmp_path_factory.mktemp("bench")
        shutil.copy(empty, folder)
        return Bench(folder)

    return build


@pytest.fixture
def bench(make_bench: Callable[[], Bench]) -> Iterator[Bench]:
    found = make_bench()
    yield found
    found.controller.database.close()


@pytest.fixture(scope="session")
def catalog_text() -> str:
    return CATALOG


@pytest.fixture(scope="session")
def service_text() -> str:
    return CATALOG + SERVICE


@pytest.fixture(scope="session")
def killed() -> type[BaseException]:
    return Killed
