"""How long training takes: work in FLOP over the rate that devices reach together."""

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

LARGE_PARAMS = 13e9


def training_flop(
    card: ModelCard, method: Method, tokens: float, *, sequence_tokens: int, gradient_checkpointing: bool
) -> float:
    """FLOP of a whole run over `tokens` (all epochs together), recomputation included."""
    per_param = FLOP_PER_PARAM_TOKEN[method] + (RECOMPUTE_FLOP if gradient_checkpointing else 0.0)
    attention = ATTENTION_FLOP * card.layers * card.hidden_size * min(sequence_tokens, card.context_tokens)
    return tokens * (per_param * card.params + attention)


def scaling_efficiency(instance: InstanceType, instances: int, method: Method, params: float) -> float:
    """Share of the devices' summed rate that data parallelism keeps, in (0, 1]: inside an instance times between
    instances."""
    inside = INSIDE[instance.interconnect]
    if params >= LARGE_PARAMS and instance.accelerators >= 8 and instance.interconnect is Interconnect.PCIE:
        inside = LARGE_OVER_PCIE
    between = 1.0
    if instances > 1:
        between = BETWEEN_EFA if instance.efa else BETWEEN_TCP
    lost = 1.0 - inside * between
    return 1.0 - lost * (LORA_COMMUNICATION if method is Method.LORA else 1.0)


def training_s(flop: float, device: Device, devices: int, efficiency: float) -> float:
    """Seconds of pure training on `devices` devices: FLOP / (devices x TFLOP/s x MFU x scaling efficiency)."""
    utilisation = 1.0 if device.is_cpu else MODEL_FLOP_UTILISATION
    return flop / (devices * device.tflops * 1e12 * utilisation * efficiency)
