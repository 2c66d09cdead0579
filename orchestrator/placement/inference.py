"""What batch and serving share: a model loaded by an engine on the accelerators of an instance."""

from collections.abc import Iterator

from orchestrator.estimate.device import TENSOR_DEGREES, device, inference_dtype, peak_tflops
from orchestrator.estimate.generation import Generator
from orchestrator.estimate.memory import engine_room_gib, kv_gib, weights_gib
from orchestrator.model.card import Dtype, ModelCard
from orchestrator.model.job import Engine
from orchestrator.model.offer import InstanceType
from orchestrator.placement.refusal import Refusal, figure

MAX_NUM_SEQS = 128
"""Sequences in flight unless the catalog says otherwise."""


def generators(
    card: ModelCard, engine: Engine, quantization: Dtype | None, instance: InstanceType, longest_tokens: float
) -> Iterator[Generator | Refusal]:
    """The model on every tensor-parallel degree that the instance and the model's heads allow, or why not.

    An engine starts only if one sequence of its longest length fits: that of the catalog, else the model's context.
    """
    compute = inference_dtype(instance, card.dtype, engine.dtype)
    if peak_tflops(instance, compute) <= 0:
        name = instance.accelerator.name if instance.accelerator else "this CPU"
        yield Refusal(reason="precision", needed=compute.value, available=f"not on {name}")
        return
    stored = quantization or compute
    sequence_tokens = max(engine.max_model_len or card.context_tokens, longest_tokens)
    needed_gib = weights_gib(card, stored) + kv_gib(card, compute, sequence_tokens)
    degrees = list(_degrees(card, engine, instance))
    if not degrees:
        wanted = engine.tensor_parallel_size
        yield Refusal(
            reason="tensor-parallel",
            needed="a divisor of the heads" if wanted is None else wanted,
            available=max(instance.accelerators, 1),
            unit="accelerators of one instance",
        )
    for degree in degrees:
        where = device(instance, compute, degree)
        room_gib = engine_room_gib(where, engine.gpu_memory_utilization)
        if needed_gib > room_gib:
            yield Refusal(reason="memory", needed=figure(needed_gib), available=figure(room_gib), unit="GiB")
            continue
        yield Generator(card=card, device=where, weights=stored, kv_room_gib=room_gib - weights_gib(card, stored))


def _degrees(card: ModelCard, engine: Engine, instance: InstanceType) -> Iterator[int]:
    """Degrees inside one instance that divide the heads; a CPU machine is one device."""
    wanted = engine.tensor_parallel_size
    if instance.accelerator is None:
        if wanted in (None, 1):
            yield 1
        return
    for degree in TENSOR_DEGREES if wanted is None else (wanted,):
        fits = degree in TENSOR_DEGREES and degree <= instance.accelerators
        if fits and card.heads % degree == 0 and card.kv_heads % degree == 0:
            yield degree
