"""Training time: FLOP by hand, efficiencies against what practitioners report."""

import pytest

from orchestrator.estimate.device import device
from orchestrator.estimate.training import fabric, scaling_efficiency, training_flop, training_s
from orchestrator.model.card import Dtype
from orchestrator.model.job import Method


def flop(card, method=Method.FULL, *, checkpointing=False, tokens=1e6):
    return training_flop(card, method, tokens, sequence_tokens=1, gradient_checkpointing=checkpointing)


def test_flop_per_parameter_and_token(llama_8b):
    attention = 6 * 32 * 4096 * 1e6
    assert flop(llama_8b) == pytest.approx(6 * 8.03e9 * 1e6 + attention)
    assert flop(llama_8b, Method.LORA) == pytest.approx(4 * 8.03e9 * 1e6 + attention)
    assert flop(llama_8b, checkpointing=True) == pytest.approx(8 * 8.03e9 * 1e6 + attention)


def test_time_is_flop_over_the_rate(llama_8b, machine):
    one = device(machine("g5.xlarge"), Dtype.BF16)
    assert training_s(70e12 * 0.35 * 100, one, 1, 1.0) == pytest.approx(100.0)
    assert training_s(70e12 * 0.35 * 100, one, 4, 0.5) == pytest.approx(50.0)


def test_cpu_losses_are_counted_once(machine):
    one = device(machine("c7i.4xlarge"), Dtype.FP32)
    assert training_s(1e12, one, 1, 1.0) == pytest.approx(1.0 / (16 * 0.1024 * 0.5))


@pytest.mark.parametrize(
    ("name", "instances", "params", "low", "high"),
    [
        ("g6.xlarge", 1, 8e9, 1.0, 1.0),
        ("g5.48xlarge", 1, 8e9, 0.85, 0.95),
        ("g5.48xlarge", 2, 8e9, 0.80, 0.88),
        ("g5.48xlarge", 1, 13e9, 0.45, 0.6),
        ("p4d.24xlarge", 1, 70e9, 0.95, 1.0),
        ("g5.xlarge", 2, 8e9, 0.7, 0.8),
    ],
    ids=["single", "8xA10G", "8xA10G-EFA-85%", "8xA10G-large-about-4", "nvlink", "tcp"],
)
def test_scaling_of_full_training(machine, name, instances, params, low, high):
    assert low <= scaling_efficiency(fabric(machine(name)), instances, Method.FULL, params) <= high


@pytest.mark.parametrize("name", ["g5.xlarge", "g5.48xlarge", "p4d.24xlarge"])
def test_efficiency_falls_with_instances_and_lora_loses_less(machine, name):
    found = [scaling_efficiency(fabric(machine(name)), n, Method.FULL, 8e9) for n in (1, 2)]
    lora = [scaling_efficiency(fabric(machine(name)), n, Method.LORA, 8e9) for n in (1, 2)]
    assert 0 < found[1] < found[0] <= 1.0
    assert all(less <= more <= 1.0 for less, more in zip(found, lora, strict=True))


def test_sharding_communicates_half_as_much_again(machine):
    joined = fabric(machine("g5.48xlarge"))
    whole, sharded = (scaling_efficiency(joined, 2, Method.FULL, 8e9, flag) for flag in (False, True))
    assert 1 - sharded == pytest.approx(1.5 * (1 - whole))
