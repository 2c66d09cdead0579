"""How long training takes: work in FLOP over the rate that devices reach together."""

from dataclasses import dataclass

import numpy as np

from orchestrator.estimate.column import Column, Flags
from orchestrator.estimate.device import Device
from orchestrator.model.card import ModelCard
from orchestrator.model.job import Method
from orchestrator.model.offer import InstanceType, Interconnect

FLOP_PER_PARAM_TOKEN = {Method.FULL: 6.0, Method.LORA: 4.0}
"""Forward 2, backward 4 FLOP per parameter and token (Kaplan et al. 2020); frozen weights need no weight gradients:
4."""

RECOMPUTE_FLOP = 2.0
"""Gradient checkpointing runs the forward pass once more (Chen et al. 2016)."""

ATTENTION_FLOP = 6.0
"""Attention scores and values, causal, forward and backward: 6 x layers x hidden x sequence per token (PaLM, app. B,
halved)."""

MODEL_FLOP_UTILISATION = 0.35
"""Share of peak that a fine-tune with stock libraries reaches on an accelerator. PaLM 0.46 (Chowdhery et al. 2022),
MosaicML 0.4 to 0.5 on A100 (llm-foundry throughput tables, 2023), stock Hugging Face loops 0.3 to 0.4. CPU losses are
in the device."""

INSIDE = {Interconnect.NONE: 1.0, Interconnect.PCIE: 0.9, Interconnect.NVLINK: 0.97}
"""Data-parallel efficiency inside an instance: gradients of 2-8 GPUs over PCIe or NVLink, overlapped with the
backward pass."""

LARGE_OVER_PCIE = 0.55
"""Full training from 13e9 parameters on 8 GPUs without NVLink: practitioners report about 4 of 8 effective past that
size."""

BETWEEN_EFA, BETWEEN_TCP = 0.94, 0.75
"""Efficiency of each further instance: 8xA10G with EFA is reported at 85% up to 13B (0.9 inside x 0.94); TCP is an
assumption."""

LORA_COMMUNICATION = 0.25
"""An adapter's gradients are about 1% of a full model's; latency and waiting for the slowest remain: a quarter of the
loss."""

FSDP_COMMUNICATION = 1.5
"""FSDP gathers weights twice and scatters gradients once where data parallelism reduces gradients: 1.5 times the bytes
(Zhao et al. 2023, "PyTorch FSDP")."""

MOST_LOST = 0.9
"""However bad the network, a tenth of the rate is left: beyond that the formula says nothing."""

LARGE_PARAMS = 13e9


def training_flop(
    card: ModelCard, method: Method, tokens: float, *, sequence_tokens: int, gradient_checkpointing: bool
) -> float:
    """FLOP of a whole run over `tokens` (all epochs together), recomputation included."""
    per_param = FLOP_PER_PARAM_TOKEN[method] + (RECOMPUTE_FLOP if gradient_checkpointing else 0.0)
    attention = ATTENTION_FLOP * card.layers * card.hidden_size * min(sequence_tokens, card.context_tokens)
    return tokens * (per_param * card.params + attention)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """What joins the accelerators of instances, or columns of it: `inside` is the efficiency within one instance."""

    accelerators: Column
    inside: Column
    pcie: Flags
    efa: Flags


def fabric(instance: InstanceType) -> Fabric:
    """The fabric of one instance type."""
    return Fabric(
        accelerators=max(instance.accelerators, 1),
        inside=INSIDE[instance.interconnect],
        pcie=instance.interconnect is Interconnect.PCIE,
        efa=instance.efa,
    )


def scaling_efficiency(
    fabric: Fabric, instances: Column, method: Method, params: float, sharded: Flags = False
) -> Column:
    """Share of the devices' summed rate that data parallelism keeps, in (0, 1]: inside an instance times between
    instances; the loss grows by half when the model is sharded."""
    large = params >= LARGE_PARAMS
    inside = np.where(large & np.asarray(fabric.pcie) & (fabric.accelerators >= 8), LARGE_OVER_PCIE, fabric.inside)
    between = np.where(np.asarray(instances) > 1, np.where(fabric.efa, BETWEEN_EFA, BETWEEN_TCP), 1.0)
    lost = (1.0 - inside * between) * (LORA_COMMUNICATION if method is Method.LORA else 1.0)
    return 1.0 - np.minimum(lost * np.where(sharded, FSDP_COMMUNICATION, 1.0), MOST_LOST)


def training_s(flop: float, device: Device, devices: Column, efficiency: Column) -> Column:
    """Seconds of pure training on `devices` devices: FLOP / (devices x TFLOP/s x MFU x scaling efficiency)."""
    utilisation = np.where(device.is_cpu, 1.0, MODEL_FLOP_UTILISATION)
    return flop / (devices * device.tflops * 1e12 * utilisation * efficiency)
