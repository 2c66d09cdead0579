"""The state directory: where it is, and a record that is never half written."""

import stat
from pathlib import Path

import pytest

from orchestrator.cluster.process import RecordedProcess
from orchestrator.cluster.state import ClusterState, StateDir, resolve_state_dir, write_atomically
from orchestrator.model.error import OperationError


@pytest.fixture
def cluster() -> ClusterState:
    return ClusterState(
        name="local-1", provider="local", ray_address="127.0.0.1:1", dashboard_url="http://127.0.0.1:2",
        api_url="http://127.0.0.1:3", serve_url="http://127.0.0.1:4", ray_temp_dir="/tmp/orch-none",
        token_path="/none", database_url="sqlite://", started_at="2026-11-30T00:00:00Z",
        pids={"head": RecordedProcess(pid=1, create_time=1.5)},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("option", "environ", "expected"),
    [
        (Path("/a"), {"ORCHESTRATOR_STATE_DIR": "/b"}, Path("/a")),
        (None, {"ORCHESTRATOR_STATE_DIR": "/b"}, Path("/b")),
        (None, {"ORCHESTRATOR_STATE_DIR": ""}, Path.cwd() / ".orchestrator"),
        (None, {}, Path.cwd() / ".orchestrator"),
    ],
    ids=["option", "environment", "empty-environment", "default"],
)
def test_where_it_is(option: Path | None, environ: dict[str, str], expected: Path) -> None:
    assert resolve_state_dir(option, environ).root == expected


def test_the_record_comes_back_as_it_was(state_dir: StateDir, cluster: ClusterState) -> None:
    assert state_dir.load() is None
    state_dir.save(cluster)
    assert state_dir.load() == cluster
    state_dir.forget()
    state_dir.forget()
    assert state_dir.load() is None


@pytest.mark.parametrize("content", [b"", b"{", b'{"name": "x"}'], ids=["empty", "cut", "incomplete"])
def test_a_damaged_record_is_not_taken_for_none(state_dir: StateDir, content: bytes) -> None:
    write_atomically(state_dir.cluster_file, content)
    with pytest.raises(OperationError, match=r"cluster\.json is not readable"):
        state_dir.load()


def test_writing_leaves_no_other_file_and_keeps_the_mode(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "token"
    write_atomically(target, b"one", mode=0o600)
    write_atomically(target, b"two", mode=0o600)
    assert target.read_bytes() == b"two"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert list(target.parent.iterdir()) == [target]
