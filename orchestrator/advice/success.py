"""What one run that succeeds costs: the machines, somebody's time, and the runs that fail on the way."""

import math
from dataclasses import dataclass
from decimal import Decimal

from orchestrator.estimate.money import round_usd


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCost:
    """One way to do a run.

    `machine_usd` holds everything but people's time, redone work of expected interruptions included; `hours` is the
    expected length. `engineer_hours` is somebody's time at `engineer_usd_per_hour`. `success` is the probability that
    a run succeeds, in (0, 1]; `attempts` how often its driver is expected to start, 1 without interruptions.
    """

    hardware: str
    hours: float
    machine_usd: Decimal
    engineer_hours: float
    engineer_usd_per_hour: Decimal
    success: float = 1.0
    attempts: float = 1.0

    @property
    def engineer_usd(self) -> Decimal:
        """Somebody's time in USD."""
        return round_usd(self.engineer_usd_per_hour * Decimal(repr(self.engineer_hours)))

    @property
    def usd_per_success(self) -> Decimal:
        """(machines + people) / probability of success: on average 1 / p runs are paid until one succeeds."""
        return round_usd((self.machine_usd + self.engineer_usd) / Decimal(repr(self.success)))


def usd_per_run(monthly_parts_usd: tuple[Decimal, ...], runs: float) -> Decimal:
    """A month's bill, as the sum of its parts, over the runs that succeeded in it."""
    return round_usd(sum(monthly_parts_usd, Decimal(0)) / Decimal(repr(runs)))


def even_engineer_hours(fast: RunCost, slow: RunCost) -> float | None:
    """Hours that somebody spends on a run of `fast` at which both cost the same, when `slow` takes its own multiple of
    them; None when the faster one is never dearer or never catches up.

    machine_f + h x rate = machine_s + k x h x rate, k = slow.engineer_hours / fast.engineer_hours, so
    h = (machine_f - machine_s) / (rate x (k - 1)). Failed runs are left out.
    """
    if not fast.engineer_hours or slow.engineer_hours <= fast.engineer_hours or slow.machine_usd >= fast.machine_usd:
        return None
    multiple = slow.engineer_hours / fast.engineer_hours
    return float(fast.machine_usd - slow.machine_usd) / (float(fast.engineer_usd_per_hour) * (multiple - 1.0))


def expected_attempts(interruptions_per_hour: float, hours: float) -> float:
    """1 + rate x hours: every interruption ends one attempt and begins another. The rate is of all nodes together."""
    return 1.0 + interruptions_per_hour * hours


def success_probability(
    *,
    interruptions_per_hour: float,
    work_h: float,
    start_h: float,
    lost_h: float,
    most_h: float | None,
    restarts: bool,
) -> float:
    """Probability that a run ends well, with interruptions as a Poisson process over its work, in hours.

    A run that restarts by itself succeeds unless interruptions push it over `most_h` (its `max_duration`): each costs
    `lost_h` (half a checkpoint interval and a restart), so k = floor((most - start - work) / lost) of them are
    bearable, and p = sum over i = 0..k of m^i e^-m / i!, m = rate x work. One that somebody has to
    restart counts as failed at the first interruption: k = 0.
    """
    mean = interruptions_per_hour * work_h
    if restarts and (most_h is None or lost_h <= 0.0):
        return 1.0
    spare_h = math.inf if most_h is None else most_h - start_h - work_h
    bearable = math.floor(spare_h / lost_h) if restarts else 0
    term = total = math.exp(-mean)
    for count in range(1, max(bearable, 0) + 1):
        term *= mean / count
        total += term
        if term < 1e-15 and count > mean:
            break
    return max(min(total, 1.0), 1e-9)
