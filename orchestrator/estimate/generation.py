"""Text generation with continuous batching: prefill bound by compute, decoding by memory traffic, at a concurrency."""

from dataclasses import dataclass

import numpy as np

from orchestrator.estimate.column import Column
from orchestrator.estimate.device import Device
from orchestrator.estimate.memory import GIB, kv_bytes_per_token, weights_gib
from orchestrator.model.card import ModelCard

PREFILL_UTILISATION = 0.45
"""Share of peak FLOP/s in prefill: vLLM and TensorRT-LLM reach 0.4 to 0.6 on long batches (vLLM performance notes,
2024)."""

BANDWIDTH_UTILISATION = 0.75
"""Share of peak memory bandwidth in decoding (LLM inference roofline measurements, 0.6 to 0.85; Yuan et al. 2024)."""

STEP_OVERHEAD_S = 0.003
"""Scheduler, sampler and kernel launches of an engine step; dominates for models below 1e9 parameters. Assumption."""

P99_ITL = 1.25
"""99th percentile over mean inter-token latency, when prefills are chunked and spread over steps. Assumption."""

P99_WAIT = 4.6
"""ln(100): 99th percentile over mean of an exponential waiting time."""

HEADROOM = 0.8
"""Load is planned at this share of the capacity within the objective, to absorb the noise of arrivals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What requests look like: mean prompt and output tokens; output of at least one token."""

    prompt_tokens: float
    output_tokens: float

    @property
    def context_tokens(self) -> float:
        """Mean tokens of a sequence in flight: the prompt and half of its output."""
        return self.prompt_tokens + self.output_tokens / 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Generator:
    """A model on a device: `bytes_per_weight` is what a stored parameter takes (`memory.weight_bytes`), `kv_room_gib`
    what is left for the KV cache."""

    card: ModelCard
    device: Device
    bytes_per_weight: Column
    kv_room_gib: Column


def prefill_s_per_token(generator: Generator) -> Column:
    """2 FLOP per parameter over the reached rate."""
    device = generator.device
    utilisation = np.where(device.is_cpu, 1.0, PREFILL_UTILISATION)
    return 2.0 * generator.card.params / (device.tflops * 1e12 * utilisation)


def step_s(generator: Generator, workload: Workload, concurrency: Column) -> Column:
    """Seconds of one decoding step of `concurrency` sequences, which makes one token for each.

    max(bytes / bandwidth, FLOP / rate) + overhead, with bytes = weights + concurrency x context x KV bytes per token.
    """
    card, device = generator.card, generator.device
    weights_bytes = weights_gib(card, generator.bytes_per_weight) * GIB
    kv_bytes = concurrency * workload.context_tokens * kv_bytes_per_token(card, device.value_bytes)
    traffic_s = (weights_bytes + kv_bytes) / (device.bandwidth_gb_per_s * 1e9 * BANDWIDTH_UTILISATION)
    compute_s = concurrency * prefill_s_per_token(generator)
    return np.maximum(traffic_s, compute_s) + STEP_OVERHEAD_S


def most_sequences(generator: Generator, workload: Workload, max_num_seqs: int) -> Column:
    """Sequences in flight that KV cache and engine setting allow, each at its full length; 0 = not even one."""
    full_length = workload.prompt_tokens + workload.output_tokens
    tokens = generator.kv_room_gib * GIB / kv_bytes_per_token(generator.card, generator.device.value_bytes)
    return np.clip(np.floor(tokens / full_length), 0.0, float(max_num_seqs))


def itl_s(generator: Generator, workload: Workload, concurrency: Column) -> Column:
    """Mean seconds between a sequence's tokens: a step plus its share of the others' prefills.

    While a sequence makes its output tokens, `concurrency` other prompts are prefilled beside it (closed system).
    """
    prefill_s = workload.prompt_tokens * prefill_s_per_token(generator)
    return step_s(generator, workload, concurrency) + concurrency * prefill_s / workload.output_tokens


def requests_per_s(generator: Generator, workload: Workload, concurrency: Column) -> Column:
    """Throughput at a concurrency: concurrency / (output tokens x inter-token latency), by Little's law."""
    return concurrency / (workload.output_tokens * itl_s(generator, workload, concurrency))


def itl_p99_s(generator: Generator, workload: Workload, concurrency: Column) -> Column:
    """99th percentile of the inter-token latency, in seconds."""
    return itl_s(generator, workload, concurrency) * P99_ITL


def ttft_p99_s(generator: Generator, workload: Workload, concurrency: Column) -> Column:
    """99th percentile of the time to first token: the step under way, own prefill and the wait behind other prefills.

    The wait is that of an M/D/1 queue, load x service / (2 (1 - load)), times ln 100.
    """
    prefill_s = workload.prompt_tokens * prefill_s_per_token(generator)
    load = np.minimum(requests_per_s(generator, workload, concurrency) * prefill_s, 0.99)
    wait_s = P99_WAIT * load * prefill_s / (2.0 * (1.0 - load))
    return step_s(generator, workload, concurrency) + prefill_s + wait_s


def latency_p99_s(generator: Generator, workload: Workload, concurrency: Column) -> Column:
    """99th percentile of a whole request: its first token late, the others at the mean pace."""
    rest = max(workload.output_tokens - 1.0, 0.0)
    return ttft_p99_s(generator, workload, concurrency) + rest * itl_s(generator, workload, concurrency)
