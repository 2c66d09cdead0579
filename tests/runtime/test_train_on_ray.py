"""The loop of docs/training.md as a driver on emulated nodes under the real autoscaler, interrupted in every way."""

import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from orchestrator.cluster import chaos
from orchestrator.model.assignment import Assignment
from orchestrator.model.card import Dtype, ModelCard
from orchestrator.model.job import CheckpointRule, JobClass, Method, TrainJob
from tests.controller_stand_in import ControllerStandIn

pytestmark = [pytest.mark.ray, pytest.mark.timeout(420)]

DOCUMENT = Path(__file__).parents[2] / "docs" / "training.md"
INTERVAL_S = 3.0
SELECTOR = (("orchestrator/instance-type", "g6.xlarge"), ("orchestrator/pool", "work"), ("ray.io/market-type", "spot"))


@pytest.fixture
def controller(tmp_path):
    card = ModelCard(
        name="any", source="/nowhere", params=1e6, layers=1, hidden_size=64, heads=1, kv_heads=1, head_dim=64,
        context_tokens=64, dtype=Dtype.FP32,
    )  # fmt: skip
    job = TrainJob(
        name="own", job_class=JobClass.BATCH, model=card, method=Method.FULL, data="/nowhere", tokens=1.0, epochs=1.0,
        precision=Dtype.FP32, batch_size=32, gradient_accumulation=1, gradient_checkpointing=False,
        sequence_tokens=64, min_instances=1, max_instances=1, max_duration_s=None, deadline_s=None, retrain="never",
        checkpoint=CheckpointRule(interval_s=INTERVAL_S, keep=2, storage=str(tmp_path / "checkpoints")),
        learning_rate=1e-3, lora_rank=1, seed=3, prompt_column="", completion_column="",
        max_price_usd_per_hour=Decimal("1.50"),
    )  # fmt: skip
    assignment = Assignment(
        run_id="own-1", attempt=1, job=job, label_selector=SELECTOR, accelerator="L4", accelerators_per_worker=1,
        cpus_per_worker=2, tensor_parallel=1, num_workers=1, storage=str(tmp_path), output_model="", emulated=True,
    )  # fmt: skip
    made = ControllerStandIn(assignment)
    yield made
    made.server.shutdown()


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The documented job, word for word."""
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    path = tmp_path_factory.mktemp("own") / "my_train.py"
    path.write_text(code)
    return path


@pytest.fixture
def submit(local_cluster, script, controller, tmp_path):
    """Starts the driver; what is left of it is killed at the end."""
    cluster = local_cluster()
    drivers = []

    def start():
        env = {**cluster.environment, "ORCHESTRATOR_API_URL": controller.url, "ORCHESTRATOR_TOKEN_PATH": ""}
        with (tmp_path / f"driver-{len(drivers)}.log").open("wb") as log:
            command = [sys.executable, str(script), "--job", "own"]
            drivers.append(subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT))
        return drivers[-1]

    start.state = cluster.state
    yield start
    for driver in drivers:
        driver.kill()
        driver.wait()


@pytest.fixture
def succeeds(tmp_path, controller):
    """Waits for the driver's good end and returns the final metrics."""

    def check(driver, timeout_s=240):
        code = driver.wait(timeout_s)
        logs = "".join(path.read_text(errors="replace")[-4000:] for path in sorted(tmp_path.glob("driver-*.log")))
        assert code == 0, logs
        (finished,) = controller.told("finished")
        return finished

    return check


@pytest.fixture(scope="module")
def expected(script, tmp_path_factory):
    """What the same loop gives in this process, without Ray and without interruption."""
    import functools
    import runpy

    from orchestrator.runtime.local_link import LocalLink

    names = runpy.run_path(str(script))
    alone = functools.partial(names["Session"], link=LocalLink(tmp_path_factory.mktemp("alone") / "snapshot"))
    train = names["train"]
    train.__globals__["Session"] = alone
    return train({"seed": 3, "interval_s": 1e9, "steps": 200, "step_s": 0.0})


def started_on(controller, driver, until, checkpoints=1):
    """The node of the run, once it has saved so often."""
    until(lambda: len(controller.told("checkpoint")) >= checkpoints or driver.poll() is not None, 200, "a checkpoint")
    return controller.told("started")[0]["node_id"]


def test_a_notice_costs_no_step(submit, controller, succeeds, until, expected):
    driver = submit()
    node_id = started_on(controller, driver, until)
    chaos.interrupt(submit.state, node_id, notice_s=15)
    finished = succeeds(driver)

    (notice,) = controller.told("preemption-notice")
    assert 0 < notice["deadline_in_s"] <= 15
    (resumed,) = controller.told("resumed")
    assert resumed["node_id"] != node_id
    assert (resumed["lost_steps"], resumed["lost_s"]) == (0, 0)
    before = [told for told in controller.told("checkpoint") if told["step"] <= resumed["step"]]
    (noticed,) = [told["step"] for told in before if told["reason"] == "notice"]
    assert before[-1]["reason"] == "deadline"
    assert noticed < before[-1]["step"] == resumed["step"], "it went on training after the notice"
    assert (finished["step"], finished["loss"], finished["checksum"]) == (
        200, pytest.approx(expected["loss"], abs=1e-9), pytest.approx(expected["checksum"], abs=1e-9),
    )  # fmt: skip


@pytest.mark.faults
def test_a_vanished_node_costs_at_most_one_interval(submit, controller, succeeds, until, expected):
    driver = submit()
    node_id = started_on(controller, driver, until, checkpoints=2)
    chaos.interrupt(submit.state, node_id, notice_s=0)
    finished = succeeds(driver)

    (resumed,) = controller.told("resumed")
    assert resumed["lost_s"] <= INTERVAL_S + 2.0
    assert resumed["step"] in [told["step"] for told in controller.told("checkpoint")]
    assert [told["kind"] for told in controller.told("interrupted", "resumed")] == ["interrupted", "resumed"]
    assert finished["checksum"] == pytest.approx(expected["checksum"], abs=1e-9)


@pytest.mark.faults
def test_a_new_driver_continues_the_run_of_a_dead_one(submit, controller, succeeds, until, expected):
    first = submit()
    started_on(controller, first, until)
    first.kill()
    first.wait()
    saved = controller.told("checkpoint")[-1]["step"]
    finished = succeeds(submit())

    assert controller.told("resumed")[-1]["step"] >= saved
    assert controller.attempts == 2
    assert finished["checksum"] == pytest.approx(expected["checksum"], abs=1e-9)
