"""Rates of devices at a precision, and which precision inference computes in."""

import pytest

from orchestrator.estimate.device import device, inference_dtype, peak_tflops
from orchestrator.model.card import Dtype


@pytest.mark.parametrize(
    ("name", "dtype", "tflops"),
    [
        ("g4dn.xlarge", Dtype.FP16, 65.0),
        ("g4dn.xlarge", Dtype.BF16, 0.0),
        ("g6.xlarge", Dtype.BF16, 121.0),
        ("p4d.24xlarge", Dtype.FP32, 19.5),
        ("g6.xlarge", Dtype.INT8, 0.0),
        ("c6i.4xlarge", Dtype.BF16, 0.0),
        ("c7i.4xlarge", Dtype.BF16, 26.2144),
        ("c7i.4xlarge", Dtype.FP16, 0.0),
    ],
)
def test_peak(machine, name, dtype, tflops):
    assert peak_tflops(machine(name), dtype) == pytest.approx(tflops)


def test_tensor_parallelism_over_pcie_leaves_half_of_eight(machine):
    eight, one = device(machine("g5.48xlarge"), Dtype.BF16, 8), device(machine("g5.48xlarge"), Dtype.BF16)
    assert eight.tflops == pytest.approx(4 * one.tflops)
    assert eight.memory_gib == pytest.approx(8 * one.memory_gib)
    assert (eight.count, one.count) == (1, 8)


def test_nvlink_loses_less_than_pcie(machine):
    nvlink, pcie = device(machine("p4d.24xlarge"), Dtype.BF16, 4), device(machine("g5.48xlarge"), Dtype.BF16, 4)
    assert nvlink.tflops / (4 * 312) > pcie.tflops / (4 * 70)


def test_a_cpu_machine_is_one_device(machine):
    found = device(machine("c7i.4xlarge"), Dtype.FP32, 8)
    assert found.is_cpu and (found.count, found.tensor, found.memory_gib) == (1, 1, 32.0)


@pytest.mark.parametrize(
    ("name", "stored", "wanted", "computed"),
    [
        ("g4dn.xlarge", Dtype.BF16, None, Dtype.FP16),
        ("g4dn.xlarge", Dtype.BF16, Dtype.BF16, Dtype.BF16),
        ("g6.xlarge", Dtype.BF16, None, Dtype.BF16),
        ("g6.xlarge", Dtype.FP16, None, Dtype.FP16),
        ("g6.xlarge", Dtype.FP32, None, Dtype.FP16),
        ("g6.xlarge", Dtype.FP32, Dtype.FP32, Dtype.FP32),
        ("c7i.large", Dtype.FP32, None, Dtype.BF16),
        ("c6i.large", Dtype.BF16, None, Dtype.FP32),
    ],
)
def test_inference_precision(machine, name, stored, wanted, computed):
    assert inference_dtype(machine(name), stored, wanted) is computed
