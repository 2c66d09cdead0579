"""Settings of vLLM's engine from the catalog and the hardware."""

from dataclasses import replace

import pytest

from orchestrator.model.card import Dtype, ModelCard
from orchestrator.model.job import Engine
from orchestrator.runtime.engine import Compute, compute_on, engine_env, engine_kwargs, kv_cache_bytes

CARD = ModelCard(
    name="smollm2", source="/models/smollm2", params=135e6, layers=30, hidden_size=576, heads=9, kv_heads=3,
    head_dim=64, context_tokens=8192, dtype=Dtype.BF16,
)  # fmt: skip


@pytest.mark.parametrize(
    ("accelerator", "emulated", "expected"),
    [
        pytest.param("L4", False, Compute.ACCELERATOR, id="gpu"),
        pytest.param("L4", True, Compute.EMULATED, id="emulated-gpu"),
        pytest.param(None, False, Compute.CPU, id="cpu-machine"),
        pytest.param(None, True, Compute.EMULATED, id="emulated-cpu-machine"),
    ],
)
def test_what_computes(accelerator: str | None, emulated: bool, expected: Compute) -> None:
    assert compute_on(accelerator, emulated=emulated) is expected


@pytest.mark.parametrize(
    ("compute", "card", "engine", "expected"),
    [
        pytest.param(Compute.ACCELERATOR, Dtype.BF16, None, "auto", id="the-model's-own"),
        pytest.param(Compute.ACCELERATOR, Dtype.INT8, None, "auto", id="quantised-as-its-config-says"),
        pytest.param(Compute.ACCELERATOR, Dtype.FP32, None, "float32", id="fp32-is-kept"),
        pytest.param(Compute.ACCELERATOR, Dtype.FP32, Dtype.FP16, "float16", id="catalog-wins"),
        pytest.param(Compute.CPU, Dtype.BF16, Dtype.BF16, "float32", id="cpu-computes-in-fp32"),
    ],
)
def test_number_format(compute: Compute, card: Dtype, engine: Dtype | None, expected: str) -> None:
    found = engine_kwargs(Engine(dtype=engine), replace(CARD, dtype=card), compute, 1)
    assert found["dtype"] == expected


@pytest.mark.parametrize(
    ("limit", "context"), [(None, 8192), (2048, 2048), (100_000, 8192)], ids=["model", "catalog", "never-above-model"]
)
def test_context(limit: int | None, context: int) -> None:
    assert engine_kwargs(Engine(max_model_len=limit), CARD, Compute.ACCELERATOR, 1)["max_model_len"] == context


def test_only_real_accelerators_are_used_in_parallel() -> None:
    assert engine_kwargs(Engine(), CARD, Compute.ACCELERATOR, 4)["tensor_parallel_size"] == 4
    assert engine_kwargs(Engine(), CARD, Compute.EMULATED, 4)["tensor_parallel_size"] == 1


def test_only_shared_machines_bound_memory_and_threads() -> None:
    assert "kv_cache_memory_bytes" in engine_kwargs(Engine(), CARD, Compute.EMULATED, 1)
    assert engine_env(Compute.EMULATED, 2)["OMP_NUM_THREADS"] == "2"
    for own in (Compute.CPU, Compute.ACCELERATOR):
        assert "kv_cache_memory_bytes" not in engine_kwargs(Engine(), CARD, own, 1)
        assert "OMP_NUM_THREADS" not in engine_env(own, 2)


@pytest.mark.parametrize(
    ("context", "seqs", "most_bytes"),
    [
        pytest.param(1024, 1, 100 * 1024**2, id="one-request"),
        pytest.param(1024, 512, 512 * 1024**2, id="capped"),
        pytest.param(100_000, 4, 5 * 1024**3, id="one-request-beats-the-cap"),
    ],
)
def test_kv_cache_holds_one_request_of_full_length(context: int, seqs: int, most_bytes: int) -> None:
    bytes_per_token = 2 * 30 * 3 * 64 * 4
    assert context * bytes_per_token <= kv_cache_bytes(CARD, context, seqs) <= most_bytes
