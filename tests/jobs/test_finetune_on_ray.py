"""The fine-tune as users run it: a driver of its own on emulated nodes under the real autoscaler, and interruptions."""

import functools
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.torch import load_file

from jobs import finetune
from orchestrator.cluster import chaos
from orchestrator.model.card import ModelCard
from orchestrator.model.job import CheckpointRule, Method
from orchestrator.runtime.controller import ASSIGNMENT
from orchestrator.runtime.local_link import LocalLink
from orchestrator.runtime.model_source import read_current, resolve
from tests.controller_stand_in import ControllerStandIn

pytestmark = [pytest.mark.ray, pytest.mark.timeout(420)]

STEPS = 150


@pytest.fixture
def slow_job(train_job, tiny_llama, tiny_data, tmp_path):
    """Full training of the 3M model for `STEPS` steps, which lasts long enough to be interrupted."""
    card = train_job().model
    tiny = replace(card, name="tiny", source=str(tiny_llama), params=3e6, layers=4, hidden_size=256)
    assert isinstance(tiny, ModelCard)
    rule = CheckpointRule(interval_s=4.0, keep=2, storage=str(tmp_path / "checkpoints"))
    return train_job(
        model=tiny, method=Method.FULL, batch_size=12, epochs=STEPS * 12 / 36, learning_rate=1e-3, checkpoint=rule
    )


@pytest.fixture
def controller(assignment, slow_job):
    made = ControllerStandIn(assignment(job=slow_job))
    yield made
    made.server.shutdown()


@pytest.fixture
def submit(local_cluster, tmp_path):
    """Starts a driver on the cluster; what is left of it is killed at the end."""
    cluster = local_cluster()
    drivers = []

    def start(controller):
        env = {**cluster.environment, "ORCHESTRATOR_API_URL": controller.url, "ORCHESTRATOR_TOKEN_PATH": ""}
        command = [sys.executable, "-m", "jobs.finetune", "--job", "tiny-finetune"]
        with (tmp_path / f"driver-{len(drivers)}.log").open("wb") as log:
            drivers.append(subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT))
        return drivers[-1]

    start.state = cluster.state
    yield start
    for driver in drivers:
        driver.kill()
        driver.wait()


@pytest.fixture
def succeeds(tmp_path):
    def check(driver, timeout_s=300):
        code = driver.wait(timeout_s)
        logs = "".join(path.read_text(errors="replace")[-4000:] for path in sorted(tmp_path.glob("driver-*.log")))
        assert code == 0, logs

    return check


@pytest.fixture
def uninterrupted(monkeypatch, tmp_path):
    """Metrics and weights of the same run in this process, without Ray and without interruption."""

    def run(assignment):
        session = functools.partial(finetune.Session, link=LocalLink(tmp_path / "alone"))
        monkeypatch.setattr(finetune, "Session", session)
        made = replace(assignment, output_model=str(tmp_path / "alone-model"))
        metrics = finetune.train_worker({"assignment": ASSIGNMENT.dump_python(made, mode="json")})
        return metrics, load_file(Path(made.output_model) / "model.safetensors")

    return run


def check_same_result(controller, uninterrupted):
    """The published model is the one that an uninterrupted run makes."""
    made = controller.assignment
    current = read_current(made.storage, made.job.name)
    assert current.run_id == made.run_id and current.path == made.output_model
    card = replace(made.job.model, run=made.job.name)
    weights = load_file(Path(resolve(card, made.storage)) / "model.safetensors")
    metrics, expected = uninterrupted(made)
    assert current.metrics["loss"] == pytest.approx(metrics["loss"], rel=1e-3, abs=1e-5)
    assert current.metrics["accuracy_after"] == metrics["accuracy_after"]
    assert weights.keys() == expected.keys()
    assert max(float((weights[name] - expected[name]).abs().max()) for name in expected) < 1e-4


def test_an_interruption_on_notice_repeats_no_step(submit, controller, succeeds, uninterrupted, until):
    driver = submit(controller)
    until(lambda: controller.told("checkpoint") or driver.poll() is not None, 240, "a first checkpoint")
    node_id = controller.told("started")[0]["node_id"]
    chaos.interrupt(submit.state, node_id, notice_s=10)
    succeeds(driver)

    (notice,) = controller.told("preemption-notice")
    assert 0 < notice["deadline_in_s"] <= 10
    (resumed,) = controller.told("resumed")
    assert resumed["node_id"] != node_id
    assert resumed["lost_steps"] == 0 and resumed["lost_s"] == 0
    saved = [told for told in controller.told("checkpoint") if told["step"] <= resumed["step"]]
    (noticed,) = [told["step"] for told in saved if told["reason"] == "notice"]
    assert saved[-1]["reason"] == "deadline"
    assert noticed < saved[-1]["step"] == resumed["step"], "it went on training after the notice"
    assert controller.told("finished")[0]["step"] == STEPS
    check_same_result(controller, uninterrupted)


@pytest.mark.faults
def test_a_node_that_vanishes_costs_at_most_one_interval(submit, controller, succeeds, uninterrupted, until):
    driver = submit(controller)
    until(lambda: len(controller.told("checkpoint")) >= 2 or driver.poll() is not None, 240, "two checkpoints")
    node_id = controller.told("started")[0]["node_id"]
    chaos.interrupt(submit.state, node_id, notice_s=0)
    succeeds(driver)

    (resumed,) = controller.told("resumed")
    assert resumed["lost_s"] <= controller.assignment.job.checkpoint.interval_s + 3.0
    saved = [told["step"] for told in controller.told("checkpoint")]
    assert resumed["step"] in saved
    assert [told["kind"] for told in controller.told("interrupted", "resumed")] == ["interrupted", "resumed"]
    check_same_result(controller, uninterrupted)


@pytest.mark.faults
def test_a_new_driver_continues_the_run_of_a_dead_one(submit, controller, succeeds, uninterrupted, until):
    first = submit(controller)
    until(lambda: controller.told("checkpoint") or first.poll() is not None, 240, "a first checkpoint")
    first.kill()
    first.wait()
    saved = controller.told("checkpoint")[-1]["step"]
    succeeds(submit(controller))

    resumed = controller.told("resumed")[-1]
    assert resumed["step"] >= saved
    assert controller.attempts == 2
    check_same_result(controller, uninterrupted)


@pytest.mark.faults
def test_two_workers_learn_together(submit, controller, succeeds, slow_job):
    job = replace(slow_job, batch_size=6, epochs=10 * 12 / 36, max_instances=2)
    controller.assignment = replace(controller.assignment, job=job, num_workers=2, cpus_per_worker=1)
    succeeds(submit(controller))
    finished = controller.told("finished")[0]
    assert finished["step"] == 10
    assert 0 < finished["loss"] < 5
    assert finished["accuracy_before"] is not None and "accuracy_after" in finished
