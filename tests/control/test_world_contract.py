"""What the controller relies on, asked of the fake world and of a real cluster alike: this keeps the fake honest."""

import contextlib
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import psutil
import pytest
from ray._raylet import GcsClient
from ray.job_submission import JobSubmissionClient

from orchestrator.cluster.faults import StockOut, change_faults, with_stockout, without_stockout
from orchestrator.control.ray_world import RayWorld
from orchestrator.control.world import Submission, World, WorldView
from orchestrator.model.error import OperationError
from orchestrator.policy.observed import Driver, DriverStatus
from orchestrator.policy.retry import Ending, ending

TIMEOUT_S = 90
WAITS = "import os,sys,time\nwhile not os.path.exists({path!r}): time.sleep(0.1)\nsys.exit(int(open({path!r}).read()))"


class Stage(Protocol):
    """A world, and the power to end the drivers in it."""

    world: World

    def entrypoint(self, name: str) -> str: ...

    def exit(self, name: str, code: int) -> None: ...

    def kill(self, name: str) -> None: ...


@dataclass
class FakeStage:
    world: Any

    def entrypoint(self, name: str) -> str:
        return f"run {name}"

    def exit(self, name: str, code: int) -> None:
        self.world.end(name, DriverStatus.FAILED if code else DriverStatus.SUCCEEDED, code)

    def kill(self, name: str) -> None:
        self.world.end(name, DriverStatus.FAILED, 137)


@dataclass
class RealStage:
    """Drivers wait for a file that says with which code to exit."""

    world: World
    folder: Path
    scripts: dict[str, Path] = field(default_factory=dict)

    def entrypoint(self, name: str) -> str:
        script = self.scripts[name] = self.folder / f"{name}.py"
        script.write_text(WAITS.format(path=str(self.folder / f"{name}.exit")))
        return f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}"

    def exit(self, name: str, code: int) -> None:
        part = self.folder / f"{name}.part"
        part.write_text(str(code))
        part.replace(self.folder / f"{name}.exit")

    def kill(self, name: str) -> None:
        script = str(self.scripts[name])
        for process in psutil.process_iter(["cmdline"]):
            if (process.info["cmdline"] or [""])[-1] == script:
                os.kill(process.pid, signal.SIGKILL)


@pytest.fixture(scope="session")
def real(local_cluster: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Callable[[], RealStage]:
    def build() -> RealStage:
        cluster = local_cluster()
        folder = tmp_path_factory.mktemp("stage")
        world = RayWorld(
            ray_address=cluster.info.ray_address,
            dashboard_url=cluster.info.dashboard_url,
            token=cluster.state.token_path.read_text(),
            packages=folder / "packages",
            intervals=tuple,
            offer_nodes=lambda plans: None,
        )
        return RealStage(world, folder)

    return build


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.ray)])
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    if request.param == "fake":
        yield FakeStage(request.getfixturevalue("bench").world)
    else:
        yield request.getfixturevalue("real")()


def submit(stage: Stage, name: str, runtime_env: str = "{}") -> None:
    stage.world.submit(
        Submission(
            submission_id=name,
            entrypoint=stage.entrypoint(name),
            runtime_env_json=runtime_env,
            metadata=(("orchestrator_run", "r"),),
        )
    )


def look(stage: Stage, name: str) -> Driver | None:
    return next((driver for driver in stage.world.drivers() if driver.submission_id == name), None)


def ended(stage: Stage, name: str, until: Callable[..., Any]) -> Driver:
    def over() -> Driver | None:
        driver = look(stage, name)
        return None if driver is None or driver.status.alive else driver

    found: Driver = until(over, TIMEOUT_S, f"the end of {name}")
    return found


def running(stage: Stage, name: str, until: Callable[..., Any]) -> None:
    until(lambda: (found := look(stage, name)) and found.status is DriverStatus.RUNNING, TIMEOUT_S, f"{name} running")


def test_a_submitted_driver_is_listed_at_once_and_submitting_it_again_changes_nothing(
    stage: Stage, until: Callable[..., Any]
) -> None:
    entrypoint = stage.entrypoint("twice")
    submit(stage, "twice", '{"env_vars": {"A": "b"}}')
    first = look(stage, "twice")
    assert first is not None
    assert first.status.alive
    assert (first.entrypoint, first.runtime_env_json) == (entrypoint, '{"env_vars": {"A": "b"}}')
    running(stage, "twice", until)
    submit(stage, "twice", '{"env_vars": {"A": "b"}}')
    assert sum(driver.submission_id == "twice" for driver in stage.world.drivers()) == 1
    stage.exit("twice", 0)
    assert ending(ended(stage, "twice", until)) is Ending.SUCCEEDED
    submit(stage, "twice", '{"env_vars": {"A": "b"}}')
    assert ending(look(stage, "twice")) is Ending.SUCCEEDED, "also not after its end"


@pytest.mark.parametrize(("code", "how"), [(1, Ending.FAILED), (2, Ending.BAD_INPUT)], ids=["failed", "bad-input"])
def test_a_driver_that_fails_says_how(stage: Stage, until: Callable[..., Any], code: int, how: Ending) -> None:
    name = f"exits-{code}"
    submit(stage, name)
    running(stage, name, until)
    stage.exit(name, code)
    driver = ended(stage, name, until)
    assert (driver.exit_code, ending(driver)) == (code, how)


def test_a_killed_driver_counts_as_died(stage: Stage, until: Callable[..., Any]) -> None:
    submit(stage, "killed")
    running(stage, "killed", until)
    stage.kill("killed")
    assert ending(ended(stage, "killed", until)) is Ending.DIED


