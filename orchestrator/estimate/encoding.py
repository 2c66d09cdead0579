"""Embedding models and classifiers: one forward pass a request, in small batches."""

from dataclasses import dataclass

import numpy as np

from orchestrator.estimate.column import Column
from orchestrator.estimate.device import Device
from orchestrator.estimate.generation import BANDWIDTH_UTILISATION, PREFILL_UTILISATION
from orchestrator.estimate.memory import GIB, weights_gib
from orchestrator.model.card import ModelCard

BLOCK_PARAMS = 12.0
"""Parameters of a transformer block in units of hidden^2 (4 attention, 8 feed-forward); embeddings are only looked
up."""

BATCH_OVERHEAD_S = 0.005
"""Tokenising, batching and returning a batch through Ray Serve. Assumption."""

BATCH_SIZES = (1, 2, 4, 8, 16, 32)
LATENCY_BATCHES = 3.0
"""99th percentile of a request's time in batch times: the batch under way, its own, and one more in the tail.
Assumption."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """A model on a device, for requests of `tokens` tokens."""

    card: ModelCard
    device: Device
    tokens: float


def request_flop(card: ModelCard, tokens: float) -> float:
    """2 x (parameters of the blocks) x tokens + 4 x layers x hidden x tokens^2 for attention."""
    blocks = min(card.params, BLOCK_PARAMS * card.layers * card.hidden_size**2)
    return 2.0 * blocks * tokens + 4.0 * card.layers * card.hidden_size * tokens**2


def batch_s(encoder: Encoder, batch: Column) -> Column:
    """Seconds of one batch: max(FLOP / rate, weights / bandwidth) + overhead."""
    device = encoder.device
    utilisation = np.where(device.is_cpu, 1.0, PREFILL_UTILISATION)
    compute_s = batch * request_flop(encoder.card, encoder.tokens) / (device.tflops * 1e12 * utilisation)
    weights_bytes = weights_gib(encoder.card, device.value_bytes) * GIB
    traffic_s = weights_bytes / (device.bandwidth_gb_per_s * 1e9 * BANDWIDTH_UTILISATION)
    return np.maximum(compute_s, traffic_s) + BATCH_OVERHEAD_S


def requests_per_s(encoder: Encoder, batch: Column) -> Column:
    """Throughput at a batch size. Two batches overlap, one computing while the other is prepared, so overhead is not
    added."""
    return batch / np.maximum(batch_s(encoder, batch) - BATCH_OVERHEAD_S, BATCH_OVERHEAD_S / 2.0)


def latency_p99_s(encoder: Encoder, batch: Column) -> Column:
    """99th percentile of a request's time, in seconds."""
    return LATENCY_BATCHES * batch_s(encoder, batch)
