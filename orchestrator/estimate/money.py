"""What a job costs: hours x price, expected interruptions, storage and transfer. USD, seconds."""

from dataclasses import dataclass
from decimal import Decimal

HOURS_PER_MONTH = 730.0
SECONDS_PER_HOUR = 3600.0

BOOT_S = 150.0
"""From the request to a Ray node: EC2 launch, boot, container image. Assumption; GPU replicas are reported at 30-300
s."""

LOAD_GB_PER_S = 0.5
"""Model download and load, per instance, GB (1e9) per second from S3. Assumption."""

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

CENT_FRACTION = Decimal("0.000001")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruptible:
    """Work of `work_s` seconds on `nodes` nodes that lose `redo_s` of work and `restart_s` of waiting at an
    interruption.

    `lockstep`: one node's interruption stops all (training); else only its own share is redone (batch).
    """

    work_s: float
    nodes: int
    interruptions_per_hour: float
    redo_s: float
    restart_s: float
    lockstep: bool


def expected_s(run: Interruptible) -> float | None:
    """Expected seconds including interruptions; None when more is lost than done.

    T = work / (1 - rate x (redo + restart)), rate = interruptions per second of all nodes in lockstep, of one node
    else. Restarts can be interrupted as well, which is why the loss divides instead of adding.
    """
    per_second = run.interruptions_per_hour / SECONDS_PER_HOUR * (run.nodes if run.lockstep else 1)
    lost = per_second * (run.redo_s + run.restart_s)
    return run.work_s / (1.0 - lost) if lost < 1.0 else None


def load_s(weights_gb: float) -> float:
    """Seconds until a new node works: boot, then download and load of the model (GB = 1e9 bytes)."""
    return BOOT_S + weights_gb / LOAD_GB_PER_S


def usd(seconds: float, price_usd_per_hour: Decimal, nodes: float) -> Decimal:
    """Price of node time, rounded to a millionth of a USD."""
    return round_usd(Decimal(repr(seconds / SECONDS_PER_HOUR * nodes)) * price_usd_per_hour)


def round_usd(amount: Decimal | float) -> Decimal:
    """Amount in USD to six decimals."""
    return (amount if isinstance(amount, Decimal) else Decimal(repr(amount))).quantize(CENT_FRACTION)


def checkpoint_usd(checkpoint_gb: float, keep: int, interval_s: float, run_s: float) -> Decimal:
    """Storage of the kept checkpoints over the run, plus the PUT requests of writing one every interval."""
    months = run_s / SECONDS_PER_HOUR / HOURS_PER_MONTH
    written = run_s / interval_s
    parts = max(checkpoint_gb / UPLOAD_PART_GB, 1.0)
    return round_usd(checkpoint_gb * keep * STORAGE_USD_PER_GB_MONTH * months + written * parts * PUT_USD_PER_REQUEST)


def egress_usd_per_month(requests_per_s: float, output_tokens: float) -> Decimal:
    """Answers of a service sent to the internet, over a 730-hour month."""
    gb = requests_per_s * output_tokens * BYTES_PER_TOKEN * HOURS_PER_MONTH * SECONDS_PER_HOUR / 1e9
    return round_usd(gb * EGRESS_USD_PER_GB)
