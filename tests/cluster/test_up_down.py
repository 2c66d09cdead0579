"""`up` and `down` with a stand-in for Ray's head: refusals, failures and interruptions leave nothing behind."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections import namedtuple
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cluster import lifecycle
from orchestrator.cluster.lifecycle import UpOptions, down, up
from orchestrator.cluster.process import CLUSTER_MARK, RecordedProcess, marked, record
from orchestrator.cluster.state import STATE_DIR_VARIABLE, ClusterState, StateDir
from orchestrator.model.error import OperationError

pytestmark = pytest.mark.slow

RAY_ONLY = UpOptions(controller=False)
Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def head(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Replaces `ray start --head` by a Python program."""

    def replace(program: str) -> None:
        monkeypatch.setattr(lifecycle, "head_command", lambda *_: (sys.executable, "-c", program))

    return replace


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[ClusterState]:
    """Clusters that `up` began to start."""
    seen: list[ClusterState] = []
    make = lifecycle._new_cluster

    def remember(*args: Any) -> ClusterState:
        seen.append(make(*args))
        return seen[-1]

    monkeypatch.setattr(lifecycle, "_new_cluster", remember)
    return seen


def assert_nothing_left(state: StateDir, cluster: ClusterState) -> None:
    assert state.load() is None
    assert not Path(cluster.ray_temp_dir).exists()
    assert marked(CLUSTER_MARK, cluster.name) == ()


def test_a_head_that_ends_is_reported_with_its_last_words(
    state_dir: StateDir, head: Callable[[str], None], started: list[ClusterState]
) -> None:
    head("print('cannot bind'); raise SystemExit(3)")
    with pytest.raises(OperationError, match=r"the head ended while it started: cannot bind \(see .*head\.log"):
        up(state_dir, (), RAY_ONLY)
    assert_nothing_left(state_dir, started[0])


def test_a_head_that_does_not_answer_is_ended(
    state_dir: StateDir, head: Callable[[str], None], started: list[ClusterState], monkeypatch: pytest.MonkeyPatch
) -> None:
    head("import time; time.sleep(300)")
    monkeypatch.setattr(lifecycle, "START_TIMEOUT_S", 0.5)
    with pytest.raises(OperationError, match="did not answer"):
        up(state_dir, (), RAY_ONLY)
    assert_nothing_left(state_dir, started[0])


def test_ctrl_c_while_starting_cleans_up(
    state_dir: StateDir, head: Callable[[str], None], started: list[ClusterState], monkeypatch: pytest.MonkeyPatch
) -> None:
    head("import time; time.sleep(300)")

    def interrupt(*_: Any) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(lifecycle, "_answers", interrupt)
    with pytest.raises(KeyboardInterrupt):
        up(state_dir, (), RAY_ONLY)
    assert_nothing_left(state_dir, started[0])


def test_a_record_of_dead_processes_is_cleaned_away(
    state_dir: StateDir, head: Callable[[str], None], started: list[ClusterState], tmp_path: Path
) -> None:
    """As after a reboot: the pids are gone, or belong to others."""
    head("print('no'); raise SystemExit(1)")
    with pytest.raises(OperationError):
        up(state_dir, (), RAY_ONLY)
    mine = record(os.getpid())
    innocent = {"head": type(mine)(pid=mine.pid, create_time=mine.create_time - 100)}
    precious = tmp_path / "precious"
    precious.mkdir()
    stale = lifecycle.replace(started[0], pids=innocent, ready=True, ray_temp_dir=str(precious))
    state_dir.save(stale)
    assert down(state_dir)
    assert state_dir.load() is None
    assert precious.exists(), "only folders that `up` made are removed"


def abandoned(head: Callable[[str], None], state: StateDir, monkeypatch: pytest.MonkeyPatch) -> ClusterState:
    """A cluster whose `up` ended without cleaning up, as if by SIGKILL."""
    head("import time; time.sleep(300)")
    with monkeypatch.context() as patched:
        patched.setattr(lifecycle, "START_TIMEOUT_S", 0.5)
        patched.setattr(lifecycle, "_clean", lambda *_: False)
        with pytest.raises(OperationError, match="did not answer"):
            up(state, (), RAY_ONLY)
    return state.load()


