"""Both configurations come from the same node types and pass Ray's own validation."""

import copy
from typing import Any

import pytest
import yaml
from ray.autoscaler._private.util import prepare_config, validate_config
from ray.autoscaler.v2.instance_manager.config import FileConfigReader

from orchestrator.cluster.autoscaling_config import Scaling, local_config, read_scaling, write_config
from orchestrator.cluster.aws_config import AwsOptions, aws_config, missing_subnets, render
from orchestrator.cluster.instance import InstanceRecord, LaunchSpec, save_record
from orchestrator.cluster.state import StateDir
from orchestrator.model.node import NodeType
from orchestrator.model.offer import Market

OPTIONS = AwsOptions(region="us-east-1", max_workers=8, subnets={"use1-az1": "subnet-1"})


@pytest.fixture
def aws(emulated_node_types: tuple[NodeType, ...]) -> dict[str, Any]:
    return aws_config(emulated_node_types, OPTIONS)


def test_ray_accepts_the_local_configuration(emulated_node_types: tuple[NodeType, ...], state_dir: StateDir) -> None:
    write_config(emulated_node_types, Scaling(max_workers=8, idle_timeout_s=30), state_dir, "local-1")
    read = FileConfigReader(str(state_dir.autoscaling_config)).get_cached_autoscaling_config()
    assert read.get_idle_timeout_s() == 30
    assert read.get_max_num_nodes() == 9
    assert read.get_head_node_type() == "head"
    assert read.get_node_labels("g6-xlarge-spot-use1-az1")["ray.io/accelerator-type"] == "L4"
    assert read.get_node_resources("g6-xlarge-spot-use1-az1")["accelerator_type:L4"] == 1


def test_ray_accepts_cluster_yaml(aws: dict[str, Any]) -> None:
    loaded = yaml.safe_load(render(aws, "A header.\n\nTwo lines."))
    assert loaded == aws
    prepared = prepare_config(copy.deepcopy(loaded))
    validate_config(prepared)
    assert prepared["available_node_types"].keys() == aws["available_node_types"].keys()


def test_both_describe_the_same_nodes(
    emulated_node_types: tuple[NodeType, ...], state_dir: StateDir, aws: dict[str, Any]
) -> None:
    local = local_config(emulated_node_types, Scaling(), state_dir, "local-1")["available_node_types"]
    cloud = aws["available_node_types"]
    assert local.keys() == cloud.keys()
    for name in local.keys() - {"head"}:
        for key in ("resources", "labels", "min_workers", "max_workers"):
            assert local[name][key] == cloud[name][key], (name, key)


def test_markets_and_zones_on_aws(aws: dict[str, Any]) -> None:
    types = {name: each["node_config"] for name, each in aws["available_node_types"].items()}
    spot = {name for name, config in types.items() if "InstanceMarketOptions" in config}
    assert spot == {name for name in types if "spot" in name}
    assert types["g6-xlarge-spot-use1-az1"]["SubnetIds"] == ["subnet-1"]
    assert types["g6-xlarge-spot-use1-az2"]["SubnetIds"] == ["subnet-of-use1-az2"]
    assert "SubnetIds" not in types["g6-xlarge-on-demand"]


def test_zones_without_a_subnet_are_told(emulated_node_types: tuple[NodeType, ...]) -> None:
    assert missing_subnets(emulated_node_types, OPTIONS) == ("use1-az2",)


def test_workers_on_aws_run_the_watcher_under_token_authentication(aws: dict[str, Any]) -> None:
    starts = aws["worker_start_ray_commands"]
    assert any("python -m orchestrator.cluster.watcher --address $RAY_HEAD_IP:6379" in command for command in starts)
    assert all("RAY_AUTH_MODE=token" in command for command in starts + aws["head_start_ray_commands"])
    assert "~/.ray/auth_token" in aws["file_mounts"]


def test_changed_node_types_keep_those_in_use(emulated_node_types: tuple[NodeType, ...], state_dir: StateDir) -> None:
    scaling = Scaling(max_workers=8, head_cpus=3, idle_timeout_s=45)
    write_config(emulated_node_types, scaling, state_dir, "local-1")
    offer = emulated_node_types[0].offer
    spec = LaunchSpec(
        offer=offer.name, instance_type="g6.xlarge", accelerator="L4", market=Market.SPOT, region="us-east-1",
        zone="use1-az1", price_usd_per_hour=offer.price_usd_per_hour,
        on_demand_usd_per_hour=offer.on_demand_usd_per_hour,
    )  # fmt: skip
    save_record(
        state_dir,
        InstanceRecord(
            instance_id="i-1", cluster="local-1", node_type=emulated_node_types[0].name, spec=spec, resources={},
            labels={}, tags={}, ray_node_id="ab", launched_at="2026-11-30T12:00:00Z",
        ),
    )  # fmt: skip
    write_config(emulated_node_types[-1:], read_scaling(state_dir), state_dir, "local-1")
    types = yaml.safe_load(state_dir.autoscaling_config.read_bytes())["available_node_types"]
    assert types.keys() == {"head", emulated_node_types[0].name, emulated_node_types[-1].name}
    assert read_scaling(state_dir) == scaling
