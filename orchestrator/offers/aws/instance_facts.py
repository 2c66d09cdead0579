"""What EC2 says of an instance type, in the terms of the hardware table. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from orchestrator.offers.hardware import MIB_PER_GIB, Described, accelerators

_NETWORK = re.compile(r"(?:Up to )?(?:(?P<cards>\d+)x )?(?P<gbit>\d+(?:\.\d+)?) Gigabit")


def describe(answer: Mapping[str, Any]) -> Described:
    """One type of DescribeInstanceTypes. What EC2 leaves out stays None: a GPU it does not name is never "no GPU"."""
    gpus = answer.get("GpuInfo", {}).get("Gpus", [])
    memory_mib = gpus[0].get("MemoryInfo", {}).get("SizeInMiB") if gpus else None
    network = answer.get("NetworkInfo", {})
    host_mib = answer.get("MemoryInfo", {}).get("SizeInMiB")
    return Described(
        instance_type=str(answer["InstanceType"]),
        accelerator=_accelerator(answer, gpus, memory_mib),
        accelerators=sum(_count(gpu) for gpu in gpus) if gpus else None,
        vcpus=answer.get("VCpuInfo", {}).get("DefaultVCpus"),
        memory_gib=None if host_mib is None else host_mib / MIB_PER_GIB,
        accelerator_memory_mib=memory_mib,
        network_gbit_per_s=gbit_per_s(str(network.get("NetworkPerformance", ""))),
        efa=bool(network.get("EfaSupported", False)),
    )


def sells_spot(answer: Mapping[str, Any]) -> bool:
    """Whether EC2 says that the type exists as a spot instance."""
    return "spot" in answer.get("SupportedUsageClasses", ())


def gbit_per_s(text: str) -> float | None:
    """ "Up to 10 Gigabit" is 10, "4x 100 Gigabit" is 400; words like "High" are not known."""
    found = _NETWORK.fullmatch(text)
    return int(found["cards"] or 1) * float(found["gbit"]) if found else None


def accelerator_name(name: str, memory_mib: float | None) -> str:
    """The hardware table's name: EC2 calls cards of two memory sizes "A100" or "V100"; the nearest size tells which."""
    alike = [known for known in accelerators() if known == name or known.startswith(f"{name}-")]
    if not alike or memory_mib is None:
        return name
    return min(alike, key=lambda known: (abs(accelerators()[known].memory_gib * MIB_PER_GIB - memory_mib), known))


def _accelerator(answer: Mapping[str, Any], gpus: list[Mapping[str, Any]], memory_mib: float | None) -> str | None:
    if gpus:
        names = {str(gpu.get("Name", "")) for gpu in gpus}
        return "+".join(sorted(names)) if len(names) > 1 else accelerator_name(names.pop(), memory_mib) or None
    other = answer.get("NeuronInfo", {}).get("NeuronDevices") or answer.get("InferenceAcceleratorInfo", {}).get(
        "Accelerators"
    )
    return str(other[0].get("Name", "unnamed")) if other else None


def _count(gpu: Mapping[str, Any]) -> float:
    """Whole cards, or the part of one card that a type has: EC2 counts those as 0 and states the part beside it."""
    return float(gpu.get("Count") or gpu.get("GpuPartitionSize") or 0)
