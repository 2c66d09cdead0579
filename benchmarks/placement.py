"""Placement, measured: `python -m benchmarks.placement [--jobs 100,1000,10000] [--seed 1] [--skypilot PYTHON]
[--prices CSV]`.

Prints one JSON document: how long catalogs of several sizes take, what a plan costs beside other ways to choose, and,
given an interpreter with `skypilot[aws]`, what SkyPilot's own optimizer does with the same prices. README.md says how
to read it.
"""

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import beside_skypilot, quality
from benchmarks.catalogs import Limits, catalog_text, enlarged
from benchmarks.examined import tight_limits
from benchmarks.output import print_json
from orchestrator.offers import load_snapshot

NOW = "2026-11-30T00:00:00Z"
LEAST_OFFERS = 300
QUALITY_JOBS = 60
MOST_S = 300
"""A catalog that takes longer than this counts as failed."""

TARGETS: dict[int, dict[str, float]] = {
    100: {"plan_s": 0.3},
    1_000: {"plan_s": 2.0, "load_s": 4.0, "peak_mib": 500.0},
    10_000: {"plan_s": 30.0},
}
"""What we want at each size, median seconds and MiB, for the catalogs that `TARGETED` names."""

TARGETED = ("unlimited", "binding")
RUNS = {100: 5, 1_000: 3}
"""Repeats up to each size; 1 above."""


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=_sizes, default=(100, 1_000, 10_000), help="catalog sizes, separated by commas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quality-jobs", type=int, default=QUALITY_JOBS)
    parser.add_argument("--skypilot", metavar="PYTHON", help="an interpreter that has skypilot[aws]")
    parser.add_argument("--prices", metavar="CSV", type=Path, help="price list for the part with SkyPilot")
    given = parser.parse_args()
    if (given.skypilot is None) != (given.prices is None):
        parser.error("--skypilot and --prices go together")
    print_json(lambda: report(given), indent=2)


def report(given: argparse.Namespace) -> dict[str, Any]:
    """All parts that were asked for."""
    found: dict[str, Any] = {
        "machine": {"python": platform.python_version(), "cores": os.cpu_count()},
        "seed": given.seed,
        "speed": [size for jobs in given.jobs for size in speed(jobs, given.seed)],
        "quality": quality.compared(given.quality_jobs, given.seed, LEAST_OFFERS, NOW),
    }
    if given.skypilot is not None:
        found["beside_skypilot"] = beside_skypilot.compared(given.skypilot, given.prices, NOW)
    return found


def speed(jobs: int, seed: int) -> list[dict[str, Any]]:
    """One catalog size without limits and under each of the tight ones, a fresh process each."""
    book = enlarged(load_snapshot(), random.Random(seed), LEAST_OFFERS)
    variants: dict[str, Limits | None] = {
        "unlimited": None,
        **tight_limits(quality.catalog(jobs, seed, None), book, NOW),
    }
    return [{"limits": name, **_measured(jobs, seed, name, limits)} for name, limits in variants.items()]


def _measured(jobs: int, seed: int, name: str, limits: Limits | None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "catalog.yaml"
        path.write_text(catalog_text(jobs, random.Random(seed), limits), encoding="utf-8")
        repeats = next((runs for most, runs in RUNS.items() if jobs <= most), 1)
        options = ["--seed", str(seed), "--offers", str(LEAST_OFFERS), "--repeats", str(repeats), "--now", NOW]
        command = [sys.executable, "-m", "benchmarks.speed", str(path), *options]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=MOST_S)
        except subprocess.TimeoutExpired:
            return {"jobs": jobs, "failed": f"took more than {MOST_S} s"}
    found = json.loads(done.stdout)
    targets = _targets(found) if name in TARGETED else {}
    return {**found, "stray_lines": len(done.stderr.splitlines()), "targets": targets}


def _targets(found: dict[str, Any]) -> dict[str, Any]:
    """Each target of this size beside what was measured."""
    measured = {"plan_s": found["plan_s"]["median"], "load_s": found["load_s"]["median"], "peak_mib": found["peak_mib"]}
    return {
        name: {"at_most": most, "measured": measured[name], "met": measured[name] <= most}
        for name, most in TARGETS.get(found["jobs"], {}).items()
    }


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(","))


if __name__ == "__main__":
    main()
