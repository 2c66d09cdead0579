"""The hardware table shipped here: what an instance type is, by its name or by what a price list says of it."""

import csv
import dataclasses
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from orchestrator.model.offer import Accelerator, InstanceType, Interconnect
from orchestrator.offers.quote import UnknownHardware

MIB_PER_GIB = 1024.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What the sizes of an EC2 family share; CPU rates are per vCPU. `accelerator` "" = a CPU family."""

    accelerator: str
    interconnect: Interconnect
    quota: str
    cpu_fp32_gflops: float
    cpu_bf16_gflops: float
    bandwidth_gb_per_s: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What a price list itself says of an instance type; None = left blank.

    `accelerator_memory_mib` is of one accelerator. Network and EFA are believed only of types that the table lacks.
    """

    instance_type: str
    accelerator: str | None = None
    accelerators: float | None = None
    vcpus: int | None = None
    memory_gib: float | None = None
    accelerator_memory_mib: float | None = None
    network_gbit_per_s: float | None = None
    efa: bool = False


@cache
def accelerators() -> dict[str, Accelerator]:
    """All known accelerators by name."""
    return {
        name: Accelerator(
            name=name,
            memory_gib=row["memory_mib"] / MIB_PER_GIB,
            fp16_tflops=row["fp16"],
            bf16_tflops=row["bf16"],
            fp32_tflops=row["fp32"],
            int8_tops=row["int8"],
            memory_bandwidth_gb_per_s=row["bandwidth_gb_per_s"],
            source=f"{row['source']}, {row['as_of']}",
        )
        for name, row in tomllib.loads(_text("accelerators.toml")).items()
    }


@cache
def families() -> dict[str, Family]:
    """All known instance families by the part of the type's name before the dot."""
    return {
        name: Family(
            accelerator=row["accelerator"],
            interconnect=Interconnect(row["interconnect"]),
            quota=row["quota"],
            cpu_fp32_gflops=row["cpu_fp32_gflops"],
            cpu_bf16_gflops=row["cpu_bf16_gflops"],
            bandwidth_gb_per_s=row["bandwidth_gb_per_s"],
            source=f"{row['source']}, {row['as_of']}",
        )
        for name, row in tomllib.loads(_text("families.toml")).items()
    }


@cache
def instance_types() -> dict[str, InstanceType]:
    """All instance types of the shipped table by name."""
    rows = csv.DictReader(_text("instances.csv").splitlines())
    return {row["instance_type"]: _from_table(row) for row in rows}


def look_up(described: Described) -> InstanceType | UnknownHardware:
    """The hardware of a type: the shipped table first, else its family and what the list says; never CPU by default."""
    known = instance_types().get(described.instance_type)
    if known is not None:
        return _contradiction(known, described) or _with_smaller_memory(known, described)
    if described.accelerators is not None and described.accelerators != int(described.accelerators):
        return UnknownHardware(
            reason="fractional-accelerator", detail=f"{described.accelerators} of a {described.accelerator}"
        )
    family = families().get(described.instance_type.split(".")[0])
    if described.vcpus is None or described.memory_gib is None:
        return _unknown(described, "its vCPUs or memory are blank")
    if described.accelerator:
        return _accelerated(described, family)
    if family is None or family.accelerator:
        return _unknown(described, "no accelerator is stated and the family is not a known CPU family")
    built = _build(described.instance_type, described.vcpus, described.memory_gib, family, None, 0)
    return _with_stated_network(built, described)


def _accelerated(described: Described, family: Family | None) -> InstanceType | UnknownHardware:
    accelerator = accelerators().get(described.accelerator or "")
    count = int(described.accelerators or 0)
    if accelerator is None:
        return _unknown(described, f"accelerator {described.accelerator!r} is not in the hardware table")
    if count < 1 or described.vcpus is None or described.memory_gib is None:
        return _unknown(described, "the number of accelerators is blank")
    if family is None:
        first = described.instance_type[:1].lower()
        family = Family(
            accelerator=accelerator.name,
            interconnect=Interconnect.PCIE,
            quota={"g": "G", "p": "P"}.get(first, "Standard"),
            cpu_fp32_gflops=40.0,
            cpu_bf16_gflops=0.0,
            bandwidth_gb_per_s=2.0,
            source="price list; CPU rates and PCIe assumed",
        )
    built = _build(described.instance_type, described.vcpus, described.memory_gib, family, accelerator, count)
    return _with_stated_network(_with_smaller_memory(built, described), described)


def _contradiction(known: InstanceType, described: Described) -> UnknownHardware | None:
    """A list that disagrees with the table about the accelerators is not believed."""
    stated = described.accelerator
    if not stated or stated not in accelerators() or described.accelerators is None:
        return None
    name = known.accelerator.name if known.accelerator else "no accelerator"
    if (stated, described.accelerators) == (name, known.accelerators):
        return None
    detail = f"the list says {described.accelerators:g} x {stated}, the hardware table {known.accelerators} x {name}"
    return UnknownHardware(reason="hardware-mismatch", detail=detail)


def _with_smaller_memory(known: InstanceType, described: Described) -> InstanceType:
    """Accelerator memory as the list reports it, if that is less than the table's."""
    if known.accelerator is None or described.accelerator_memory_mib is None:
        return known
    reported_gib = described.accelerator_memory_mib / MIB_PER_GIB
    if reported_gib <= 0 or reported_gib >= known.accelerator.memory_gib:
        return known
    return dataclasses.replace(known, accelerator=dataclasses.replace(known.accelerator, memory_gib=reported_gib))


def _with_stated_network(built: InstanceType, described: Described) -> InstanceType:
    gbit_per_s = described.network_gbit_per_s or built.network_gbit_per_s
    return dataclasses.replace(built, network_gbit_per_s=gbit_per_s, efa=described.efa)


def _from_table(row: dict[str, str]) -> InstanceType:
    family = families()[row["instance_type"].split(".")[0]]
    count = int(row["accelerators"])
    built = _build(
        row["instance_type"],
        int(row["vcpus"]),
        float(row["memory_gib"]),
        family,
        accelerators()[family.accelerator] if count else None,
        count,
    )
    return dataclasses.replace(
        built,
        network_gbit_per_s=float(row["network_gbit_per_s"]),
        efa=row["efa"] == "yes",
        source=f"{row['source']}, {row['as_of']}; {family.source}",
    )


def _build(
    name: str, vcpus: int, memory_gib: float, family: Family, accelerator: Accelerator | None, count: int
) -> InstanceType:
    return InstanceType(
        name=name,
        vcpus=vcpus,
        memory_gib=memory_gib,
        accelerator=accelerator,
        accelerators=count,
        interconnect=family.interconnect if count > 1 else Interconnect.NONE,
        network_gbit_per_s=10.0,
        efa=False,
        quota_family=family.quota,
        cpu_fp32_tflops=family.cpu_fp32_gflops * vcpus / 1000,
        cpu_bf16_tflops=family.cpu_bf16_gflops * vcpus / 1000,
        memory_bandwidth_gb_per_s=family.bandwidth_gb_per_s * vcpus,
        source=family.source,
    )


def _unknown(described: Described, detail: str) -> UnknownHardware:
    return UnknownHardware(reason="unknown-hardware", detail=f"{described.instance_type}: {detail}")


def _text(name: str) -> str:
    return resources.files("orchestrator.offers").joinpath(name).read_text(encoding="utf-8")
