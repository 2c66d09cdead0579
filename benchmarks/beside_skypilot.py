"""SkyPilot's optimizer and ours on the same price list: seconds and choices for jobs that mean the same."""

import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.skypilot_side import ACCELERATORS, MANY, REPEATS
from orchestrator.catalog import load_text
from orchestrator.model.catalog import Catalog
from orchestrator.model.offer import PriceBook
from orchestrator.offers import read_price_csv
from orchestrator.placement import place

SIDE = Path(__file__).with_name("skypilot_side.py")
MOST_S = 300
MODEL = "m: {source: s3://example-ml/m, params: 1.2B, layers: 16, hidden: 2048, heads: 32, kv_heads: 8, context: 8192}"
"""Small enough for every accelerator that is asked for, so that nothing but the choice differs."""


def compared(python: str, prices: Path, now: str) -> dict[str, Any]:
    """Both sides. SkyPilot runs in its own interpreter, with a home folder of its own."""
    with tempfile.TemporaryDirectory() as home:
        command = [python, str(SIDE), "--prices", str(prices.absolute()), "--home", home]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=MOST_S)
    book = read_price_csv(prices)
    return {
        "prices": prices.name,
        "skypilot": json.loads(done.stdout.splitlines()[-1])
        if done.returncode == 0
        else {"failed": done.stderr[-2000:]},
        "ours": {
            "one_task": _ours(1, ["L4"], book, now),
            "one_task_of_four_types": _ours(1, ACCELERATORS, book, now),
            "t4_in_us_west_2": _ours(1, ["T4"], book, now, region="us-west-2"),
            f"{MANY}_jobs_of_four_types": _ours(MANY, ACCELERATORS, book, now, repeats=1),
        },
    }


def _ours(
    jobs: int,
    accelerators: list[str] | tuple[str, ...],
    book: PriceBook,
    now: str,
    *,
    region: str = "us-east-1",
    repeats: int = REPEATS,
) -> dict[str, Any]:
    """Seconds of `place` (the catalog is loaded before the clock starts) and the choices, each kind once."""
    asked = _catalog(jobs, accelerators, region)
    times: list[float] = []
    for _ in range(repeats):
        began = time.perf_counter()
        plan = place(asked, book, now)
        times.append(time.perf_counter() - began)
    chosen = [job.placement.chosen for job in plan.jobs]
    return {
        "tasks": jobs,
        "median_s": round(statistics.median(times), 4),
        "min_s": round(min(times), 4),
        "chosen": [
            {"instance_type": each[0], "zone": each[1], "usd_per_hour": each[2], "usd_per_run": each[3]}
            for each in dict.fromkeys(
                (choice.instance_type, choice.zone, float(choice.usd_per_hour), float(choice.expected_usd))
                for choice in chosen
                if choice is not None
            )
        ],
    }


def _catalog(jobs: int, accelerators: list[str] | tuple[str, ...], region: str) -> Catalog:
    """Batch jobs of one spot instance with one of the accelerators."""
    job = (
        f"{{kind: batch, model: m, rows: 100k, lifecycle: spot, accelerators: [{', '.join(accelerators)}], "
        "instances: 1}"
    )
    text = "\n".join(
        [
            f"cluster: {{provider: aws, region: {region}, storage: s3://example-ml/o, max_workers: {max(jobs, 64)}}}",
            f"models: {{{MODEL}}}",
            "jobs:",
            *(f"  task-{index:03d}: {job}" for index in range(jobs)),
        ]
    )
    return load_text(text, "generated.yaml", Path.cwd())
