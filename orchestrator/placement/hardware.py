"""The machines of a price book as columns: what a formula needs of every instance type, worked out once."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from orchestrator.estimate.device import TENSOR_DEGREES, Device, device, inference_dtype, peak_tflops, stacked
from orchestrator.estimate.training import Fabric, fabric
from orchestrator.model.card import Dtype
from orchestrator.model.offer import InstanceType

CPU = "cpu"
FIELDS = {"accelerators": float, "inside": float, "pcie": bool, "efa": bool}


class Hardware:
    """Instance types, sorted by name, or with `share` below 1 that part of one accelerator of each.

    Columns have one row per type; those of devices a column per tensor-parallel degree of TENSOR_DEGREES, NaN where the
    instance has too few accelerators or lacks the precision.
    """

    def __init__(self, types: tuple[InstanceType, ...], share: float = 1.0) -> None:
        self.types = types
        self.share = share
        self._devices: dict[tuple[Dtype, Dtype | None], tuple[Device, tuple[Dtype, ...]]] = {}

    @cached_property
    def accelerator_names(self) -> NDArray[np.object_]:
        """Name of the accelerator, "cpu" for machines without one."""
        return np.array([one.accelerator.name if one.accelerator else CPU for one in self.types], dtype=object)

    @cached_property
    def lacking(self) -> NDArray[np.object_]:
        """How to say that a machine has no such precision, (types, 1)."""
        names = [one.accelerator.name if one.accelerator else "this CPU" for one in self.types]
        return np.array([f"not on {name}" for name in names], dtype=object)[:, None]

    @cached_property
    def accelerators(self) -> NDArray[np.float64]:
        """Accelerators of one instance, at least 1 (a CPU machine is one device)."""
        return np.array([max(one.accelerators, 1) for one in self.types], dtype=float)

    @cached_property
    def is_cpu(self) -> NDArray[np.bool_]:
        """True for machines without an accelerator."""
        return np.array([one.accelerator is None for one in self.types], dtype=bool)

    @cached_property
    def memory_gib(self) -> NDArray[np.float64]:
        """Memory of one accelerator as its driver reports it, 0 for a CPU machine."""
        return np.array([one.accelerator.memory_gib if one.accelerator else 0.0 for one in self.types])

    @cached_property
    def fabric(self) -> Fabric:
        """What joins the accelerators, as columns of shape (types, 1)."""
        found = [fabric(one) for one in self.types]
        columns = {
            name: np.array([getattr(each, name) for each in found], dtype=kind)[:, None]
            for name, kind in FIELDS.items()
        }
        return Fabric(**columns)

    def for_inference(self, stored: Dtype, wanted: Dtype | None) -> tuple[Device, tuple[Dtype, ...]]:
        """Devices at the precision that inference of such weights computes in on each type, and that precision."""
        if (stored, wanted) not in self._devices:
            computed = tuple(inference_dtype(one, stored, wanted) for one in self.types)
            devices = [
                _or_nothing(one, dtype, degree) if self.share == 1.0 else _part(one, dtype, degree, self.share)
                for one, dtype in zip(self.types, computed, strict=True)
                for degree in TENSOR_DEGREES
            ]
            self._devices[stored, wanted] = stacked(devices, (len(self.types), len(TENSOR_DEGREES))), computed
        return self._devices[stored, wanted]

    def for_training(self, precision: Dtype) -> Device:
        """Single accelerators (or whole CPU machines) at one precision, as columns of shape (types, 1)."""
        devices, _ = self.for_inference(precision, precision)
        return Device(**{name: getattr(devices, name)[:, :1] for name in Device.__slots__})


def _part(instance: InstanceType, dtype: Dtype, degree: int, share: float) -> Device:
    """A share of one accelerator; nothing on CPU machines and for more than one."""
    whole = _or_nothing(instance, dtype, degree)
    part = share if degree == 1 and instance.accelerator else float("nan")
    return Device(
        value_bytes=whole.value_bytes,
        is_cpu=whole.is_cpu,
        tensor=whole.tensor,
        count=1,
        memory_gib=whole.memory_gib * part,
        tflops=whole.tflops * part,
        bandwidth_gb_per_s=whole.bandwidth_gb_per_s * part,
    )


def _or_nothing(instance: InstanceType, dtype: Dtype, degree: int) -> Device:
    """The device, with NaN for rates and memory where there is none."""
    found = device(instance, dtype, degree)
    if degree <= max(instance.accelerators, 1) and peak_tflops(instance, dtype) > 0:
        return found
    nothing = float("nan")
    return Device(
        value_bytes=found.value_bytes,
        is_cpu=found.is_cpu,
        tensor=found.tensor,
        count=found.count,
        memory_gib=nothing,
        tflops=nothing,
        bandwidth_gb_per_s=nothing,
    )