def test_stopping_may_be_repeated(stage: Stage, until: Callable[..., Any]) -> None:
    submit(stage, "stopped")
    running(stage, "stopped", until)
    stage.world.stop("stopped")
    assert ending(ended(stage, "stopped", until)) is Ending.STOPPED
    stage.world.stop("stopped")
    stage.world.stop("never there")
    assert look(stage, "never there") is None


def test_nothing_is_served_before_something_is_deployed(stage: Stage) -> None:
    stage.world.deploy({"applications": []})
    stage.world.deploy({"applications": []})
    assert stage.world.view().apps == ()


# From here on the real world alone: what the fake only repeats.


@pytest.fixture
def cluster(local_cluster: Callable[..., Any]) -> Any:
    return local_cluster()


def view_when(stage: Stage, condition: Callable[[WorldView], Any], until: Callable[..., Any], what: str) -> WorldView:
    found: list[WorldView] = []

    def holds() -> bool:
        found[:] = [stage.world.view()]
        return bool(condition(found[0]))

    until(holds, TIMEOUT_S, what)
    return found[0]


@pytest.mark.ray
def test_workers_and_demand_are_seen_with_the_labels_of_their_nodes(
    real: Callable[[], RealStage], cluster: Any, until: Callable[..., Any]
) -> None:
    """An actor waits for a machine that is out of stock; once it is in stock, the actor is a worker on that node."""
    stage = real()
    gone = StockOut(instance_type="c7i.xlarge")
    selector = {"orchestrator/instance-type": "c7i.xlarge", "orchestrator/pool": "work"}
    change_faults(cluster.state, lambda faults: with_stockout(faults, gone))
    script = stage.folder / "asks.py"
    script.write_text(
        "import ray, time\nray.init()\n"
        "@ray.remote\nclass W:\n  def hold(self): time.sleep(600)\n"
        f"ray.get(W.options(num_cpus=1, label_selector={selector!r}).remote().hold.remote())\n"
    )
    stage.world.submit(
        Submission(
            submission_id="asks",
            entrypoint=f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}",
            runtime_env_json="{}",
            metadata=(),
        )
    )
    try:
        seen = view_when(stage, lambda view: view.demands, until, "demand")
        assert [dict(demand.selector) for demand in seen.demands] == [selector]
        assert dict(seen.demands[0].resources)["CPU"] == 1
        assert [node.head for node in seen.nodes] == [True]
        change_faults(cluster.state, lambda faults: without_stockout(faults, gone))
        seen = view_when(stage, lambda view: not view.demands and workers_of(view, "asks"), until, "a worker")
        (node,) = [node for node in seen.nodes if not node.head]
        assert workers_of(seen, "asks") == [node.node_id]
        assert selector.items() <= dict(node.labels).items()
        assert node.node_id.startswith("i-"), "the provider's id, as the ledger's node intervals have it"
        assert node.deadline_ms is None
    finally:
        stage.world.stop("asks")


def workers_of(view: WorldView, submission: str) -> list[str]:
    job = next((driver.ray_job_id for driver in view.drivers if driver.submission_id == submission), None)
    heads = {node.node_id for node in view.nodes if node.head}
    return [one.node_id for one in view.workers if one.ray_job_id == job and one.node_id not in heads]


@pytest.mark.ray
def test_a_forgotten_working_directory_comes_back(
    real: Callable[[], RealStage], cluster: Any, until: Callable[..., Any]
) -> None:
    """Ray drops an uploaded package after its driver's end; what was kept is uploaded again before a resubmission."""
    stage = real()
    folder = stage.folder / "work"
    folder.mkdir()
    (folder / "hello.py").write_text("print('hello')")
    client = JobSubmissionClient(cluster.info.dashboard_url)
    client.submit_job(
        entrypoint=f"{sys.executable} hello.py", submission_id="first", runtime_env={"working_dir": str(folder)}
    )
    first = ended(stage, "first", until)
    assert '"gcs://' in first.runtime_env_json
    stage.world.keep_package(first.runtime_env_json)
    gcs = GcsClient(address=cluster.info.ray_address)
    for key in gcs.internal_kv_keys(b"gcs://", None):
        gcs.internal_kv_del(key, False, None)
    again = Submission(
        submission_id="again",
        entrypoint=first.entrypoint,
        runtime_env_json=first.runtime_env_json,
        metadata=(),
    )
    stage.world.submit(again)
    assert ending(ended(stage, "again", until)) is Ending.SUCCEEDED
    assert "hello" in client.get_job_logs("again")


@pytest.mark.ray
def test_a_refused_configuration_and_a_failed_application_are_told(
    real: Callable[[], RealStage], until: Callable[..., Any]
) -> None:
    stage = real()
    with pytest.raises(OperationError, match="Serve refused"):
        stage.world.deploy({"applications": [{"name": "no import path"}]})
    broken = {"name": "broken", "route_prefix": "/broken", "import_path": "no_such_module:app"}
    stage.world.deploy({"applications": [broken]})
    seen = view_when(stage, lambda view: view.apps and view.apps[0].status == "DEPLOY_FAILED", until, "its failure")
    assert seen.apps[0].name == "broken"
    assert "no_such_module" in seen.apps[0].message
    with contextlib.suppress(OperationError):
        stage.world.deploy({"applications": []})
    view_when(stage, lambda view: not view.apps, until, "its removal")
