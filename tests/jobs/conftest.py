"""A tiny labelled data set, and a train job over it and the tiny model."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.model.assignment import Assignment
from orchestrator.model.card import Dtype, ModelCard
from orchestrator.model.job import CheckpointRule, JobClass, Method, TrainJob

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: threads that spin crawl on a busy machine

SELECTOR = (("orchestrator/instance-type", "g6.xlarge"), ("orchestrator/pool", "work"), ("ray.io/market-type", "spot"))
ANSWERS = {"cat": "animal", "dog": "animal", "rose": "plant", "fern": "plant", "iron": "metal", "tin": "metal"}


@pytest.fixture(scope="session")
def tiny_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with train.parquet (36 rows) and heldout.parquet (6 rows), three answers."""
    folder = tmp_path_factory.mktemp("data")
    rows = [(f"{count} {word}", answer) for count in range(6) for word, answer in ANSWERS.items()]
    heldout = [(f"{count} {word}", answer) for count, (word, answer) in enumerate(ANSWERS.items(), start=6)]
    for name, found in (("train", rows), ("heldout", heldout)):
        prompts, completions = zip(*found, strict=True)
        pq.write_table(pa.table({"prompt": prompts, "completion": completions}), folder / f"{name}.parquet")
    return folder


@pytest.fixture
def train_job(mini_llama: Path, tiny_data: Path, tmp_path: Path) -> Callable[..., TrainJob]:
    """Builds a train job over the tiny model and data; keyword arguments replace fields."""
    card = ModelCard(
        name="tiny", source=str(mini_llama), params=1e5, layers=2, hidden_size=64, heads=2, kv_heads=2, head_dim=32,
        context_tokens=512, dtype=Dtype.FP32,
    )  # fmt: skip
    job = TrainJob(
        name="tiny-finetune", job_class=JobClass.BATCH, model=card, method=Method.LORA,
        data=str(tiny_data / "train.parquet"), tokens=None, epochs=1.0, precision=Dtype.FP32, batch_size=6,
        gradient_accumulation=1, gradient_checkpointing=False, sequence_tokens=64, min_instances=1, max_instances=1,
        max_duration_s=None, deadline_s=None, retrain="never",
        checkpoint=CheckpointRule(interval_s=600.0, keep=2, storage=str(tmp_path / "checkpoints")),
        learning_rate=3e-3, lora_rank=8, seed=3, prompt_column="prompt", completion_column="completion",
    )  # fmt: skip
    return lambda **changes: replace(job, **changes)


@pytest.fixture
def assignment(train_job: Callable[..., TrainJob], tmp_path: Path) -> Callable[..., Assignment]:
    """Builds an assignment of a train job to one emulated L4; `job` and other keyword arguments replace fields."""
    storage = str(tmp_path / "storage")

    def build(**changes: object) -> Assignment:
        job = changes.pop("job", None) or train_job()
        made = Assignment(
            run_id="tiny-1", attempt=1, job=job, label_selector=SELECTOR,
            accelerator="L4", accelerators_per_worker=1, cpus_per_worker=2, tensor_parallel=1, num_workers=1,
            storage=storage, output_model=f"{storage}/models/tiny-finetune/tiny-1", emulated=True,
        )  # fmt: skip
        return replace(made, **changes)

    return build
