"""The controller's own process on a real cluster: killed without warning, started again, and without capacity."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ray.job_submission import JobSubmissionClient

from orchestrator.cluster.faults import StockOut, change_faults, with_stockout
from orchestrator.ledger import catalogs
from orchestrator.ledger.database import open_database

pytestmark = [pytest.mark.ray, pytest.mark.faults]

START_S = 60
STALL_AFTER_S = 8

DRIVER = """\
import pathlib, sys, time
import ray
from orchestrator.runtime.controller import Controller

with Controller.from_env() as controller:
    given = controller.begin_run("tune")
    folder = pathlib.Path(sys.argv[1])
    (folder / f"began-{given.attempt}").write_text(given.run_id)
    ray.init()

    @ray.remote
    class Worker:
        def where(self):
            return ray.get_runtime_context().get_node_id()

    options = {"num_cpus": 1, "label_selector": dict(given.label_selector)}
    if given.accelerator:
        options |= {"num_gpus": 1, "resources": {f"accelerator_type:{given.accelerator}": 0.001}}
    worker = Worker.options(**options).remote()
    ray.get(worker.where.remote())
    (folder / f"works-{given.attempt}").write_text("")
    while not (folder / "finish").exists():
        time.sleep(0.2)
    controller.report(given.run_id, "finished", "done")
