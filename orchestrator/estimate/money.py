"""What a job costs: hours x price, expected interruptions, storage and transfer. USD, seconds."""

from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from orchestrator.estimate.column import Column, Flags

HOURS_PER_MONTH = 730.0
SECONDS_PER_HOUR = 3600.0
SECONDS_PER_MONTH = HOURS_PER_MONTH * SECONDS_PER_HOUR

BOOT_S = 90.0
"""From the request to a running operating system with Ray: EC2 launch and boot. Assumption; GPU replicas are reported
at 30 to 300 s from request to ready."""

GPU_IMAGE_GB, CPU_IMAGE_GB = 6.0, 2.0
"""Compressed container image: vllm/vllm-openai is about 6 GB, an image with CPU wheels about 2 GB."""

IMAGE_GB_PER_S = 0.1
"""Pull and unpack of an image, which unpacking bounds. Assumption."""

IMAGE_USD_PER_GB_MONTH = 0.10
"""ECR private repository storage (AWS ECR pricing, 2026-11); pulls inside the region are free."""

LOAD_GB_PER_S = 0.5
"""Model download and load, per instance, GB (1e9) per second from S3. Assumption."""

BALANCER_USD_PER_HOUR, BALANCER_USD_PER_UNIT_HOUR = 0.0225, 0.008
"""Application Load Balancer and its capacity units, us-east-1 (AWS ELB pricing, 2026-11)."""

UNIT_REQUESTS_PER_S, UNIT_GB_PER_HOUR = 25.0, 1.0
"""A capacity unit carries 25 new connections a second or 1 GB an hour, whichever is used up first (AWS ELB
pricing)."""

CROSS_ZONE_USD_PER_GB = 0.02
"""Between availability zones: 0.01 out and 0.01 in (AWS EC2 pricing, 2026-11)."""

CROSS_REGION_USD_PER_GB = 0.02
"""Between regions, out of the region that holds the data (AWS EC2 and S3 pricing, us-east-1, 2026-11)."""

STORAGE_USD_PER_GB_MONTH = 0.023
"""S3 Standard, us-east-1 (AWS S3 pricing, 2026-11)."""

PUT_USD_PER_REQUEST = 0.000005
"""S3 Standard PUT, us-east-1 (AWS S3 pricing, 2026-11)."""

UPLOAD_PART_GB = 0.064
"""Size of a multipart upload's part, each a PUT."""

EGRESS_USD_PER_GB = 0.09
"""EC2 to the internet, first 10 TB a month (AWS EC2 pricing, 2026-11)."""

BYTES_PER_TOKEN = 5.0
"""Text and JSON around it, as a client receives it."""

MILLIONTH = Decimal("0.000001")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruptible:
    """Work of `work_s` seconds on `nodes` nodes that lose `redo_s` of work and `restart_s` of waiting at an
    interruption.

    `lockstep`: one node's interruption stops all (training); else only its own share is redone (batch).
    """

    work_s: Column
    nodes: Column
    interruptions_per_hour: Column
    redo_s: Column
    restart_s: Column
    lockstep: bool


def expected_s(run: Interruptible) -> Column:
    """Expected seconds including interruptions; NaN when more is lost than done.

    T = work / (1 - rate x (redo + restart)), rate = interruptions per second of all nodes in lockstep, of one node
    else. Restarts can be interrupted as well, which is why the loss divides instead of adding.
    """
    per_second = run.interruptions_per_hour / SECONDS_PER_HOUR * (run.nodes if run.lockstep else 1)
    kept = 1.0 - per_second * (run.redo_s + run.restart_s)
    return run.work_s / np.where(kept > 0.0, kept, np.nan)


def start_s(weights_gb: Column, is_cpu: Flags) -> Column:
    """Seconds until a new node works: boot, image, then download and load of the model (GB = 1e9 bytes)."""
    return BOOT_S + image_gb(is_cpu) / IMAGE_GB_PER_S + weights_gb / LOAD_GB_PER_S


def image_gb(is_cpu: Flags) -> Column:
    """Size of the container image in GB."""
    return np.where(is_cpu, CPU_IMAGE_GB, GPU_IMAGE_GB)


def image_usd(is_cpu: Flags, seconds: Column) -> Column:
    """Storage of the image for so long."""
    return image_gb(is_cpu) * IMAGE_USD_PER_GB_MONTH * seconds / SECONDS_PER_MONTH


def node_usd(seconds: Column, price_usd_per_hour: Column, nodes: Column = 1.0) -> Column:
    """Price of node time."""
    return seconds / SECONDS_PER_HOUR * nodes * price_usd_per_hour


def round_usd(amount: Decimal | float) -> Decimal:
    """Amount in USD to six decimals."""
    if isinstance(amount, Decimal):
        return amount.quantize(MILLIONTH)
    return Decimal(round(amount * 1e6)).scaleb(-6)


def checkpoint_usd(checkpoint_gb: float, keep: int, interval_s: float, run_s: Column) -> Column:
    """Storage of the kept checkpoints over the run, plus the PUT requests of writing one every interval."""
    parts = max(checkpoint_gb / UPLOAD_PART_GB, 1.0)
    storage = checkpoint_gb * keep * STORAGE_USD_PER_GB_MONTH * run_s / SECONDS_PER_MONTH
    return storage + run_s / interval_s * parts * PUT_USD_PER_REQUEST


def egress_usd_per_month(requests_per_s: float, output_tokens: float) -> float:
    """Answers of a service sent to the internet, over a 730-hour month."""
    return requests_per_s * output_tokens * BYTES_PER_TOKEN * SECONDS_PER_MONTH / 1e9 * EGRESS_USD_PER_GB


def balancer_usd_per_month(requests_per_s: float, tokens_per_request: float, share: float) -> float:
    """A load balancer in front of a service: `share` of its hours (parts of a service share one), own capacity
    units."""
    gb_per_hour = requests_per_s * tokens_per_request * BYTES_PER_TOKEN * SECONDS_PER_HOUR / 1e9
    units = max(requests_per_s / UNIT_REQUESTS_PER_S, gb_per_hour / UNIT_GB_PER_HOUR)
    return HOURS_PER_MONTH * (BALANCER_USD_PER_HOUR * share + BALANCER_USD_PER_UNIT_HOUR * units)


def transfer_usd(gb: float, same_zone: Flags, same_region: bool) -> Column:
    """Reading data once: free inside a zone and from a regional store in its own region, else by the GB."""
    if not same_region:
        return gb * CROSS_REGION_USD_PER_GB
    return np.where(same_zone, 0.0, gb * CROSS_ZONE_USD_PER_GB)
