"""SkyPilot's own optimizer on a price list, timed: `PYTHON benchmarks/skypilot_side.py --prices CSV --home DIR`.

Runs under an interpreter that has `skypilot[aws]` and nothing of this project: it imports only sky and the standard
library, and prints one JSON document as its last line. SkyPilot reads and writes under `$HOME/.sky`; `--home` is a
folder made for this run. Its price catalog is replaced by one made of the price list, AWS is switched on through its
own state, and nothing is asked of a network.
"""

import argparse
import csv
import itertools
import json
import os
import statistics
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

VM_COLUMNS = (
    "InstanceType", "AcceleratorName", "AcceleratorCount", "vCPUs", "MemoryGiB", "GpuInfo", "Price", "SpotPrice",
    "Region", "AvailabilityZone", "Arch",
)  # fmt: skip
HEADERS_ONLY = {
    "aws/images.csv": "Tag,Region,OS,OSVersion,ImageId,CreationDate",
    "aws/instance_quota_mapping.csv": "InstanceType,OnDemandInstanceCode,SpotInstanceCode",
}
ACCELERATORS = ("L4", "A10G", "T4", "L40S")
REPEATS = 5
MANY = 100

Row = dict[str, str]


def main() -> None:
    """Write the catalog, ask the optimizer, print what it chose and how long it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prices", type=Path, required=True, help="price list, the columns of `plan --offers`")
    parser.add_argument("--home", type=Path, required=True, help="an empty folder for SkyPilot's files")
    parser.add_argument("--many", type=int, default=MANY, help="tasks of the large dags")
    given = parser.parse_args()
    os.environ |= {
        "HOME": str(given.home),
        "AWS_EC2_METADATA_DISABLED": "true",
        "SKYPILOT_DISABLE_USAGE_COLLECTION": "1",
    }
    with given.prices.open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines))
    schema = _prepare(given.home, rows)
    print(json.dumps({"version": metadata.version("skypilot"), "catalog_schema": schema, **_measured(given.many)}))


def _prepare(home: Path, rows: Sequence[Row]) -> str:
    """SkyPilot's folder as after `sky check` with AWS alone; returns the schema version of its catalogs."""
    (home / ".sky").mkdir()
    (home / ".sky" / "config.yaml").write_text("allowed_clouds: [aws]\n", encoding="utf-8")
    from sky.skylet import constants

    schema = str(constants.CATALOG_SCHEMA_VERSION)
    folder = home / ".sky" / "catalogs" / schema
    for part in ("aws", "common"):
        (folder / part).mkdir(parents=True)
    with (folder / "aws" / "vms.csv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, VM_COLUMNS)
        writer.writeheader()
        writer.writerows(_machines(rows))
    names = sorted({row["AcceleratorName"] for row in rows} - {""})
    listed = "".join(f"{name},AWS\n" for name in names)
    (folder / "common" / "accelerators.csv").write_text(f"AcceleratorName,Clouds\n{listed}", encoding="utf-8")
    for name, header in HEADERS_ONLY.items():
        (folder / name).write_text(f"{header}\n", encoding="utf-8")
    _enable_aws()
    return schema


def _machines(rows: Sequence[Row]) -> list[Row]:
    """Rows of SkyPilot's catalog: the on-demand price stands in every zone; types without a zone get their region's
    first."""
    on_demand: dict[tuple[str, str], str] = {}
    zones: dict[str, str] = {}
    for row in rows:
        if row["Price"]:
            on_demand.setdefault((row["InstanceType"], row["Region"]), row["Price"])
        if row["AvailabilityZone"]:
            zones.setdefault(row["Region"], row["AvailabilityZone"])
    zoned = {(row["InstanceType"], row["Region"]) for row in rows if row["AvailabilityZone"]}
    return [
        {
            **{column: row[column] for column in VM_COLUMNS if column in row},
            "GpuInfo": row["AcceleratorName"],
            "Price": on_demand.get((row["InstanceType"], row["Region"]), ""),
            "AvailabilityZone": row["AvailabilityZone"] or zones.get(row["Region"], ""),
            "Arch": "x86_64",
        }
        for row in rows
        if row["AvailabilityZone"] or (row["InstanceType"], row["Region"]) not in zoned
    ]


def _enable_aws() -> None:
    from sky import global_user_state
    from sky.clouds.cloud import CloudCapability

    global_user_state.set_enabled_clouds(["aws"], CloudCapability.COMPUTE, "default")
    global_user_state.set_allowed_clouds(["aws"], "default")


def _measured(many: int) -> dict[str, Any]:
    one, four = [["L4"]], [list(ACCELERATORS)]
    began = time.perf_counter()
    _optimized(one)
    first_s = time.perf_counter() - began
    mixed = [[ACCELERATORS[index % len(ACCELERATORS)]] for index in range(many)]
    return {
        "first_call_s": round(first_s, 3),
        "one_task": _timed(one),
        "one_task_of_four_types": _timed(four),
        "t4_in_us_west_2": _timed([["T4"]], region="us-west-2"),
        f"chain_of_{many}": _timed(mixed, repeats=1, chain=True),
        f"chain_of_{many}_of_four_types": _timed(four * many, repeats=1, chain=True),
        f"independent_{many}_of_four_types": _timed(four * many, repeats=1),
        f"chain_of_{many}_of_four_types_in_any_region": _timed(four * many, region=None, repeats=1, chain=True),
        "peak_mib": _peak_mib(),
    }


def _peak_mib() -> float:
    """Peak resident memory of this program. Not getrusage's: a process that is started inherits its parent's."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    kib = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    return round(kib / 1024, 1)


def _timed(
    wanted: Sequence[Sequence[str]], *, region: str | None = "us-east-1", repeats: int = REPEATS, chain: bool = False
) -> dict[str, Any]:
    """Seconds of `Optimizer.optimize` (tasks are built before the clock starts) and the choices, each kind once."""
    times = [_optimized(wanted, region, chain=chain) for _ in range(repeats)]
    return {
        "tasks": len(wanted),
        "median_s": round(statistics.median(seconds for seconds, _ in times), 4),
        "min_s": round(min(seconds for seconds, _ in times), 4),
        "chosen": [dict(each) for each in dict.fromkeys(tuple(choice.items()) for choice in times[0][1])],
    }


def _optimized(
    wanted: Sequence[Sequence[str]], region: str | None = "us-east-1", *, chain: bool = False
) -> tuple[float, list[dict[str, Any]]]:
    import sky
    from sky.optimizer import Optimizer

    with sky.Dag() as dag:
        tasks = [_task(index, accelerators, region) for index, accelerators in enumerate(wanted)]
        if chain:
            for before, after in itertools.pairwise(tasks):
                dag.add_edge(before, after)
    began = time.perf_counter()
    Optimizer.optimize(dag, quiet=True)
    seconds = time.perf_counter() - began
    return seconds, [_choice(task.best_resources) for task in tasks]


def _task(index: int, accelerators: Sequence[str], region: str | None) -> Any:
    """One spot instance with one of the accelerators."""
    import sky

    task = sky.Task(name=f"task-{index}", run="true")
    infra = f"aws/{region}" if region else "aws"
    task.set_resources({sky.Resources(infra=infra, accelerators={name: 1}, use_spot=True) for name in accelerators})
    return task


def _choice(found: Any) -> dict[str, Any]:
    return {
        "instance_type": found.instance_type,
        "zone": found.zone,
        "usd_per_hour": round(found.get_cost(3600), 4),
    }


if __name__ == "__main__":
    main()
