"""Writes the cluster record on the head that `ray up` started on AWS, and prints the exports its drivers need.

`cluster.yaml` evaluates its output before `ray start --head`.
"""

import argparse
import os
from pathlib import Path

from ray.util import get_node_ip_address

from orchestrator.cluster.clock import utc_now
from orchestrator.cluster.ray_process import shell_environment
from orchestrator.cluster.state import ClusterState, StateDir, resolve_state_dir
from orchestrator.model.catalog import Provider
from orchestrator.model.instant import to_iso

GCS_PORT, DASHBOARD_PORT, API_PORT, SERVE_PORT = 6379, 8265, 8270, 8000


def aws_state(name: str, region: str, state: StateDir, head_ip: str, token_path: Path, started_at: str) -> ClusterState:
    """The record of a cluster whose head is this machine; ports are those of `cluster.yaml`."""
    return ClusterState(
        name=name,
        provider=Provider.AWS.value,
        region=region,
        ray_address=f"{head_ip}:{GCS_PORT}",
        dashboard_url=f"http://127.0.0.1:{DASHBOARD_PORT}",
        api_url=f"http://127.0.0.1:{API_PORT}",
        serve_url=f"http://127.0.0.1:{SERVE_PORT}",
        ray_temp_dir="/tmp/ray",
        token_path=str(token_path),
        database_url=state.database_url,
        started_at=started_at,
        ready=True,
    )


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", required=True)
    parser.add_argument("--region", required=True)
    options = parser.parse_args()
    state = resolve_state_dir(Path.home() / ".orchestrator", os.environ)
    token_path = Path.home() / ".ray" / "auth_token"
    cluster = aws_state(options.name, options.region, state, get_node_ip_address(), token_path, to_iso(utc_now()))
    state.save(cluster)
    for variable, value in sorted(shell_environment(state, cluster).items()):
        # The head is being started: it must not look for itself.
        if variable != "RAY_ADDRESS":
            print(f"export {variable}={value};")


if __name__ == "__main__":
    main()
