"""What EC2 says of instance types, against the hardware table shipped here; EC2's answers are those moto recorded."""

import boto3
import pytest
from moto import mock_aws

from orchestrator.offers.aws import calls
from orchestrator.offers.aws.instance_facts import accelerator_name, describe, gbit_per_s, sells_spot
from orchestrator.offers.hardware import families, instance_types, look_up
from orchestrator.offers.quote import UnknownHardware

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ec2_types():
    with mock_aws():
        ec2 = boto3.client("ec2", "us-east-1", aws_access_key_id="test", aws_secret_access_key="test")
        told = calls.instance_types(ec2, "us-east-1", [*families(), "g6f", "inf2", "p3"])
    return {each["InstanceType"]: each for each in told}


@pytest.mark.parametrize("name", sorted(instance_types()))
def test_ec2_agrees_with_every_row_of_the_hardware_table(ec2_types, name):
    known, told = instance_types()[name], describe(ec2_types[name])
    assert (told.vcpus, told.memory_gib, told.network_gbit_per_s, told.efa) == (
        known.vcpus, known.memory_gib, known.network_gbit_per_s, known.efa,
    )  # fmt: skip
    assert (told.accelerators or 0) == known.accelerators
    assert look_up(told) == known, "EC2's figure of accelerator memory is never smaller than the table's"


def test_sizes_that_the_table_lacks_are_known_from_ec2(ec2_types):
    lacking = [name for name in ec2_types if name.split(".")[0] in families() and name not in instance_types()]
    assert len(lacking) > 30
    for name in lacking:
        found = look_up(describe(ec2_types[name]))
        assert not isinstance(found, UnknownHardware), found
        assert found.accelerator is None and found.vcpus >= 2 and found.network_gbit_per_s >= 10
    assert look_up(describe(ec2_types["m6i.32xlarge"])).network_gbit_per_s == 50
    assert look_up(describe(ec2_types["m6i.32xlarge"])).efa


def test_a_gpu_that_ec2_does_not_name_is_no_cpu_machine(make):
    found = look_up(describe(make.instance_type("g6.32xlarge", None, vcpus=128)))
    assert isinstance(found, UnknownHardware) and found.reason == "unknown-hardware"


def test_a_part_of_a_gpu_is_told_as_a_part(ec2_types):
    told = describe(ec2_types["g6f.large"])
    assert (told.accelerator, told.accelerators, told.accelerator_memory_mib) == ("L4", 0.125, 2861)
    assert look_up(told).reason == "fractional-accelerator"


def test_other_accelerators_are_named_and_not_taken_for_none(ec2_types):
    told = describe(ec2_types["inf2.xlarge"])
    assert told.accelerator and isinstance(look_up(told), UnknownHardware)


def test_two_kinds_of_gpu_in_one_type_are_no_known_hardware(make):
    told = make.instance_type("g6.32xlarge", ("L4", 1, 22888))
    told["GpuInfo"]["Gpus"].append({"Name": "A10G", "Count": 1, "MemoryInfo": {"SizeInMiB": 22888}})
    found = describe(told)
    assert (found.accelerator, found.accelerators) == ("A10G+L4", 2)
    assert isinstance(look_up(found), UnknownHardware)


def test_memory_comes_in_mib(make):
    told = describe(make.instance_type("g6.xlarge", ("L4", 1, 22888), memory_mib=16384))
    assert (told.memory_gib, told.accelerator_memory_mib) == (16.0, 22888)
    assert look_up(told).accelerator.memory_gib == pytest.approx(22.35, abs=0.01)


def test_what_is_left_out_stays_unknown():
    told = describe({"InstanceType": "zz9.large"})
    assert (told.vcpus, told.memory_gib, told.accelerator, told.network_gbit_per_s) == (None, None, None, None)


@pytest.mark.parametrize(
    ("name", "mib", "known"),
    [
        ("A100", 40960, "A100"), ("A100", 81920, "A100-80GB"), ("V100", 16384, "V100"), ("V100", 32768, "V100-32GB"),
        ("H100", 81920, "H100"), ("A100", None, "A100"), ("L4", 22888, "L4"), ("Radeon", 8192, "Radeon"), ("L", 1, "L"),
    ],
)  # fmt: skip
def test_cards_of_two_sizes_are_told_apart_by_memory(name, mib, known):
    assert accelerator_name(name, mib) == known


@pytest.mark.parametrize(
    ("text", "gbit"),
    [
        ("Up to 10 Gigabit", 10), ("12.5 Gigabit", 12.5), ("4x 100 Gigabit", 400), ("3200 Gigabit", 3200),
        ("High", None), ("", None), ("10 Gigabyte", None),
    ],
)  # fmt: skip
def test_network_performance_in_words(text, gbit):
    assert gbit_per_s(text) == gbit


def test_which_types_sell_spot(make):
    told = make.instance_type("p5e.48xlarge")
    assert sells_spot(told)
    assert not sells_spot({**told, "SupportedUsageClasses": ["capacity-block", "on-demand"]})
