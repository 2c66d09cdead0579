"""Slots: times of the week that differ in which work runs at once, so that what never meets shares no limit.

Scheduled batch jobs with a window run only inside it; all other work may run at any time. In a quiet slot, when every
window in it lies between 21:00 and 07:00 of its own time zone, services with predictable traffic take what their mean
load needs instead of their peak. Only slots whose work is not a subset of another's can bind; the others are dropped.
"""

import zoneinfo
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

import numpy as np
from cronsim import CronSim
from numpy.typing import NDArray

from orchestrator.model.instant import from_iso
from orchestrator.model.job import BatchJob, Pattern, Schedule, ServeJob
from orchestrator.placement.work import Work

BIN = timedelta(minutes=10)
BINS = int(timedelta(days=7) / BIN)
NIGHT_BEGINS, NIGHT_ENDS = 21, 7
"""Local hours between which predictable (business-hours) traffic is at or below its mean."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Slots:
    """`active` says which work may run in a slot, (works, slots); `relaxed` which takes only its mean there."""

    active: NDArray[np.bool_]
    relaxed: NDArray[np.bool_]

    def totals(self, peak: NDArray[np.int64], mean: NDArray[np.int64]) -> NDArray[np.int64]:
        """What works that take so much, (works, limits), take of each limit together: (slots, limits)."""
        at_peak = (self.active & ~self.relaxed).T.astype(np.int64) @ peak
        relaxed: NDArray[np.int64] = at_peak + (self.active & self.relaxed).T.astype(np.int64) @ mean
        return relaxed

    def of(self, work: int, peak: NDArray[np.int64], mean: NDArray[np.int64]) -> NDArray[np.int64]:
        """What candidates of one work, (candidates, limits), take in each slot: (candidates, slots, limits)."""
        amount = np.where(self.relaxed[work][None, :, None], mean[:, None, :], peak[:, None, :])
        takes: NDArray[np.int64] = amount * self.active[work][None, :, None]
        return takes


def slots(works: tuple[Work, ...], now: str) -> Slots:
    """The slots of the week from `now` (ISO 8601) that can bind."""
    begin = from_iso(now).replace(minute=0, second=0, microsecond=0)
    scheduled = [_window(work) for work in works]
    busy = np.ones((len(works), BINS), dtype=bool)
    night = np.ones(BINS, dtype=bool)
    for index, window in enumerate(scheduled):
        if window is not None:
            inside, at_night = _week(*window, begin)
            busy[index] = inside
            night &= at_night | ~inside
    night &= busy[[window is not None for window in scheduled]].any(axis=0)
    patterns = np.unique(np.vstack([busy, night[None, :]]), axis=1)
    active, quiet = _maximal(patterns)
    predictable = np.array(
        [isinstance(work.job, ServeJob) and work.job.traffic.pattern is Pattern.PREDICTABLE for work in works],
        dtype=bool,
    )
    return Slots(active=active, relaxed=predictable[:, None] & quiet[None, :])


def _window(work: Work) -> tuple[Schedule, float] | None:
    job = work.job
    if isinstance(job, BatchJob) and job.schedule is not None and job.window_s is not None:
        return job.schedule, job.window_s
    return None


@lru_cache(maxsize=1024)
def _week(schedule: Schedule, window_s: float, begin: datetime) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Bins of the week inside a window, and bins at night in the schedule's time zone."""
    zone = zoneinfo.ZoneInfo(schedule.timezone)
    window = timedelta(seconds=window_s)
    inside = np.zeros(BINS, dtype=bool)
    for start in CronSim(schedule.cron, (begin - window).astimezone(zone)):
        if start >= begin + BIN * BINS or inside.all():
            break
        first = int((start - begin) / BIN)
        last = int(-((begin - start - window) // BIN))
        inside[max(first, 0) : max(last, 0)] = True
    hours = np.array([(begin + BIN * index).astimezone(zone).hour for index in range(BINS)])
    return inside, (hours >= NIGHT_BEGINS) | (hours < NIGHT_ENDS)


def _maximal(patterns: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Columns that no other one contains; a quiet slot does not contain a loud one. The last row says quiet."""
    active, quiet = patterns[:-1], patterns[-1]
    kept = [
        slot
        for slot in range(patterns.shape[1])
        if not any(
            other != slot
            and (active[:, other] >= active[:, slot]).all()
            and quiet[other] <= quiet[slot]
            and ((active[:, other] > active[:, slot]).any() or quiet[other] < quiet[slot])
            for other in range(patterns.shape[1])
        )
    ]
    return active[:, kept], quiet[kept]
