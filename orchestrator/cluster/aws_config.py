"""`cluster.yaml` for `ray up` on AWS, from the same node types as the local cloud."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from orchestrator.cluster.node_types import node_resources
from orchestrator.cluster.tags import offer_tags
from orchestrator.model.node import ANY_ZONE, NodeType
from orchestrator.model.offer import Market

AMI = "resolve:ssm:/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"
"""EC2 resolves the parameter at launch: AWS's newest base image with an NVIDIA driver (AWS, "DLAMI release notes").

Ray's own default image (Ubuntu 18.04) is too old for the wheels of this project.
"""
HEAD_NODE_TYPE = "head"
DISK_GIB = 200
INSTANCE_PROFILE = "ray-autoscaler-v1"
"""The profile that `ray up` creates; workers need it to reach S3."""

PRICES_ON_NODES = "~/.local/share/orchestrator/prices.csv"
"""Where orchestrator looks for refreshed prices when its environment says nothing else."""

_ENV = "export PATH=$HOME/venv/bin:$PATH RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=$HOME/.ray/auth_token"
_DETACHED = "</dev/null >>$HOME/{name}.log 2>&1 &"


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsOptions:
    """What the price book does not know. `subnets` maps a zone id ("use1-az1") to the subnet in that zone.

    `prices` is the local file of the price list that the node types come from; None = the one shipped here.
    """

    cluster_name: str = "orchestrator"
    region: str
    max_workers: int
    idle_timeout_s: float = 300.0
    head_instance_type: str = "m7i.2xlarge"
    ami: str = AMI
    subnets: Mapping[str, str] = field(default_factory=dict)
    prices: str | None = None


def aws_config(node_types: Sequence[NodeType], options: AwsOptions) -> dict[str, Any]:
    """The cluster launcher's configuration; passes Ray's own validation."""
    types: dict[str, Any] = {HEAD_NODE_TYPE: _head_type(options)}
    types.update({node_type.name: _worker_type(node_type, options) for node_type in node_types})
    return {
        "cluster_name": options.cluster_name,
        "max_workers": options.max_workers,
        "upscaling_speed": 1.0,
        "idle_timeout_minutes": options.idle_timeout_s / 60,
        "provider": {"type": "aws", "region": options.region, "cache_stopped_nodes": False},
        "auth": {"ssh_user": "ubuntu"},
        "available_node_types": types,
        "head_node_type": HEAD_NODE_TYPE,
        "file_mounts": _file_mounts(options),
        "rsync_exclude": [".git", ".venv", ".assets", ".orchestrator"],
        "setup_commands": [
            "command -v uv || curl -LsSf https://astral.sh/uv/install.sh | sh",
            "test -x ~/venv/bin/python || ~/.local/bin/uv venv --python 3.11 ~/venv",
            '~/.local/bin/uv pip install --python ~/venv/bin/python "$HOME/orchestrator[gpu]"',
        ],
        "head_setup_commands": [],
        "worker_setup_commands": [],
        "head_start_ray_commands": [
            f"{_ENV}; ray stop",
            f"{_ENV}; eval $(python -m orchestrator.cluster.attach --name {options.cluster_name} "
            f"--region {options.region}); ulimit -n 65536; ray start --head --port=6379 --object-manager-port=8076 "
            "--dashboard-host=127.0.0.1 --autoscaling-config=~/ray_bootstrap_config.yaml --disable-usage-stats",
            f"{_ENV}; setsid nohup python -m orchestrator.control --state-dir $HOME/.orchestrator "
            + _DETACHED.format(name="controller"),
        ],
        "worker_start_ray_commands": [
            f"{_ENV}; ray stop",
            f"{_ENV}; ulimit -n 65536; ray start --address=$RAY_HEAD_IP:6379 --object-manager-port=8076",
            f"{_ENV}; setsid nohup python -m orchestrator.cluster.watcher --address $RAY_HEAD_IP:6379 "
            + _DETACHED.format(name="watcher"),
        ],
    }


def render(config: Mapping[str, Any], header: str) -> str:
    """YAML with a leading comment; the order of keys is kept, so that the same plan gives the same file."""
    comment = "".join(f"# {line}".rstrip() + "\n" for line in header.splitlines())
    return comment + yaml.safe_dump(dict(config), sort_keys=False, width=120)


def missing_subnets(node_types: Sequence[NodeType], options: AwsOptions) -> tuple[str, ...]:
    """Zones that spot node types are tied to and for which no subnet was given."""
    zones = {node_type.offer.zone for node_type in node_types} - {ANY_ZONE}
    return tuple(sorted(zones - options.subnets.keys()))


def _file_mounts(options: AwsOptions) -> dict[str, str]:
    mounts = {"~/.ray/auth_token": "~/.ray/auth_token", "~/orchestrator": "."}
    if options.prices is not None:
        # Else the controller on the head would plan with other prices and ask for nodes that are not in this file.
        mounts[PRICES_ON_NODES] = options.prices
    return mounts


def _head_type(options: AwsOptions) -> dict[str, Any]:
    # Drivers and the controller live here: never on spot, and no accelerator.
    return {
        "resources": {},
        "min_workers": 0,
        "max_workers": 0,
        "node_config": {**_common(options), "InstanceType": options.head_instance_type},
    }


def _worker_type(node_type: NodeType, options: AwsOptions) -> dict[str, Any]:
    offer = node_type.offer
    node_config: dict[str, Any] = {
        **_common(options),
        "InstanceType": offer.instance.name,
        "IamInstanceProfile": {"Name": INSTANCE_PROFILE},
        "TagSpecifications": [{"ResourceType": "instance", "Tags": offer_tags(offer)}],
    }
    if offer.market is Market.SPOT:
        node_config["InstanceMarketOptions"] = {
            "MarketType": "spot",
            "SpotOptions": {"InstanceInterruptionBehavior": "terminate"},
        }
    if offer.zone != ANY_ZONE:
        # Ray picks the zone through the subnet; without the zone's own subnet the label could lie.
        node_config["SubnetIds"] = [options.subnets.get(offer.zone, f"subnet-of-{offer.zone}")]
    return {
        "resources": node_resources(node_type),
        "labels": dict(node_type.labels),
        "min_workers": 0,
        "max_workers": node_type.max_workers,
        "node_config": node_config,
    }


def _common(options: AwsOptions) -> dict[str, Any]:
    disk = {"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": DISK_GIB, "VolumeType": "gp3"}}
    # One hop: what runs in a container must not read the node's credentials; tokens are required (IMDSv2).
    metadata = {"HttpTokens": "required", "HttpPutResponseHopLimit": 1}
    return {"ImageId": options.ami, "BlockDeviceMappings": [disk], "MetadataOptions": metadata}