@pytest.mark.parametrize("everything", [False, True], ids=["record", "directory"])
def test_down_finds_a_cluster_whose_record_was_lost(
    state_dir: StateDir, head: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, everything: bool
) -> None:
    told: list[str] = []
    lost = abandoned(head, state_dir, monkeypatch)
    shell = subprocess.Popen(["sleep", "300"], env={**os.environ, STATE_DIR_VARIABLE: str(state_dir.root)})
    if everything:
        shutil.rmtree(state_dir.root)
    state_dir.forget()
    try:
        assert down(state_dir, told.append)
        assert marked(CLUSTER_MARK, lost.name) == ()
        assert shell.poll() is None, "a user's shell that called `orchestrator env` is none of the cluster's processes"
    finally:
        shell.kill()
        shell.wait()
        shutil.rmtree(lost.ray_temp_dir, ignore_errors=True)
    assert len(told) == 1
    assert f"cluster.json was lost; the processes of cluster {lost.name} are" in told[0]
    assert not down(state_dir, told.append)


def test_a_lost_cluster_leaves_the_folder_of_ray_neither(
    state_dir: StateDir, head: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="orch-", dir="/tmp"))
    monkeypatch.setattr(lifecycle, "argument", lambda processes, option: {"--temp-dir": str(folder)}[option])
    lost = abandoned(head, state_dir, monkeypatch)
    state_dir.forget()
    assert down(state_dir)
    Path(lost.ray_temp_dir).rmdir()
    assert not folder.exists()


def test_up_says_what_it_ends_first(
    state_dir: StateDir, head: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    first = abandoned(head, state_dir, monkeypatch)
    gone = RecordedProcess(pid=os.getpid(), create_time=1.0)
    state_dir.save(replace(first, ready=True, pids={**first.pids, "controller": gone}))
    head("raise SystemExit(3)")
    with pytest.raises(OperationError):
        up(state_dir, (), RAY_ONLY, told.append)
    assert told == ["the controller had ended; the cluster is started anew, running work is resubmitted"]
    assert marked(CLUSTER_MARK, first.name) == ()

    lost = abandoned(head, state_dir, monkeypatch)
    state_dir.forget()
    head("raise SystemExit(3)")
    with pytest.raises(OperationError):
        up(state_dir, (), RAY_ONLY, told.append)
    assert "was lost" in told[1]
    assert marked(CLUSTER_MARK, lost.name) == ()
    Path(lost.ray_temp_dir).rmdir()


def test_down_without_a_cluster_is_harmless(state_dir: StateDir) -> None:
    assert not down(state_dir)
    assert not state_dir.root.exists()


def test_a_port_in_use_is_named(state_dir: StateDir) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            OperationError, match=rf"port {port} for serve is in use\. Choose another with --serve-port"
        ):
            up(state_dir, (), UpOptions(controller=False, serve_port=port))
    assert state_dir.load() is None


@pytest.mark.parametrize(
    ("target", "name", "value", "message"),
    [
        pytest.param(lifecycle, "PYTHON", (2, 7), r"cannot run this cluster\. Use Python 3\.11", id="python"),
        pytest.param(lifecycle, "ray_executable", lambda: Path("/none/ray"), r"Ray is not installed", id="ray"),
        pytest.param(shutil, "disk_usage", lambda _: Usage(9, 9, 2**29), r"0\.5 GiB free", id="disk"),
    ],
)  # fmt: skip
def test_an_unfit_machine_is_refused_before_anything_starts(
    state_dir: StateDir, monkeypatch: pytest.MonkeyPatch, target: Any, name: str, value: Any, message: str
) -> None:
    monkeypatch.setattr(target, name, value)
    with pytest.raises(OperationError, match=message):
        up(state_dir, (), RAY_ONLY)
    assert state_dir.load() is None
