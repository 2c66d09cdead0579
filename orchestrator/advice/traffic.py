"""Measured traffic: its shape over the days, and the pattern that shape is called. Pure functions of lists of rates."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from orchestrator.estimate.generation import HEADROOM
from orchestrator.model.job import Pattern

WINDOW_S = 600.0
"""Rates are averaged over ten minutes: replicas take up to five to be ready, so nothing shorter can be followed."""

DAY_S = 86400.0
TWO_WEEKS_DAYS = 14.0
PEAK_QUANTILE = 0.99
IDLE_SHARE_OF_MEAN = 0.05
CONSTANT_PEAK = 1.0 / HEADROOM
"""A peak that fits into the headroom of a fixed number of replicas needs no scaling."""

CONSTANT_VARIATION = 0.25
"""A standard deviation within that headroom: lulls as deep as the peaks are allowed to be high."""

REPEATS = 0.5
"""Correlation with the day before. Judgement: public traces with a daily rhythm reach 0.75 to 0.83, those without
0.0 to 0.16."""

SPIKY_PEAK = 3.0
"""Peak over mean that the catalog assumes of a spiky service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Figures of a series that do not change with the unit of its rates.

    `peak_to_mean` (>= 0) is of the 99th percentile of windows, `variation` the standard deviation over the mean,
    `daily_repeat` (-1 to 1) the correlation of windows one day apart, None below two days or without variation;
    `idle_share` (0 to 1) of windows below 5% of the mean.
    """

    days: float
    windows: int
    peak_to_mean: float
    variation: float
    daily_repeat: float | None
    idle_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """Traffic of a file. `pattern` is None where the file cannot tell; `events` when rows were added up as events
    instead of averaged as rates. `source` and `column` are as the user named them."""

    source: str
    column: str
    shape: Shape
    pattern: Pattern | None
    events: bool


def traced(source: str, column: str, times_s: Sequence[float], values: Sequence[float]) -> Traced:
    """Shape and pattern of rows in order of time; `values` are not negative, in any unit.

    Evenly spaced rows are rates (or counts of equal intervals) and averaged over windows; other rows are events, whose
    values add up.
    """
    events = not _even(times_s)
    rates, window_s = windows(times_s, values, add_up=events)
    shape = shape_of(rates, window_s)
    return Traced(source=source, column=column, shape=shape, pattern=classify(shape), events=events)


def windows(times_s: Sequence[float], values: Sequence[float], *, add_up: bool) -> tuple[list[float], float]:
    """Rates by window, and the seconds of a window: ten minutes, or the rows' distance where that is longer."""
    if len(times_s) < 2:
        return list(values), WINDOW_S
    start = times_s[0]
    step_s = (times_s[-1] - start) / (len(times_s) - 1)
    window_s = WINDOW_S if add_up else max(WINDOW_S, step_s)
    sums: dict[int, float] = {}
    rows: dict[int, int] = {}
    for at, value in zip(times_s, values, strict=True):
        index = int((at - start) / window_s + 1e-9)
        sums[index] = sums.get(index, 0.0) + value
        rows[index] = rows.get(index, 0) + 1
    # The last window of events is hardly ever whole, and half a window looks like a lull.
    count = max(int((times_s[-1] - start) / window_s + 1e-9), 1) if add_up else max(sums) + 1
    return [sums.get(index, 0.0) / (1 if add_up else rows.get(index, 1)) for index in range(count)], window_s


def shape_of(rates: Sequence[float], window_s: float) -> Shape:
    """The figures of rates of equal windows; all zero gives zeros."""
    mean = math.fsum(rates) / len(rates) if rates else 0.0
    if mean <= 0.0:
        return Shape(
            days=len(rates) * window_s / DAY_S, windows=len(rates), peak_to_mean=0.0, variation=0.0,
            daily_repeat=None, idle_share=1.0,
        )  # fmt: skip
    ranked = sorted(rates)
    peak = ranked[max(math.ceil(PEAK_QUANTILE * len(ranked)) - 1, 0)]
    deviation = math.sqrt(math.fsum((rate - mean) ** 2 for rate in rates) / len(rates))
    return Shape(
        days=len(rates) * window_s / DAY_S,
        windows=len(rates),
        peak_to_mean=peak / mean,
        variation=deviation / mean,
        daily_repeat=correlation_at(rates, round(DAY_S / window_s)),
        idle_share=sum(rate < IDLE_SHARE_OF_MEAN * mean for rate in rates) / len(rates),
    )


def correlation_at(rates: Sequence[float], lag: int) -> float | None:
    """Pearson correlation of the series with itself `lag` windows later; None below two lags or without variation."""
    if lag < 1 or len(rates) < 2 * lag:
        return None
    early, late = rates[:-lag], rates[lag:]
    mean_early, mean_late = math.fsum(early) / len(early), math.fsum(late) / len(late)
    both = math.fsum((a - mean_early) * (b - mean_late) for a, b in zip(early, late, strict=True))
    spread = math.fsum((a - mean_early) ** 2 for a in early) * math.fsum((b - mean_late) ** 2 for b in late)
    return both / math.sqrt(spread) if spread > 0.0 else None


def classify(shape: Shape) -> Pattern | None:
    """Constant within the headroom; else, by repetition from day to day, spiky or predictable, or unpredictable.

    None below a day, and below two days unless constant: nobody can see a rhythm in one day.
    """
    if shape.days < 1.0 or not shape.peak_to_mean:
        return None
    if shape.peak_to_mean <= CONSTANT_PEAK and shape.variation <= CONSTANT_VARIATION:
        return Pattern.CONSTANT
    if shape.daily_repeat is None:
        return None
    if shape.daily_repeat < REPEATS:
        return Pattern.UNPREDICTABLE
    return Pattern.SPIKY if shape.peak_to_mean >= SPIKY_PEAK else Pattern.PREDICTABLE


def _even(times_s: Sequence[float]) -> bool:
    """Whether rows are equally far apart, to a tenth of their mean distance."""
    if len(times_s) < 3:
        return True
    step_s = (times_s[-1] - times_s[0]) / (len(times_s) - 1)
    return all(abs(b - a - step_s) <= 0.1 * step_s for a, b in pairwise(times_s))
