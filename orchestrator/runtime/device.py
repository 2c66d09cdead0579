"""Where and in what number format a training worker computes."""

import os
from dataclasses import dataclass

import torch

from orchestrator.model.card import Dtype

TORCH = {Dtype.FP32: torch.float32, Dtype.BF16: torch.bfloat16, Dtype.FP16: torch.float16}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """Device and format of a worker. `note` says in words where it differs from what the job asked for, else ""."""

    device: torch.device
    precision: Dtype
    note: str = ""

    @property
    def dtype(self) -> torch.dtype:
        """The torch name of the precision."""
        return TORCH[self.precision]

    @property
    def mixed(self) -> bool:
        """Whether steps run under autocast, with master weights in fp32."""
        return self.precision is not Dtype.FP32


def choose(wanted: Dtype, *, emulated: bool, num_workers: int) -> Compute:
    """The GPU of this worker with the wanted precision, else the CPU.

    An emulated GPU is a share of this machine's CPUs, where half precision is many times slower than fp32; fp16 needs
    a GPU altogether. Threads are limited to the real cores: emulated nodes have more CPUs than the machine.
    """
    if torch.cuda.is_available():
        import ray.train.torch

        return Compute(device=ray.train.torch.get_device(), precision=wanted)
    cores = os.cpu_count() or 1
    torch.set_num_threads(max(1, cores // num_workers if emulated else min(torch.get_num_threads(), cores)))
    cpu = torch.device("cpu")
    if wanted is Dtype.FP32 or (wanted is Dtype.BF16 and not emulated):
        return Compute(device=cpu, precision=wanted)
    why = "the accelerator is emulated" if emulated else "there is no GPU"
    return Compute(device=cpu, precision=Dtype.FP32, note=f"computes in fp32 instead of {wanted.value}: {why}")