"""


@dataclass
class Head:
    """A cluster without a controller, and controllers to be started on it."""

    cluster: Any
    folder: Path
    until: Callable[..., Any]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start_controller(self) -> subprocess.Popen[bytes]:
        environment = {**self.cluster.environment, "ORCHESTRATOR_STALL_AFTER_S": str(STALL_AFTER_S)}
        with (self.folder / f"controller-{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "orchestrator.control", "--state-dir", str(self.cluster.state.root)],
                env=environment,
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        self.until(self._healthy, START_S, "the controller's answer")
        return process

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGKILL)
        process.wait(10)

    def ask(self, method: str, path: str, **options: Any) -> Any:
        token = self.cluster.state.token_path.read_text()
        url = f"{self.cluster.info.api_url}{path}"
        headers = {"Authorization": f"Bearer {token}"}
        answer = httpx.request(method, url, headers=headers, timeout=60, trust_env=False, **options)
        assert answer.is_success, answer.text
        return answer.json()

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.ask("GET", "/v1/events") if event["kind"] == kind]

    def used_nodes(self) -> list[dict[str, Any]]:
        """Nodes on which the controller has seen work: what the bill is made of."""
        return [node for node in self.ask("GET", "/v1/status")["nodes"] if node["used_by"]]

    def drivers(self) -> dict[str, str]:
        jobs = JobSubmissionClient(self.cluster.info.dashboard_url).list_jobs()
        return {job.submission_id: str(job.status) for job in jobs if job.submission_id}

    def submit(self) -> str:
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        (work / "drive.py").write_text(DRIVER)
        client = JobSubmissionClient(self.cluster.info.dashboard_url)
        return client.submit_job(
            entrypoint=f"{sys.executable} drive.py {self.folder}", runtime_env={"working_dir": str(work)}
        )

    def driver_pid(self) -> int:
        """The process of the driver that began last."""
        found = subprocess.run(["pgrep", "-f", f"drive.py {self.folder}$"], capture_output=True, text=True, check=True)
        return int(found.stdout.split()[-1])

    def _healthy(self) -> bool:
        last = self.processes[-1]
        assert last.poll() is None, (self.folder / f"controller-{len(self.processes) - 1}.log").read_text()
        try:
            return httpx.get(f"{self.cluster.info.api_url}/healthz", timeout=2, trust_env=False).is_success
        except httpx.HTTPError:
            return False


@pytest.fixture
def head(
    request: pytest.FixtureRequest,
    local_cluster: Callable[..., Any],
    tmp_path: Path,
    until: Callable[..., Any],
    catalog_text: str,
) -> Iterator[Head]:
    # A cluster that no other test shares: the controller rewrites its node types, and no node may be there already.
    idle_timeout_s = {"test_kill_9_repeats_nothing": 15.1}.get(request.node.name, 15.2)
    found = Head(local_cluster((), idle_timeout_s=idle_timeout_s), tmp_path, until)
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "config.json").write_text("{}")
    pq.write_table(pa.table({"prompt": ["p"], "completion": ["c"]}), tmp_path / "train.parquet")
    try:
        found.start_controller()
        found.ask("PUT", "/v1/catalog", json={"text": catalog_text, "file": "c.yaml", "base_dir": str(tmp_path)})
        yield found
        (tmp_path / "finish").write_text("")
        until(lambda: "RUNNING" not in found.drivers().values(), START_S, "the end of all drivers")
    finally:
        for process in found.processes:
            process.kill()
            process.wait(10)


def test_kill_9_repeats_nothing(head: Head, until: Callable[..., Any]) -> None:
    """The controller is killed while a run goes on, its driver dies meanwhile; later kills hit the resubmission."""
    submission = head.submit()
    until((head.folder / "works-1").exists, 120, "work on a node")
    run_id = (head.folder / "began-1").read_text()
    head.kill(head.processes[-1])
    os.kill(head.driver_pid(), signal.SIGKILL)
    until(lambda: head.drivers()[submission] == "FAILED", START_S, "the driver's end")

    head.start_controller()
    until(lambda: head.events("resubmitted"), START_S, "the decision to resubmit")
    head.kill(head.processes[-1])
    head.start_controller()
    until(lambda: f"{run_id}-a2" in head.drivers(), START_S, "the second driver")
    head.kill(head.processes[-1])

    head.start_controller()
    until((head.folder / "works-2").exists, 120, "work of the second attempt")
    assert (head.folder / "began-2").read_text() == run_id, "the same run goes on"
    assert set(head.drivers()) == {submission, f"{run_id}-a2"}
    assert [len(head.events(kind)) for kind in ("applied", "resubmitted", "submitted", "began")] == [1, 1, 1, 2]
    until(head.used_nodes, START_S, "a look at the worker's node")
    (head.folder / "finish").write_text("")
    until(lambda: head.drivers()[f"{run_id}-a2"] == "SUCCEEDED", START_S, "its end")
    (job,) = [job for job in head.ask("GET", "/v1/status")["jobs"] if job["name"] == "tune"]
    assert (job["state"], job["attempt"]) == ("succeeded", 2)

    # Time on a node counts from one look to the next, so the bill is a look behind.
    cost = until(lambda: _bill(head), START_S, "a bill with the run's time on it")
    (line,) = cost["lines"]
    assert (line["consumer"], line["emulated"]) == (run_id, True)
    assert 0 < line["usd"] < line["on_demand_usd"]
    assert line["usd"] + cost["idle"]["usd"] == pytest.approx(cost["total"]["usd"], abs=1e-9)

    rival = subprocess.run(
        [sys.executable, "-m", "orchestrator.control", "--state-dir", str(head.cluster.state.root)],
        env=head.cluster.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert rival.returncode == 1
    assert re.search(r"another controller \(process \d+\) works on", rival.stderr)
    head.processes[-1].terminate()
    assert head.processes[-1].wait(30) in (0, -signal.SIGTERM), "asked politely it ends by itself"


def test_a_run_moves_off_an_offer_that_is_out_of_stock(head: Head, until: Callable[..., Any]) -> None:
    plan = head.ask("PUT", "/v1/catalog", json=_catalog_again(head))
    first, *others = [choice["offer"] for choice in plan["jobs"]["tune"]["candidates"]]
    change_faults(head.cluster.state, lambda faults: with_stockout(faults, StockOut(offer=first)))
    submission = head.submit()
    until((head.folder / "began-1").exists, START_S, "the first attempt")
    until((head.folder / "works-2").exists, 180, "work of the second attempt elsewhere")
    (moved,) = head.events("moved")
    assert first in moved["message"]
    assert head.drivers()[submission] == "STOPPED"

    (node,) = until(head.used_nodes, START_S, "a look at the worker's node")
    (job,) = [job for job in head.ask("GET", "/v1/status")["jobs"] if job["name"] == "tune"]
    assert job["offer"] in others
    assert job["offer"].startswith(f"{node['instance_type']}:{node['market']}:")


def _bill(head: Head) -> dict[str, Any] | None:
    found = head.ask("GET", "/v1/cost")
    return found if any(line["usd"] for line in found["lines"]) else None


def _catalog_again(head: Head) -> dict[str, str]:
    with open_database(head.cluster.state.root / "ledger.db").read() as connection:
        current = catalogs.current(connection)
    assert current is not None
    return {"text": current[0].text, "file": current[0].file, "base_dir": current[0].base_dir}
