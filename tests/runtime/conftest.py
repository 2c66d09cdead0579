"""A world without Ray and without waiting: a clock that tests move, and a link on which tests give notice."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.runtime.link import Notice
from orchestrator.runtime.local_link import LocalLink

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: threads that spin crawl on a busy machine


class NodeGone(Exception):  # noqa: N818
    """The node was taken away."""


class World(LocalLink):
    """Time in seconds, what was reported, and when notice is given and the node goes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.now = 1_000_000.0
        self.told: list[dict[str, Any]] = []
        self.save_s = 0.0
        self.notice_at: float | None = None
        self.deadline_in_s: float | None = 20.0
        self.gone_at: float | None = None

    def clock(self) -> float:
        if self.gone_at is not None and self.now >= self.gone_at:
            raise NodeGone
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.clock()

    def report(self, metrics: Mapping[str, Any], folder: Path | None) -> None:
        if folder is not None:
            self.sleep(self.save_s)
        super().report(metrics, folder)
        self.told.append(dict(metrics))

    def notice(self) -> Notice | None:
        if self.notice_at is None or self.now < self.notice_at:
            return None
        deadline = None if self.deadline_in_s is None else self.notice_at + self.deadline_in_s
        return Notice(node_ids=("node-a",), deadline_at_s=deadline)

    def events(self, *kinds: str) -> list[tuple[str, int]]:
        """(event, step) of what was told, of these kinds only."""
        return [(told["event"], told["step"]) for told in self.told if told["event"] in kinds]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "snapshot")


@pytest.fixture
def node_gone() -> type[NodeGone]:
    return NodeGone


@pytest.fixture
def new_world(tmp_path: Path) -> Callable[..., World]:
    """Another world, by default over the same snapshots: a new worker on another node."""
    return lambda name="snapshot": World(tmp_path / name)
