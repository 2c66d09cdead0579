"""What batch and serving share: a model loaded by an engine on the accelerators of an instance."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.estimate.calibration import Calibration
from orchestrator.estimate.device import TENSOR_DEGREES, sped_up
from orchestrator.estimate.generation import Generator
from orchestrator.estimate.memory import engine_room_gib, kv_gib, weight_bytes, weights_gib
from orchestrator.model.card import Dtype, ModelCard
from orchestrator.model.job import Engine
from orchestrator.placement.hardware import Hardware
from orchestrator.placement.verdict import Verdict

MAX_NUM_SEQS = 128
"""Sequences in flight unless the catalog says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Engines:
    """A model on every machine and tensor-parallel degree: (types, degrees). `degrees` marks those that the instance
    and the model's heads allow; `verdicts` say why others cannot hold it."""

    generator: Generator
    degrees: NDArray[np.bool_]
    verdicts: tuple[Verdict, ...]
    basis: NDArray[np.int8]

    @property
    def considered(self) -> NDArray[np.bool_]:
        """Allowed degrees; where there are none the first, whose verdict says so."""
        found = self.degrees.copy()
        found[:, 0] |= ~self.degrees.max(axis=1)
        return found


def engines(
    card: ModelCard,
    engine: Engine,
    quantization: Dtype | None,
    hardware: Hardware,
    longest_tokens: float,
    calibration: Calibration,
) -> Engines:
    """An engine starts only if one sequence of its longest length fits: that of the catalog, else the model's
    context."""
    nominal, computed = hardware.for_inference(card.dtype, engine.dtype)
    factor, basis = calibration.of(card, hardware.accelerator_names, "generate")
    where = sped_up(nominal, factor[:, None])
    stored = where.value_bytes if quantization is None else np.full_like(where.value_bytes, weight_bytes(quantization))
    sequence_tokens = max(engine.max_model_len or card.context_tokens, longest_tokens)
    weights = weights_gib(card, stored)
    needed_gib = weights + kv_gib(card, where.value_bytes, sequence_tokens)
    room_gib = engine_room_gib(where, engine.gpu_memory_utilization)
    degrees = _degrees(card, engine, hardware)
    lacking = np.broadcast_to(np.isnan(where.tflops[:, :1]), degrees.shape)
    wanted = engine.tensor_parallel_size
    none = np.broadcast_to(~degrees.max(axis=1, keepdims=True), degrees.shape)
    return Engines(
        generator=Generator(card=card, device=where, bytes_per_weight=stored, kv_room_gib=room_gib - weights),
        degrees=degrees,
        verdicts=(
            Verdict(
                reason="precision",
                broken=lacking,
                needed=np.array([dtype.value for dtype in computed], dtype=object)[:, None],
                available=hardware.lacking,
            ),
            Verdict(
                reason="tensor-parallel",
                broken=none,
                needed="a divisor of the heads" if wanted is None else float(wanted),
                available=hardware.accelerators[:, None],
                unit="accelerators of one instance",
            ),
            Verdict(reason="memory", broken=needed_gib > room_gib, needed=needed_gib, available=room_gib, unit="GiB"),
        ),
        basis=basis,
    )


def _degrees(card: ModelCard, engine: Engine, hardware: Hardware) -> NDArray[np.bool_]:
    """Degrees inside one instance that divide the heads; a CPU machine is one device."""
    wanted = engine.tensor_parallel_size
    divides = [
        card.heads % degree == 0 and card.kv_heads % degree == 0 and wanted in (None, degree)
        for degree in TENSOR_DEGREES
    ]
    fits = np.array(TENSOR_DEGREES)[None, :] <= hardware.accelerators[:, None]
    allowed: NDArray[np.bool_] = fits & np.array(divides)[None, :]
    return allowed
