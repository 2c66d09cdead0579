"""Real clusters: up, up again, a crashed head, down, and two beside each other."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from orchestrator.cluster.autoscaling_config import Scaling
from orchestrator.cluster.faults import Faults, change_faults
from orchestrator.cluster.instance import load_records
from orchestrator.cluster.lifecycle import UpOptions, down, is_healthy, up
from orchestrator.cluster.process import CLUSTER_MARK, find, marked
from orchestrator.cluster.ray_process import shell_environment
from orchestrator.cluster.state import ClusterState, StateDir
from orchestrator.model.node import NodeType

OPTIONS = UpOptions(scaling=Scaling(idle_timeout_s=120), controller=False)
DRIVER = """
import os, ray
ray.init(log_to_driver=False)
task = ray.remote(lambda: os.environ["RAY_CLOUD_INSTANCE_ID"])
selector = {"orchestrator/instance-type": "c7i.xlarge"}
print(ray.get(task.options(num_cpus=1, label_selector=selector).remote(), timeout=90))
"""


@pytest.fixture
def states(tmp_path: Path) -> Iterator[Callable[[str], StateDir]]:
    """State directories whose clusters are ended afterwards, whatever the test did."""
    made: list[StateDir] = []

    def make(name: str) -> StateDir:
        state = StateDir(tmp_path / name)
        change_faults(state, lambda _: Faults(launch_delay_s=0.0))
        made.append(state)
        return state

    yield make
    for state in made:
        down(state)


def instance_of_a_task(state: StateDir, cluster: ClusterState) -> str:
    """Runs a driver as a user would, from a shell with `orchestrator env`; returns the instance its task ran on."""
    environment = {name: value for name, value in os.environ.items() if name != "RAY_AUTH_TOKEN"}
    environment.update(shell_environment(state, cluster))
    done = subprocess.run(
        [sys.executable, "-c", DRIVER], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def listens(url: str) -> bool:
    address = urlsplit(url if "//" in url else f"//{url}")
    with socket.socket() as probe:
        return probe.connect_ex((address.hostname, address.port)) == 0


def assert_gone(cluster: ClusterState) -> None:
    assert marked(CLUSTER_MARK, cluster.name) == ()
    assert not Path(cluster.ray_temp_dir).exists(), "its unix sockets live there"
    assert not listens(cluster.ray_address)
    assert not listens(cluster.dashboard_url)


@pytest.mark.ray
def test_a_cluster_from_up_over_a_crash_to_down(
    states: Callable[[str], StateDir], emulated_node_types: tuple[NodeType, ...]
) -> None:
    state = states("one")
    first = up(state, emulated_node_types, OPTIONS)
    assert state.token_path.stat().st_mode & 0o777 == 0o600
    assert up(state, emulated_node_types, OPTIONS) == first, "it is up already"
    on_first = instance_of_a_task(state, first)

    find(first.pids["head"]).send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while is_healthy(state, first):
        assert time.monotonic() < deadline, "a dead head is not healthy"
        time.sleep(0.1)
    second = up(state, emulated_node_types, OPTIONS)
    assert second.name != first.name
    assert_gone(first)

    on_second = instance_of_a_task(state, second)
    assert down(state)
    assert_gone(second)
    assert state.load() is None
    assert not down(state), "a second time there is nothing to do"
    records = {record.instance_id: record for record in load_records(state)}
    assert records.keys() == {on_first, on_second}, "history stays"
    assert all(record.terminated_at and record.end_reason == "down" for record in records.values())


@pytest.mark.ray
@pytest.mark.faults
def test_two_clusters_share_a_machine(
    states: Callable[[str], StateDir], emulated_node_types: tuple[NodeType, ...]
) -> None:
    left, right = states("left"), states("right")
    one, other = up(left, emulated_node_types, OPTIONS), up(right, emulated_node_types, OPTIONS)
    assert one.ray_temp_dir != other.ray_temp_dir
    assert left.token_path.read_text() != right.token_path.read_text()
    assert instance_of_a_task(left, one) != instance_of_a_task(right, other)
    assert len(load_records(left)) == len(load_records(right)) == 1
    down(left)
    assert_gone(one)
    assert is_healthy(right, other)
    assert instance_of_a_task(right, other) == load_records(right)[0].instance_id
