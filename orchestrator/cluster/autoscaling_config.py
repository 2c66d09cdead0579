"""What Ray's autoscaler reads in a local cluster: the node types, launched by our own provider."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import TypeAdapter

from orchestrator.cluster.instance import LaunchSpec, load_records
from orchestrator.cluster.node_types import node_resources
from orchestrator.cluster.ray_process import HEAD_NODE_TYPE
from orchestrator.cluster.state import StateDir, write_atomically
from orchestrator.model.node import NodeType

PROVIDER = "orchestrator.cluster.local_cloud.LocalCloud"
_SPEC = TypeAdapter(LaunchSpec)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """How a cluster scales. `head_cpus` are logical: scheduling tokens for helper tasks, not cores of this machine."""

    max_workers: int = 16
    head_cpus: int = 4
    idle_timeout_s: float = 60.0


def local_config(
    node_types: Sequence[NodeType], scaling: Scaling, state: StateDir, cluster_name: str
) -> dict[str, Any]:
    """The autoscaling configuration. Every legacy key has a value, else Ray's monitor ends with a KeyError."""
    types: dict[str, Any] = {
        HEAD_NODE_TYPE: {"resources": {"CPU": scaling.head_cpus}, "node_config": {}, "min_workers": 0, "max_workers": 0}
    }
    types.update({node_type.name: local_node_type(node_type) for node_type in node_types})
    return {
        "cluster_name": cluster_name,
        "max_workers": scaling.max_workers,
        "upscaling_speed": 1.0,
        "idle_timeout_minutes": scaling.idle_timeout_s / 60,
        "provider": {
            "type": "external",
            "module": PROVIDER,
            "state_dir": str(state.root),
            "cluster": cluster_name,
            # Instances start Ray themselves; there is no machine to reach through SSH.
            "disable_node_updaters": True,
        },
        "available_node_types": types,
        "head_node_type": HEAD_NODE_TYPE,
        **{key: [] for key in _EMPTY_LISTS},
        **{key: {} for key in ("file_mounts", "docker", "auth")},
        "file_mounts_sync_continuously": False,
    }


_EMPTY_LISTS = (
    "setup_commands",
    "head_setup_commands",
    "worker_setup_commands",
    "initialization_commands",
    "head_start_ray_commands",
    "worker_start_ray_commands",
    "cluster_synced_files",
    "rsync_exclude",
    "rsync_filter",
)


def local_node_type(node_type: NodeType) -> dict[str, Any]:
    """One entry of `available_node_types`; its `node_config` is the LaunchSpec that our provider reads."""
    offer = node_type.offer
    spec = LaunchSpec(
        offer=offer.name,
        instance_type=offer.instance.name,
        accelerator=offer.instance.accelerator.name if offer.instance.accelerator else None,
        market=offer.market,
        region=offer.region,
        zone=offer.zone,
        price_usd_per_hour=offer.price_usd_per_hour,
        on_demand_usd_per_hour=offer.on_demand_usd_per_hour,
    )
    return {
        "resources": node_resources(node_type),
        "labels": dict(node_type.labels),
        "node_config": _SPEC.dump_python(spec, mode="json"),
        "min_workers": 0,
        "max_workers": node_type.max_workers,
    }


def read_scaling(state: StateDir) -> Scaling:
    """How the running cluster scales, from the file that its autoscaler reads."""
    config = yaml.safe_load(state.autoscaling_config.read_bytes())
    return Scaling(
        max_workers=config["max_workers"],
        head_cpus=config["available_node_types"][HEAD_NODE_TYPE]["resources"]["CPU"],
        idle_timeout_s=config["idle_timeout_minutes"] * 60,
    )


def write_config(node_types: Sequence[NodeType], scaling: Scaling, state: StateDir, cluster_name: str) -> None:
    """Writes the file that the autoscaler reads at every step, so node types can change while the cluster runs.

    A type that still has instances stays, else the autoscaler would not know what they are.
    """
    config = local_config(node_types, scaling, state, cluster_name)
    live = {
        record.node_type
        for record in load_records(state)
        if record.cluster == cluster_name and not record.terminated_at
    }
    if live and state.autoscaling_config.exists():
        before = yaml.safe_load(state.autoscaling_config.read_bytes())["available_node_types"]
        for name in sorted(live - config["available_node_types"].keys()):
            config["available_node_types"][name] = before[name]
    write_atomically(state.autoscaling_config, yaml.safe_dump(config, sort_keys=False).encode())
