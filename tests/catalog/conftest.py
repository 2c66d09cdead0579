"""A valid catalog as text, and ways to change it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.catalog import CatalogError, load_text
from orchestrator.model.catalog import Catalog

VALID = """\
version: 1
cluster:
  provider: aws
  region: us-east-1
  storage: "s3://acme-ml/orchestrator"
  budget: $60/h
  max_workers: 64
  quotas: {G-spot: 192, G-on-demand: 64, P-spot: 192}
models:
  chat-8b:
    {source: "s3://acme-ml/models/chat-8b", params: 8.03e9, layers: 32,
     hidden: 4096, heads: 32, kv_heads: 8, head_dim: 128, context: 8192, dtype: bf16}
  chat-3b:
    {source: "s3://acme-ml/models/chat-3b", params: 3.21B, layers: 28,
     hidden: 3072, heads: 24, kv_heads: 8, head_dim: 128, context: 8192, dtype: bf16}
  eta-45m:
    {source: "s3://acme-ml/models/eta", params: 45e6, layers: 6,
     hidden: 512, heads: 8, kv_heads: 8, head_dim: 64, context: 512, dtype: fp32}
jobs:
  tune:
    kind: train
    class: deadline
    priority: 5
    model: chat-8b
    method: lora
    data: "s3://acme-ml/data/claims/*.parquet"
    tokens: 40M
    epochs: 2
    precision: bf16
    batch_size: 32
    gradient_accumulation: 4
    gradient_checkpointing: true
    sequence_length: 2048
    accelerators: any
    instances: {min: 1, max: 2}
    lifecycle: spot
    max_price: $3.20/h
    max_duration: 12h
    deadline: 24h
    retrain: weekly
    checkpoint: {interval: 10m, keep: 3, storage: "s3://acme-ml/checkpoints", recovery: auto-restart}
  nightly:
    kind: batch
    model: run:tune
    schedule: {cron: "0 2 * * *", timezone: America/New_York, done_by: "06:00", overlap: skip}
    input: "s3://acme-ml/items/date={date}/*.parquet"
    output: "s3://acme-ml/scores/date={date}/"
    id_column: item_id
    prompt: "Score this item: {{ text }}"
    rows: 5M
    prompt_tokens: 220
    output_tokens: 8
    lifecycle: spot
  copilot:
    kind: serve
    models: {small: chat-3b, large: chat-8b}
    route:
      - {if: "prompt_words < 50", to: small, max_tokens: 128}
      - {to: large, max_tokens: 1024}
    traffic: {requests_per_second: 12, peak: 40, prompt_tokens: 350, output_tokens: 180, pattern: spiky}
    slo: {ttft_p99: 800ms, itl_p99: 60ms}
    replicas: {min: 1, max: 12, warm: 2}
    quantization: {weights: int8, max_accuracy_drop: 2%}
    speculative: {method: ngram}
    engine: {max_num_seqs: 128, gpu_memory_utilization: 0.9}
    overflow: {to: "https://api.example.com/v1", key_env: OVERFLOW_KEY, max_spend: $20/day}
    lifecycle: auto
  eta:
    kind: serve
    models: {only: eta-45m}
    task: classify
    traffic: {requests_per_second: 850, prompt_tokens: 64, pattern: constant}
    slo: {latency_p99: 220ms}
    replicas: {min: 1, max: 8}
"""

MINIMAL = """\
version: 1
cluster: {provider: local, region: us-east-1, storage: ./state}
models:
  m: {source: ./m, params: 3.4M, layers: 2, hidden: 64, heads: 4, context: 1024}
jobs:
"""


@pytest.fixture(scope="session")
def valid() -> str:
    """A catalog that uses every key of the schema's example form."""
    return VALID


@pytest.fixture(scope="session")
def with_jobs() -> Callable[[str], str]:
    """A small catalog with these lines as its jobs; line 1 of them is line 6 of the file."""
    return lambda jobs: MINIMAL + jobs


@pytest.fixture(scope="session")
def faults() -> Callable[[str], list[str]]:
    """The faults of a catalog's text, as lines that begin with `c.yaml:`."""

    def find(text: str) -> list[str]:
        with pytest.raises(CatalogError) as caught:
            load_text(text, "c.yaml", Path("/base"))
        return list(caught.value.lines)

    return find


@pytest.fixture(scope="session")
def catalog() -> Callable[[str], Catalog]:
    """The catalog of a text that is valid."""
    return lambda text: load_text(text, "c.yaml", Path("/base"))
