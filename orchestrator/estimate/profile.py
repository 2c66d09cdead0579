"""Profiles: reported or measured speeds of models on hardware, which override the roofline where they apply."""

from dataclasses import dataclass

from orchestrator.estimate import encoding, generation
from orchestrator.estimate.device import CPU_EFFICIENCY, Device
from orchestrator.estimate.encoding import BATCH_SIZES, Encoder
from orchestrator.estimate.generation import Generator, Workload
from orchestrator.estimate.training import BETWEEN_EFA, INSIDE
from orchestrator.model.card import Dtype, ModelCard
from orchestrator.model.offer import Interconnect


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A figure with its conditions. `factor` is reported speed over that of the formulas under the same conditions.

    It applies to models of `least_params` to `most_params` doing `task` ("generate", "encode" or "train") on
    `accelerator` ("cpu" = machines without one). Rows that name no accelerator are kept to check formulas against.
    """

    task: str
    accelerator: str | None
    least_params: float
    most_params: float
    figure: str
    factor: float
    source: str
    as_of: str


LLAMA2_7B = ModelCard(
    name="llama-2-7b", source="", params=6.74e9, layers=32, hidden_size=4096, heads=32, kv_heads=32, head_dim=128,
    context_tokens=4096, dtype=Dtype.FP16,
)  # fmt: skip
SMALL_ENCODER = ModelCard(
    name="encoder-45m", source="", params=45e6, layers=6, hidden_size=512, heads=8, kv_heads=8, head_dim=64,
    context_tokens=512, dtype=Dtype.FP32,
)  # fmt: skip
L4 = Device(value_bytes=2.0, is_cpu=False, tensor=1, count=1, memory_gib=22.35, tflops=121.0, bandwidth_gb_per_s=300.0)
SAPPHIRE_RAPIDS_16 = Device(
    value_bytes=2.0, is_cpu=True, tensor=1, count=1, memory_gib=32.0, tflops=26.2 * CPU_EFFICIENCY[Dtype.BF16],
    bandwidth_gb_per_s=75.0,
)  # fmt: skip
CHAT = Workload(prompt_tokens=350.0, output_tokens=180.0)
PRACTITIONERS = "practitioner reports, 2024-2026"


def _decode_factor(reported_itl_s: float) -> float:
    generator = Generator(card=LLAMA2_7B, device=L4, bytes_per_weight=2.0, kv_room_gib=6.0)
    return float(generation.step_s(generator, CHAT, 1) / reported_itl_s)


def _encode_factor(reported_per_s: float) -> float:
    encoder = Encoder(card=SMALL_ENCODER, device=SAPPHIRE_RAPIDS_16, tokens=64.0)
    return float(reported_per_s / encoding.requests_per_s(encoder, BATCH_SIZES[-1]))


PROFILES = (
    Profile(
        task="generate", accelerator="L4", least_params=5e9, most_params=9e9,
        figure="7B in fp16, one stream: 45 ms a token", factor=_decode_factor(0.045),
        source=PRACTITIONERS, as_of="2026-11-30",
    ),
    Profile(
        task="encode", accelerator=None, least_params=0.0, most_params=1e9,
        figure="classifier on 16 vCPUs: 850 requests/s, p99 110 ms (model and length not stated)",
        factor=_encode_factor(850.0), source=PRACTITIONERS, as_of="2026-11-30",
    ),
    Profile(
        task="train", accelerator="A10G", least_params=3e9, most_params=13e9,
        figure="8 x A10G with EFA keep 85% of their summed rate up to 13B",
        factor=0.85 / (INSIDE[Interconnect.PCIE] * BETWEEN_EFA), source=PRACTITIONERS, as_of="2026-11-30",
    ),
    Profile(
        task="generate", accelerator=None, least_params=8e9, most_params=8.1e9,
        figure="8B: fp16 210 tokens/s, int8 340, int4 415 (hardware not stated)", factor=1.0,
        source=PRACTITIONERS, as_of="2026-11-30",
    ),
    Profile(
        task="train", accelerator=None, least_params=7e9, most_params=70e9,
        figure="one fine-tune: 8 x H100 6 h $980, 4 x A100 14 h $860, 2 x 4090 41 h $470", factor=1.0,
        source=PRACTITIONERS, as_of="2026-11-30",
    ),
)  # fmt: skip
"""Reports to be checked, not truths; own measurements of the ledger override them (calibration.py)."""


def profile_factor(task: str, accelerator: str, params: float) -> float | None:
    """Factor of the first profile that applies, or None."""
    return next(
        (
            each.factor
            for each in PROFILES
            if (each.task, each.accelerator) == (task, accelerator) and each.least_params <= params <= each.most_params
        ),
        None,
    )
