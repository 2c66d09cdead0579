"""One catalog, loaded and placed in this process, timed: `python -m benchmarks.speed CATALOG [--seed N] …`.

A process of its own for each catalog, so that its peak memory is that catalog's; benchmarks.placement starts them.
"""

import argparse
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.catalogs import enlarged, offers_of
from benchmarks.output import print_json
from orchestrator.catalog import load
from orchestrator.model.plan import Plan, Status
from orchestrator.offers import load_snapshot
from orchestrator.placement import place

T = TypeVar("T")


def main() -> None:
    """Measure and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("catalog", type=Path)
    parser.add_argument("--seed", type=int, default=1, help="of the synthetic zones' prices")
    parser.add_argument("--offers", type=int, default=300, help="offers in the region, at least")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--now", default="2026-11-30T00:00:00Z")
    given = parser.parse_args()
    print_json(lambda: measured(given))


def measured(given: argparse.Namespace) -> dict[str, Any]:
    """Times and what came out. Peak memory is that of the first load and plan, like a command's; the first times are
    listed beside the median, since later ones find warm caches."""
    book = enlarged(load_snapshot(), random.Random(given.seed), given.offers)
    imported_mib = _peak_mib()
    load_s, catalog = _timed(lambda: load(given.catalog))
    plan_s, plan = _timed(lambda: place(catalog, book, given.now))
    peak_mib = _peak_mib()
    loads, plans = [load_s], [plan_s]
    for _ in range(given.repeats - 1):
        loads.append(_timed(lambda: load(given.catalog))[0])
        plans.append(_timed(lambda: place(catalog, book, given.now))[0])
    return {
        "jobs": len(catalog.jobs),
        "offers": len(offers_of(book, catalog.cluster.region)),
        "load_s": _summary(loads),
        "plan_s": _summary(plans),
        "before_mib": imported_mib,
        "peak_mib": peak_mib,
        **_outcome(plan),
    }


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found


def _summary(seconds: list[float]) -> dict[str, Any]:
    return {
        "first": round(seconds[0], 4),
        "median": round(statistics.median(seconds), 4),
        "min": round(min(seconds), 4),
        "runs": len(seconds),
    }


def _outcome(plan: Plan) -> dict[str, Any]:
    counted = Counter(job.placement.status for job in plan.jobs)
    return {
        "mode": plan.mode,
        "gap": plan.gap,
        "usd_per_month": float(plan.objective_usd_per_month),
        "lower_bound_usd_per_month": float(plan.lower_bound_usd),
        **{status.value: counted[status] for status in Status},
    }


def _peak_mib() -> float:
    """Peak resident memory of this program. Not getrusage's: a process that is started inherits its parent's."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    kib = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    return round(kib / 1024, 1)


if __name__ == "__main__":
    main()
