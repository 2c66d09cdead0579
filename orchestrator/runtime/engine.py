"""vLLM settings from the catalog and the placement: one source for batch inference and serving."""

from enum import StrEnum
from typing import Any

from orchestrator.model.card import Dtype, ModelCard
from orchestrator.model.job import Engine

GIB = 1024**3
KV_CACHE_LIMIT_BYTES = GIB // 2
"""Most KV cache of an emulated accelerator's engine, unless one request of full length needs more."""

MAX_NUM_SEQS, CPU_MAX_NUM_SEQS = 128, 64
"""Sequences at once when the catalog does not say; on a CPU more only add memory."""

_VLLM_DTYPE = {Dtype.FP32: "float32", Dtype.BF16: "bfloat16", Dtype.FP16: "float16"}
_BLOCK_TOKENS = 128
"""KV-cache block of vLLM's CPU backend (0.32.0, `platforms/cpu.py`)."""


class Compute(StrEnum):
    """What an engine computes on: an accelerator, a CPU machine of its own, or a CPU that emulated nodes share."""

    ACCELERATOR = "accelerator"
    CPU = "cpu"
    EMULATED = "emulated"


def compute_on(accelerator: str | None, *, emulated: bool) -> Compute:
    """Where an engine computes that runs on nodes with this accelerator (None = CPU only)."""
    if emulated:
        return Compute.EMULATED
    return Compute.CPU if accelerator is None else Compute.ACCELERATOR


def engine_kwargs(engine: Engine, card: ModelCard, compute: Compute, tensor_parallel: int) -> dict[str, Any]:
    """Arguments for vLLM's engine. Emulated accelerators share one CPU, so tensor parallelism is for real ones."""
    chosen: dict[str, Any] = {
        "tensor_parallel_size": tensor_parallel if compute is Compute.ACCELERATOR else 1,
        "max_model_len": context_tokens(engine, card),
        "max_num_seqs": max_num_seqs(engine, compute),
        "enable_prefix_caching": True,
        "dtype": _dtype(engine, card),
        "enforce_eager": engine.enforce_eager,
        "gpu_memory_utilization": engine.gpu_memory_utilization,
    }
    if compute is not Compute.ACCELERATOR:
        chosen |= {"dtype": "float32", "enforce_eager": True}
    if compute is Compute.EMULATED:
        chosen["kv_cache_memory_bytes"] = kv_cache_bytes(card, chosen["max_model_len"], chosen["max_num_seqs"])
    return chosen


def _dtype(engine: Engine, card: ModelCard) -> str:
    """The catalog's word, else fp32 kept as it is; "auto" takes the model's own, and fp16 where hardware lacks bf16."""
    if engine.dtype is not None:
        return _VLLM_DTYPE.get(engine.dtype, "auto")
    return "float32" if card.dtype is Dtype.FP32 else "auto"


def context_tokens(engine: Engine, card: ModelCard) -> int:
    """Longest prompt plus answer, in tokens: the catalog's limit, never above the model's own."""
    return min(engine.max_model_len or card.context_tokens, card.context_tokens)


def max_num_seqs(engine: Engine, compute: Compute) -> int:
    """Sequences an engine runs at once: the catalog's word, else 128 on an accelerator and 64 on a CPU."""
    return engine.max_num_seqs or (MAX_NUM_SEQS if compute is Compute.ACCELERATOR else CPU_MAX_NUM_SEQS)


def kv_cache_bytes(card: ModelCard, context: int, seqs: int) -> int:
    """KV cache of an emulated accelerator in fp32: enough for `seqs` requests of full length, capped at half a GiB.

    Never less than one request of full length plus a block, which the engine needs to start:
    2 (keys and values) x layers x KV heads x head size x 4 bytes per token.
    """
    per_token = int(2 * card.layers * card.kv_heads * card.head_dim * Dtype.FP32.bytes_per_value)
    blocks_of_one = -(-context // _BLOCK_TOKENS) + 2
    one_request = blocks_of_one * _BLOCK_TOKENS * per_token
    return max(one_request, min(KV_CACHE_LIMIT_BYTES, one_request * seqs))


def engine_env(compute: Compute, threads: int) -> dict[str, str]:
    """Environment of the engine's processes. `threads` is for emulated accelerators.

    vLLM's CPU backend binds to all cores but one, which suits a machine of its own. Naming the threads, not binding
    them and letting idle ones sleep instead of spin makes engines share a machine, as emulated nodes do: on two busy
    cores, 368 against 217 tokens/s.
    """
    common = {
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
        "VLLM_LOGGING_LEVEL": "ERROR",
        "TORCH_CPP_LOG_LEVEL": "ERROR",
        "PYTHONWARNINGS": "ignore::FutureWarning",
    }
    if compute is not Compute.EMULATED:
        return common
    sharing = {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
    return common | sharing
