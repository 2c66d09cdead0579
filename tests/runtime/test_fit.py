"""From an assignment to what Ray Train is asked for."""

from dataclasses import replace

import pytest

from orchestrator.model.assignment import Assignment
from orchestrator.model.card import Dtype, ModelCard
from orchestrator.model.job import CheckpointRule, JobClass, Method, TrainJob
from orchestrator.runtime.controller import Controller
from orchestrator.runtime.fit import MAX_FAILURES, backend, trainer, worker_resources


@pytest.fixture
def assignment(tmp_path):
    card = ModelCard(
        name="m", source="/m", params=1e6, layers=1, hidden_size=8, heads=1, kv_heads=1, head_dim=8, context_tokens=8,
        dtype=Dtype.FP32,
    )  # fmt: skip
    job = TrainJob(
        name="tune", job_class=JobClass.BATCH, model=card, method=Method.LORA, data="/d", tokens=1.0, epochs=1.0,
        precision=Dtype.FP32, batch_size=1, gradient_accumulation=1, gradient_checkpointing=False, sequence_tokens=8,
        min_instances=1, max_instances=1, max_duration_s=None, deadline_s=None, retrain="never",
        checkpoint=CheckpointRule(interval_s=60.0, keep=4, storage=str(tmp_path / "checkpoints")), learning_rate=1e-3,
        lora_rank=1, seed=0, prompt_column="p", completion_column="c",
    )  # fmt: skip
    return Assignment(
        run_id="tune-7", attempt=2, job=job, label_selector=(("ray.io/market-type", "spot"), ("zone", "a")),
        accelerator="L4", accelerators_per_worker=1, cpus_per_worker=3, tensor_parallel=1, num_workers=2,
        storage="/s", output_model="", emulated=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "resources", "chosen"),
    [
        ({}, {"CPU": 3.0, "GPU": 1.0, "accelerator_type:L4": 0.001}, "gloo"),
        ({"emulated": False}, {"CPU": 3.0, "GPU": 1.0, "accelerator_type:L4": 0.001}, "nccl"),
        ({"accelerator": None, "accelerators_per_worker": 0, "emulated": False}, {"CPU": 3.0}, "gloo"),
    ],
    ids=["emulated", "gpu", "cpu"],
)
def test_asks_for_the_placement(assignment, changes, resources, chosen):
    made = replace(assignment, **changes)
    assert worker_resources(made) == resources
    assert backend(made) == chosen


def test_the_trainer_runs_where_the_assignment_says_and_survives(assignment, tmp_path):
    made = trainer(assignment, print, {}, Controller("http://nowhere", ""))
    scaling, run = made.scaling_config, made.run_config
    assert (scaling.num_workers, scaling.use_gpu) == (2, True)
    assert scaling.label_selector == {"ray.io/market-type": "spot", "zone": "a"}
    assert (run.name, run.storage_path) == ("tune-7", str(tmp_path / "checkpoints"))
    assert (run.failure_config.max_failures, run.failure_config.max_preemption_failures) == (MAX_FAILURES, -1)
    assert run.checkpoint_config.num_to_keep == 4


def test_manual_recovery_restarts_nothing(assignment):
    rule = replace(assignment.job.checkpoint, recovery="manual")
    manual = replace(assignment, job=replace(assignment.job, checkpoint=rule))
    failure = trainer(manual, print, {}, Controller("http://nowhere", "")).run_config.failure_config
    assert (failure.max_failures, failure.max_preemption_failures) == (0, 0)
