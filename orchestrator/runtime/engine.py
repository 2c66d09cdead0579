"""vLLM settings from the catalog and the placement: one source for batch inference and serving."""

from typing import Any

from orchestrator.model.card import Dtype, ModelCard
from orchestrator.model.job import Engine

GIB = 1024**3
CPU_KV_CACHE_LIMIT_BYTES = GIB // 2
"""Most that an engine on CPU reserves for its KV cache, unless one request of full length needs more."""

CPU_MAX_NUM_SEQS = 64
"""Sequences at once on a CPU engine when the catalog does not say; more only adds memory there."""

_VLLM_DTYPE = {Dtype.FP32: "float32", Dtype.BF16: "bfloat16", Dtype.FP16: "float16"}
_BLOCK_TOKENS = 128
"""KV-cache block of vLLM's CPU backend (0.32.0, `platforms/cpu.py`)."""


def engine_kwargs(engine: Engine, card: ModelCard, *, tensor_parallel: int, cpu: bool) -> dict[str, Any]:
    """Arguments for vLLM's engine; `cpu` = the engine computes on CPU (a CPU offer, or an emulated accelerator).

    A quantised card keeps dtype "auto": its own config says how it was quantised.
    """
    chosen: dict[str, Any] = {
        "tensor_parallel_size": tensor_parallel,
        "max_model_len": context_tokens(engine, card),
        "enable_prefix_caching": True,
        "dtype": _VLLM_DTYPE.get(engine.dtype or card.dtype, "auto"),
        "enforce_eager": engine.enforce_eager,
        "gpu_memory_utilization": engine.gpu_memory_utilization,
    }
    if engine.max_num_seqs is not None:
        chosen["max_num_seqs"] = engine.max_num_seqs
    if cpu:
        chosen |= _cpu_kwargs(engine, card)
    return chosen


def context_tokens(engine: Engine, card: ModelCard) -> int:
    """Longest prompt plus answer, in tokens: the catalog's limit, never above the model's own."""
    return min(engine.max_model_len or card.context_tokens, card.context_tokens)


def max_num_seqs(engine: Engine, *, cpu: bool) -> int:
    """Sequences an engine runs at once; 128 on an accelerator when the catalog does not say (mission R1)."""
    return engine.max_num_seqs or (CPU_MAX_NUM_SEQS if cpu else 128)


def _cpu_kwargs(engine: Engine, card: ModelCard) -> dict[str, Any]:
    """Full precision, no compilation and an explicit KV cache, which also skips vLLM's warm-up on CPU."""
    seqs = max_num_seqs(engine, cpu=True)
    return {
        "dtype": "float32",
        "enforce_eager": True,
        "max_num_seqs": seqs,
        "kv_cache_memory_bytes": kv_cache_bytes(card, context_tokens(engine, card), seqs),
        "gpu_memory_utilization": 0.4,
    }


def kv_cache_bytes(card: ModelCard, context: int, seqs: int) -> int:
    """KV cache of a CPU engine in fp32: enough for `seqs` requests of full length, capped at half a GiB.

    Never less than one request of full length plus a block, which the engine needs to start:
    2 (keys and values) x layers x KV heads x head size x 4 bytes per token.
    """
    per_token = int(2 * card.layers * card.kv_heads * card.head_dim * Dtype.FP32.bytes_per_value)
    blocks_of_one = -(-context // _BLOCK_TOKENS) + 2
    one_request = blocks_of_one * _BLOCK_TOKENS * per_token
    return max(one_request, min(CPU_KV_CACHE_LIMIT_BYTES, one_request * seqs))


def engine_env(*, cpu: bool, threads: int) -> dict[str, str]:
    """Environment of the engine's processes. `threads` is used on CPU only.

    vLLM's CPU backend would bind to all cores but one. Naming the threads, not binding them and letting idle ones sleep
    instead of spin makes engines share a machine, as emulated nodes do: on two busy cores, 368 against 217 tokens/s.
    """
    common = {
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
        "VLLM_LOGGING_LEVEL": "ERROR",
        "TORCH_CPP_LOG_LEVEL": "ERROR",
        "PYTHONWARNINGS": "ignore::FutureWarning",
    }
    if not cpu:
        return common
    return common | {
        "OMP_NUM_THREADS": str(threads),
        "OMP_WAIT_POLICY": "PASSIVE",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    }
