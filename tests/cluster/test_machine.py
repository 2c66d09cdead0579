"""The life of an emulated instance, with stand-ins for Ray and the watcher."""

import os
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import psutil
import pytest

from orchestrator.cluster import machine as module
from orchestrator.cluster.faults import Faults, change_faults
from orchestrator.cluster.instance import (
    InstanceRecord,
    LaunchSpec,
    Order,
    load_record,
    save_order,
    save_record,
)
from orchestrator.cluster.machine import Machine
from orchestrator.cluster.metadata_client import MetadataClient
from orchestrator.cluster.state import ClusterState, StateDir
from orchestrator.model.instant import seconds_between
from orchestrator.model.offer import Market

pytestmark = pytest.mark.slow

UP = "print('Ray runtime started.', flush=True); import time; time.sleep(300)"
NEVER = "raise SystemExit(1)"
CRASHES = "print('Ray runtime started.', flush=True); import time; time.sleep(0.5); raise SystemExit(1)"
SPEC = LaunchSpec(
    offer="g6.xlarge:spot:us-east-1:use1-az1", instance_type="g6.xlarge", accelerator="L4", market=Market.SPOT,
    region="us-east-1", zone="use1-az1", price_usd_per_hour=Decimal("0.3"), on_demand_usd_per_hour=Decimal("0.8"),
)  # fmt: skip


class Life:
    """A machine that runs in a thread, for a test to look at."""

    def __init__(self, state: StateDir) -> None:
        self.state = state
        self._thread = threading.Thread(target=Machine(state, "i-1").run)
        self._thread.start()

    @property
    def record(self) -> InstanceRecord:
        found = load_record(self.state, "i-1")
        assert found is not None
        return found

    def order(self, **fields: Any) -> None:
        save_order(self.state, "i-1", Order(**fields))

    def end(self, timeout_s: float = 15.0) -> InstanceRecord:
        self._thread.join(timeout_s)
        assert not self._thread.is_alive(), "the machine goes on"
        return self.record


@pytest.fixture
def live(state_dir: StateDir, monkeypatch: pytest.MonkeyPatch, until: Callable[..., Any]) -> Any:
    """Starts a machine whose `ray start` is the given program; waits until it is ready unless told otherwise."""
    lives: list[Life] = []

    def start(program: str = UP, *, ready: bool = True) -> Life:
        monkeypatch.setattr(module, "node_command", lambda *_: (sys.executable, "-c", program))
        # The signal handler belongs to the main thread, which is the test's.
        monkeypatch.setattr(module.signal, "signal", lambda *_: None)
        state_dir.save(
            ClusterState(
                name="local-1",
                provider="local",
                ray_address="127.0.0.1:1",
                dashboard_url="",
                api_url="",
                serve_url="",
                ray_temp_dir="",
                token_path="",
                database_url="",
                started_at="",
            )
        )
        change_faults(state_dir, lambda _: Faults(launch_delay_s=0.3))
        state_dir.logs.mkdir(parents=True, exist_ok=True)
        save_record(
            state_dir,
            InstanceRecord(
                instance_id="i-1",
                cluster="local-1",
                node_type="t",
                spec=SPEC,
                resources={"CPU": 1.0},
                labels={},
                tags={},
                ray_node_id="first",
                launched_at="2026-11-30T12:00:00Z",
            ),
        )
        life = Life(state_dir)
        lives.append(life)
        if ready:
            until(lambda: life.record.ready_at, 20, "readiness")
        return life

    yield start
    for life in lives:
        life.order(kind="terminate", reason="down")
        life.end()


def children() -> set[int]:
    """Living descendants of this process; the crashed ones that nobody has asked about yet do not count."""
    found = psutil.Process(os.getpid()).children(recursive=True)
    return {child.pid for child in found if child.status() != psutil.STATUS_ZOMBIE}


@pytest.mark.parametrize("reason", ["idle", "down"])
def test_an_order_ends_it_with_its_reason(live: Callable[..., Life], reason: str) -> None:
    before = children()
    life = live()
    life.order(kind="terminate", reason=reason)
    ended = life.end()
    assert (ended.end_reason, ended.notice_at) == (reason, "")
    assert ended.terminated_at > ended.ready_at
    assert children() <= before


def test_a_notice_is_readable_and_kept_to_the_deadline(live: Callable[..., Life], until: Callable[..., Any]) -> None:
    life = live()
    client = MetadataClient(f"http://127.0.0.1:{life.record.metadata_port}")
    assert client.interruption_at() is None
    life.order(kind="interrupt", notice_s=2.0)
    announced = until(client.interruption_at, 5, "the notice")
    ended = life.end()
    assert ended.end_reason == "interrupted-with-notice"
    assert 0 <= seconds_between(announced, ended.deadline_at) < 1, "whole seconds, never later"
    assert 2.0 <= seconds_between(ended.notice_at, ended.terminated_at) < 4.0


def test_leaving_during_a_notice_counts_as_interrupted(live: Callable[..., Life], until: Callable[..., Any]) -> None:
    life = live()
    life.order(kind="interrupt", notice_s=60.0)
    until(lambda: life.record.notice_at, 5, "the notice")
    life.order(kind="terminate", reason="idle")
    assert life.end().end_reason == "interrupted-with-notice"


def test_without_notice_nothing_is_announced(live: Callable[..., Life]) -> None:
    life = live()
    life.order(kind="interrupt", notice_s=0.0)
    ended = life.end()
    assert (ended.end_reason, ended.notice_at) == ("interrupted-without-notice", "")


def test_ray_that_does_not_come_up_is_tried_again_and_then_given_up(live: Callable[..., Life]) -> None:
    ended = live(NEVER, ready=False).end()
    assert (ended.end_reason, ended.ready_at) == ("unknown", "")
    assert ended.ray_node_id != "first", "an id that Ray may hold for dead is not used again"


def test_a_crash_is_not_idleness(live: Callable[..., Life], until: Callable[..., Any]) -> None:
    before = children()
    life = live(CRASHES)
    until(lambda: len(children() - before) == 1, 10, "the crash; the watcher lives")
    life.order(kind="terminate", reason="idle")
    assert life.end().end_reason == "unknown"


def test_it_ends_with_its_cluster(live: Callable[..., Life], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ORPHAN_CHECK_S", 0.2)
    life = live()
    cluster = life.state.load()
    assert cluster is not None
    life.state.save(replace(cluster, name="local-2"))
    assert life.end().end_reason == "down"
