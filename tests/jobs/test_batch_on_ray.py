"""The batch job as users run it: a driver of its own, vLLM on emulated nodes under the real autoscaler, and kills."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.cluster import chaos
from orchestrator.cluster.instance import load_records
from orchestrator.model.assignment import Assignment
from orchestrator.model.card import Dtype, ModelCard
from orchestrator.model.job import BatchJob, Engine, JobClass
from orchestrator.runtime.batch_log import verify_output
from orchestrator.runtime.controller import ASSIGNMENT

pytestmark = [pytest.mark.ray, pytest.mark.engine, pytest.mark.timeout(420)]

SELECTOR = (("orchestrator/instance-type", "g6.xlarge"), ("orchestrator/pool", "work"), ("ray.io/market-type", "spot"))


class ControllerStandIn:
    """Speaks the controller's HTTP contract for one job: hands out its assignment, one attempt after the other."""

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.attempts = 0
        self.events: list[dict[str, Any]] = []
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = stand_in.begin() if self.path == "/v1/runs" else stand_in.event(body)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def begin(self) -> bytes:
        self.attempts += 1
        return ASSIGNMENT.dump_json(replace(self.assignment, attempt=self.attempts))

    def event(self, body: dict[str, Any]) -> bytes:
        self.events.append(body)
        return b"{}"

    def kinds(self) -> list[str]:
        return [event["kind"] for event in self.events]


@pytest.fixture
def night(tiny_llama: Path, tmp_path: Path) -> Iterator[Callable[[int], ControllerStandIn]]:
    """A controller whose only job is a batch over so many rows."""
    started: list[ControllerStandIn] = []

    def build(rows: int) -> ControllerStandIn:
        texts = [f"What is {number} times {number % 7}?" for number in range(rows)]
        table = pa.table({"id": [f"id-{number:05d}" for number in range(rows)], "text": texts})
        pq.write_table(table, tmp_path / "in.parquet")
        card = ModelCard(
            name="tiny", source=str(tiny_llama), params=3e6, layers=4, hidden_size=256, heads=8, kv_heads=4,
            head_dim=32, context_tokens=512, dtype=Dtype.FP32,
        )  # fmt: skip
        job = BatchJob(
            name="nightly", job_class=JobClass.BATCH, model=card, schedule=None, window_s=None,
            input=str(tmp_path / "in.parquet"), output=str(tmp_path / "out"), id_column="id", prompt="{{ text }}",
            rows=None, prompt_tokens=40, output_tokens=4, max_instances=1, max_duration_s=None, quantization=None,
            engine=Engine(max_num_seqs=32, max_model_len=256),
        )  # fmt: skip
        made = Assignment(
            run_id="nightly-1", attempt=1, job=job, label_selector=SELECTOR, accelerator="L4",
            accelerators_per_worker=1, cpus_per_worker=1, tensor_parallel=1, num_workers=1, storage=str(tmp_path),
            output_model="", emulated=True,
        )  # fmt: skip
        started.append(ControllerStandIn(made))
        return started[-1]

    yield build
    for controller in started:
        controller.server.shutdown()


@pytest.fixture
def submit(local_cluster: Callable[..., Any], tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts a driver on the cluster; what is left of it is killed at the end."""
    cluster = local_cluster()
    drivers: list[subprocess.Popen[bytes]] = []

    def start(controller: ControllerStandIn) -> subprocess.Popen[bytes]:
        env = {**cluster.environment, "ORCHESTRATOR_API_URL": controller.url, "ORCHESTRATOR_TOKEN_PATH": ""}
        command = [sys.executable, "-m", "jobs.batch_infer", "--job", "nightly"]
        log = (tmp_path / f"driver-{len(drivers)}.log").open("wb")
        drivers.append(subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT))
        return drivers[-1]

    yield start
    for driver in drivers:
        driver.kill()
        driver.wait()


def succeeds(driver: subprocess.Popen[bytes], tmp_path: Path, timeout_s: float) -> None:
    code = driver.wait(timeout_s)
    log = "".join(path.read_text(errors="replace")[-3000:] for path in sorted(tmp_path.glob("driver-*.log")))
    assert code == 0, log


def parts(tmp_path: Path) -> dict[str, int]:
    """Finished shards and when their files were written, in nanoseconds."""
    return {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("part-*.parquet")}


def launched(cluster: Any) -> set[str]:
    return {instance.instance_id for instance in load_records(cluster.state)}


def living(cluster: Any) -> set[str]:
    return {instance.instance_id for instance in chaos.live_instances(cluster.state)}


def test_a_night_from_submission_to_manifest(night: Any, submit: Any, local_cluster: Any, tmp_path: Path) -> None:
    controller = night(70)
    nodes_before = launched(local_cluster())
    succeeds(submit(controller), tmp_path, 240)
    assert len(launched(local_cluster()) - nodes_before) <= 1, "one worker needs one node, old or new"
    assert verify_output(str(tmp_path / "out"), str(tmp_path / "in.parquet")).ok
    manifest = json.loads((tmp_path / "out" / "_manifest.json").read_text())
    assert (manifest["rows"], manifest["errors"], manifest["emulated"]) == (70, 0, True)
    assert manifest["output_tokens"] > 0
    assert controller.kinds()[0] == "started"
    assert controller.kinds()[-1] == "finished"
    assert "progress" in controller.kinds()

    before = parts(tmp_path)
    succeeds(submit(controller), tmp_path, 60)
    assert parts(tmp_path) == before, "a finished night is left alone"


@pytest.mark.faults
def test_no_row_is_lost_or_doubled_when_node_and_driver_are_killed(
    night: Any, submit: Any, local_cluster: Any, until: Any, tmp_path: Path
) -> None:
    controller = night(1500)
    cluster = local_cluster()
    driver = submit(controller)
    until(lambda: len(parts(tmp_path)) >= 3, 180, "three shards are done")
    lost = living(cluster)
    for instance_id in lost:
        chaos.interrupt(cluster.state, instance_id, notice_s=0)
    until(lambda: not lost & living(cluster), 60, "the node is gone")
    at_kill = len(parts(tmp_path))
    until(lambda: len(parts(tmp_path)) > at_kill + 1, 180, "another node goes on")
    assert driver.poll() is None, "the driver survived its node"

    driver.kill()
    driver.wait()
    done = parts(tmp_path)
    assert not (tmp_path / "out" / "_manifest.json").exists()

    succeeds(submit(controller), tmp_path, 240)
    check = verify_output(str(tmp_path / "out"), str(tmp_path / "in.parquet"))
    assert (check.rows_in, check.missing, check.doubled, check.unexpected) == (1500, (), (), ())
    kept = {name: written for name, written in parts(tmp_path).items() if name in done}
    redone = [name for name in done if kept[name] != done[name]]
    assert len(redone) <= 1, "at most the shard being committed at the kill is answered again"
    manifest = json.loads((tmp_path / "out" / "_manifest.json").read_text())
    assert (manifest["rows"] + manifest["errors"], manifest["attempts"]) == (1500, 2)
