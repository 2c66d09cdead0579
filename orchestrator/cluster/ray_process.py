"""Commands and environments of Ray's processes in a local cluster: the head, the emulated nodes, and a user's shell."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.cluster.instance import InstanceRecord
from orchestrator.cluster.process import CLUSTER_MARK, INSTANCE_MARK
from orchestrator.cluster.state import STATE_DIR_VARIABLE, ClusterState, StateDir

HEAD_NODE_TYPE = "head"
HOST = "127.0.0.1"
NODE_OBJECT_STORE_BYTES = 100 * 1024**2
"""Per emulated node; Ray refuses less than 75 MiB."""
HEAD_OBJECT_STORE_BYTES = 200 * 1024**2

_FOREIGN = ("RAY_ADDRESS", "RAY_API_SERVER_ADDRESS", "RAY_AUTH_TOKEN", "RAY_OVERRIDE_NODE_ID_FOR_TESTING", "RAY_JOB_ID")
"""Variables of another cluster, or of the process that called us, that must not leak into a node."""

_FRUGAL = {
    "RAY_prestart_worker_first_driver": "0",
    "RAY_enable_worker_prestart": "0",
    "RAY_num_workers_soft_limit": "2",
    "RAY_worker_niceness": "5",
    "OMP_WAIT_POLICY": "PASSIVE",
}
"""Emulated nodes have the vCPUs of what they stand for; an idle Python process for each would fill the memory.

Ray gives workers a niceness of 15, which on a machine shared with anything else leaves them 3% of a core. Threads that
spin while they wait take the cores from other nodes' workers: PASSIVE lets them sleep.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadPorts:
    """Loopback ports of one cluster, so that several fit on one machine."""

    gcs: int
    dashboard: int
    agent: int
    client_server: int
    autoscaler_metrics: int
    api: int
    serve: int


def ray_executable() -> Path:
    """Ray's command line in the environment of the running Python."""
    return Path(sys.executable).with_name("ray")


def head_instance_id(cluster_name: str) -> str:
    """The id under which the autoscaler adopts the head."""
    return f"head-{cluster_name}"


def head_command(cluster: ClusterState, ports: HeadPorts, num_cpus: int, autoscaling_config: Path) -> tuple[str, ...]:
    """`ray start --head`; `--block` ties all of the head's processes to the one that is recorded."""
    return (
        str(ray_executable()),
        "start",
        "--head",
        "--block",
        f"--node-ip-address={HOST}",
        f"--port={ports.gcs}",
        f"--dashboard-host={HOST}",
        f"--dashboard-port={ports.dashboard}",
        f"--dashboard-agent-listen-port={ports.agent}",
        f"--ray-client-server-port={ports.client_server}",
        f"--autoscaling-config={autoscaling_config}",
        f"--temp-dir={cluster.ray_temp_dir}",
        f"--num-cpus={num_cpus}",
        "--num-gpus=0",
        f"--object-store-memory={HEAD_OBJECT_STORE_BYTES}",
        "--min-worker-port=0",
        "--max-worker-port=0",
        "--disable-usage-stats",
    )


def node_command(record: InstanceRecord, cluster: ClusterState) -> tuple[str, ...]:
    """`ray start` of an emulated node; resources and labels are those the autoscaler counts on."""
    custom = {name: amount for name, amount in record.resources.items() if name not in ("CPU", "GPU", "memory")}
    return (
        str(ray_executable()),
        "start",
        "--block",
        f"--address={cluster.ray_address}",
        f"--node-ip-address={HOST}",
        f"--num-cpus={int(record.resources.get('CPU', 0))}",
        f"--num-gpus={int(record.resources.get('GPU', 0))}",
        f"--memory={int(record.resources['memory'])}",
        f"--resources={json.dumps(custom)}",
        "--labels=" + ",".join(f"{key}={value}" for key, value in sorted(record.labels.items())),
        f"--object-store-memory={NODE_OBJECT_STORE_BYTES}",
        "--min-worker-port=0",
        "--max-worker-port=0",
        # One log monitor per machine (the head's), else drivers see each line several times.
        "--include-log-monitor=false",
    )


def shell_environment(state: StateDir, cluster: ClusterState) -> dict[str, str]:
    """What a user's shell needs for `ray job submit`, `ray status` and our own drivers."""
    return {
        **_access(state, cluster),
        "RAY_ADDRESS": cluster.ray_address,
        "RAY_API_SERVER_ADDRESS": cluster.dashboard_url,
        "ORCHESTRATOR_SERVE_URL": cluster.serve_url,
    }


def head_environment(
    state: StateDir, cluster: ClusterState, ports: HeadPorts, base: Mapping[str, str]
) -> dict[str, str]:
    """Environment of the head; the monitor, job drivers and, through the monitor, all nodes inherit it."""
    return {
        **_inherited(base),
        **_access(state, cluster),
        **_FRUGAL,
        CLUSTER_MARK: cluster.name,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_enable_autoscaler_v2": "1",
        "AUTOSCALER_UPDATE_INTERVAL_S": "1",
        "AUTOSCALER_METRIC_PORT": str(ports.autoscaler_metrics),
        "RAY_CLOUD_INSTANCE_ID": head_instance_id(cluster.name),
        "RAY_NODE_TYPE_NAME": HEAD_NODE_TYPE,
    }


def node_environment(
    record: InstanceRecord, state: StateDir, cluster: ClusterState, base: Mapping[str, str]
) -> dict[str, str]:
    """Environment of an emulated node's processes. The node's id is given, so that ledger and Ray agree on it."""
    return {
        **_inherited(base),
        **_access(state, cluster),
        **_FRUGAL,
        CLUSTER_MARK: cluster.name,
        INSTANCE_MARK: record.instance_id,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_CLOUD_INSTANCE_ID": record.instance_id,
        "RAY_NODE_TYPE_NAME": record.node_type,
        "RAY_OVERRIDE_NODE_ID_FOR_TESTING": record.ray_node_id,
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": f"http://{HOST}:{record.metadata_port}",
    }


def _access(state: StateDir, cluster: ClusterState) -> dict[str, str]:
    return {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": cluster.token_path,
        "ORCHESTRATOR_API_URL": cluster.api_url,
        "ORCHESTRATOR_TOKEN_PATH": cluster.token_path,
        STATE_DIR_VARIABLE: str(state.root),
    }


def _inherited(base: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in base.items() if name not in _FOREIGN}
    # Workers call `python`; it has to be this environment's.
    binaries = str(Path(sys.executable).parent)
    paths = [path for path in kept.get("PATH", "").split(":") if path and path != binaries]
    return {**kept, "PATH": ":".join([binaries, *paths])}
