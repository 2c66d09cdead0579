"""An offer: one instance type, in one zone, in one market, at one price."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


class Market(StrEnum):
    """How capacity is bought."""

    SPOT = "spot"
    ON_DEMAND = "on-demand"
    SERVERLESS = "serverless"


class Interconnect(StrEnum):
    """What joins accelerators inside an instance."""

    NONE = "none"
    PCIE = "pcie"
    NVLINK = "nvlink"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """Figures of ONE accelerator. `memory_gib` is what the driver reports, not the name on the box.

    `bf16_tflops` is 0.0 only where the hardware has no bf16 (T4, V100); dense figures, no sparsity.
    """

    name: str
    memory_gib: float
    fp16_tflops: float
    bf16_tflops: float
    fp32_tflops: float
    int8_tops: float
    memory_bandwidth_gb_per_s: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceType:
    """Hardware of one instance type; `accelerator` None = a CPU machine.

    Memory, CPU rates and memory bandwidth are of the host; `cpu_bf16_tflops` is 0.0 where it has no bf16 matrix unit.
    """

    name: str
    vcpus: int
    memory_gib: float
    accelerator: Accelerator | None
    accelerators: int
    interconnect: Interconnect
    network_gbit_per_s: float
    efa: bool
    quota_family: str
    cpu_fp32_tflops: float
    memory_bandwidth_gb_per_s: float
    source: str
    cpu_bf16_tflops: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A price for an instance type. `name` is unique and stable: "g6.xlarge:spot:us-east-1:use1-az1".

    `zone` is a zone id or name; on-demand offers, which cost the same everywhere in a region, have zone "*".
    `as_of` is the ISO date of the price. `interruptions_per_hour` is 0 for on-demand. `p90_usd_per_hour`, where a list
    knows it, is what the spot price stayed at or below for 90% of the time that `price_usd_per_hour` is the median of.
    """

    name: str
    instance: InstanceType
    market: Market
    region: str
    zone: str
    price_usd_per_hour: Decimal
    on_demand_usd_per_hour: Decimal
    interruptions_per_hour: float
    local_zone: bool
    source: str
    as_of: str
    p90_usd_per_hour: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedOffer:
    """A price row that must not be used, with the reason ("unknown-hardware", "spot-not-cheaper", "zero-price", …)."""

    name: str
    region: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerlessOffer:
    """An endpoint that is paid by use. `tasks` are "generate", "embed", "classify"; models of up to `most_params`.

    Prices in USD, 0 = not charged; a GB-second is paid for `memory_gib` while a request is computed. `cold_start_s` is
    the worst wait after a pause.
    """

    name: str
    tasks: tuple[str, ...]
    most_params: float
    usd_per_million_tokens: Decimal
    usd_per_million_requests: Decimal
    usd_per_gb_second: Decimal
    memory_gib: float
    cold_start_s: float
    source: str
    as_of: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceBook:
    """All offers of a snapshot. `as_of` is the oldest date among the machines."""

    as_of: str
    offers: tuple[Offer, ...]
    refused: tuple[RefusedOffer, ...]
    serverless: tuple[ServerlessOffer, ...] = ()
