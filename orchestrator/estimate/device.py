"""A device: what one copy of a model computes on, a group of accelerators of one instance or a whole CPU machine."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from orchestrator.estimate.column import Column, Flags
from orchestrator.model.card import Dtype
from orchestrator.model.offer import InstanceType, Interconnect

TENSOR_DEGREES = (1, 2, 4, 8)

TENSOR_EFFICIENCY = {
    Interconnect.NONE: {1: 1.0},
    Interconnect.PCIE: {1: 1.0, 2: 0.85, 4: 0.7, 8: 0.5},
    Interconnect.NVLINK: {1: 1.0, 2: 0.95, 4: 0.9, 8: 0.85},
}
"""Share of the summed rates left under tensor parallelism, by degree.

PCIe, 8: practitioners report that without NVLink 8 GPUs degrade to about 4 effective once every layer is
synchronised. The steps between are interpolated; NVLink: two all-reduces a layer at 600-900 GB/s hide mostly behind
compute. Assumptions.
"""

CPU_EFFICIENCY = {Dtype.FP32: 0.5, Dtype.BF16: 0.25}
"""Share of peak that matrix products reach on a CPU: half with AVX (large GEMMs in oneDNN reach 0.6 to 0.8, layer
norms and attention do not); a quarter with AMX, whose peak is 16 times AVX-512's but is fed from caches and memory.
Assumptions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """Rates and memory of one device at one compute precision, or columns of them.

    `value_bytes` is the size of a computed value, `tflops` the peak in TFLOP/s at that precision after
    tensor-parallel losses (on a CPU: what is really reached, see CPU_EFFICIENCY), `bandwidth_gb_per_s` the memory
    bandwidth in GB/s (1e9) after the same losses, `memory_gib` the sum of the accelerators' memory (of the host for a
    CPU) in GiB. `count` is how many such devices one instance has.
    """

    value_bytes: Column
    is_cpu: Flags
    tensor: Column
    count: Column
    memory_gib: Column
    tflops: Column
    bandwidth_gb_per_s: Column


def peak_tflops(instance: InstanceType, dtype: Dtype) -> float:
    """Peak TFLOP/s of one accelerator (or of the CPU machine) at a compute precision; 0 = not supported by the
    hardware.

    Quantised weights are multiplied in fp16 or bf16 (weight-only kernels), so integer precisions have no rate of
    their own.
    """
    accelerator = instance.accelerator
    if accelerator is None:
        return {Dtype.FP32: instance.cpu_fp32_tflops, Dtype.BF16: instance.cpu_bf16_tflops}.get(dtype, 0.0)
    rates = {
        Dtype.FP32: accelerator.fp32_tflops,
        Dtype.FP16: accelerator.fp16_tflops,
        Dtype.BF16: accelerator.bf16_tflops,
    }
    return rates.get(dtype, 0.0)


def device(instance: InstanceType, dtype: Dtype, tensor: int = 1) -> Device:
    """`tensor` accelerators of an instance as one device (1 and the whole machine for a CPU)."""
    rate = peak_tflops(instance, dtype)
    if instance.accelerator is None:
        return Device(
            value_bytes=dtype.bytes_per_value,
            is_cpu=True,
            tensor=1,
            count=1,
            memory_gib=instance.memory_gib,
            tflops=rate * CPU_EFFICIENCY.get(dtype, 0.0),
            bandwidth_gb_per_s=instance.memory_bandwidth_gb_per_s,
        )
    kept = TENSOR_EFFICIENCY[instance.interconnect].get(tensor, 0.0)
    return Device(
        value_bytes=dtype.bytes_per_value,
        is_cpu=False,
        tensor=tensor,
        count=instance.accelerators // tensor,
        memory_gib=instance.accelerator.memory_gib * tensor,
        tflops=rate * tensor * kept,
        bandwidth_gb_per_s=instance.accelerator.memory_bandwidth_gb_per_s * tensor * kept,
    )


KINDS = {"is_cpu": bool}


def stacked(devices: Sequence[Device], shape: tuple[int, ...]) -> Device:
    """Devices as columns of `shape`, in row-major order."""
    columns = {
        field.name: np.array([getattr(each, field.name) for each in devices], dtype=KINDS.get(field.name, float))
        for field in fields(Device)
    }
    return Device(**{name: column.reshape(shape) for name, column in columns.items()})


def sped_up(device: Device, factor: Column) -> Device:
    """The device with all of its rates times `factor`, as measurements say of it."""
    return replace(device, tflops=device.tflops * factor, bandwidth_gb_per_s=device.bandwidth_gb_per_s * factor)


def inference_dtype(instance: InstanceType, stored: Dtype, wanted: Dtype | None) -> Dtype:
    """Compute precision for inference: what the catalog wants, else the fastest the hardware has for these weights.

    bf16 weights are computed in fp16 where there is no bf16 (T4, V100) and fp32 weights in fp16 on accelerators, as
    vLLM does by default; on a CPU in bf16 where it has a matrix unit for it, else in fp32.
    """
    if wanted is not None:
        return wanted
    if instance.accelerator is None:
        return Dtype.BF16 if instance.cpu_bf16_tflops > 0 else Dtype.FP32
    if stored is Dtype.BF16 and instance.accelerator.bf16_tflops > 0:
        return Dtype.BF16
    return Dtype.FP16
