"""The demo from its first line to its last, with a tiny model; at the end nothing is left running."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.cluster.process import CLUSTER_MARK

ROOT = Path(__file__).parents[2]
ORCHESTRATOR = Path(sys.executable).with_name("orchestrator")
TIMEOUT_S = 1500
ANSWERS = {"cat": "animal", "dog": "animal", "rose": "plant", "fern": "plant", "iron": "metal", "tin": "metal"}

CATALOG = """\
version: 1
cluster: {{provider: local, region: us-east-1, storage: {folder}/storage, max_workers: 6}}
models:
  tiny:
    {{source: {model}, params: 3.4M, layers: 4, hidden: 256, heads: 8, kv_heads: 8, head_dim: 32, context: 1024,
      dtype: fp32}}
jobs:
  ops-finetune:
    {{kind: train, model: tiny, method: full, data: {folder}/train.parquet, epochs: 40, precision: fp32, batch_size: 6,
      sequence_length: 64, accelerators: L4, lifecycle: spot, learning_rate: 1e-3,
      checkpoint: {{interval: 3s, keep: 2}}}}
  ops-small:
    {{kind: train, model: tiny, method: full, data: {folder}/train.parquet, epochs: 5, precision: fp32, batch_size: 6,
      sequence_length: 64, accelerators: L4, lifecycle: spot, learning_rate: 1e-3,
      checkpoint: {{interval: 30s, keep: 2}}}}
  ops-nightly:
    kind: batch
    model: run:ops-finetune
    schedule: {{cron: "0 2 * * *", timezone: UTC, done_by: "06:00"}}
    input: {folder}/batch.parquet
    output: "{folder}/storage/nightly/date={{date}}"
    prompt: "{{{{ prompt }}}}"
    rows: 4000
    prompt_tokens: 40
    output_tokens: 8
    accelerators: L4
    lifecycle: spot
    engine: {{max_num_seqs: 64, max_model_len: 256, dtype: fp32, enforce_eager: true}}
  ops-assistant:
    kind: serve
    models: {{small: run:ops-small, large: run:ops-finetune}}
    route:
      - {{if: "prompt_words < 50", to: small, max_tokens: 128}}
      - {{to: large, max_tokens: 256}}
    traffic: {{requests_per_second: 1, peak: 2, prompt_tokens: 40, output_tokens: 8, pattern: constant}}
    replicas: {{min: 1, max: 1}}
    accelerators: L4
    engine: {{max_num_seqs: 8, max_model_len: 512, dtype: fp32, enforce_eager: true}}
"""


@pytest.fixture
def catalog(tmp_path: Path, tiny_llama: Path) -> Path:
    """A catalog like the demo's over a tiny model and a task that it learns in seconds."""
    rows = [(f"{count} {word}", answer) for count in range(6) for word, answer in ANSWERS.items()]
    heldout = [(f"{count} {word}", answer) for count, (word, answer) in enumerate(ANSWERS.items(), start=6)]
    for name, found in (("train", rows), ("heldout", heldout)):
        prompts, completions = zip(*found, strict=True)
        pq.write_table(pa.table({"prompt": prompts, "completion": completions}), tmp_path / f"{name}.parquet")
    ids = [f"row-{number:05}" for number in range(4000)]
    prompts = [f"{number % 10} {list(ANSWERS)[number % len(ANSWERS)]}" for number in range(len(ids))]
    pq.write_table(pa.table({"id": ids, "prompt": prompts}), tmp_path / "batch.parquet")
    file = tmp_path / "catalog.yaml"
    file.write_text(CATALOG.format(folder=tmp_path, model=tiny_llama))
    return file


@pytest.mark.ray
@pytest.mark.engine
@pytest.mark.timeout(TIMEOUT_S)
def test_the_whole_story(catalog: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run(
        [ORCHESTRATOR, "demo", "--catalog", catalog, "--state-dir", state],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S - 60,
        check=False,
    )
    told = done.stdout
    assert done.returncode == 0, told + done.stderr
    assert "one interruption, one resume" in told
    assert "4000 rows in, 4000 answers, 0 in the error table: 0 lost, 0 doubled" in told
    assert "→ small" in told
    assert "→ large" in told
    assert "would have cost" in told, "the bill says that emulated nodes cost nothing"
    assert (state / "ledger.db").exists()
    assert not (state / "cluster.json").exists()
    assert not [process.pid for process in psutil.process_iter() if _belongs_to(process, state)]


def _belongs_to(process: psutil.Process, state: Path) -> bool:
    try:
        environment = process.environ()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
    return CLUSTER_MARK in environment and environment.get("ORCHESTRATOR_STATE_DIR") == str(state)
