"""What the controller sees of the world, and the few things it can do to it. `RayWorld` is the real one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from orchestrator.control.planning import Planned
from orchestrator.model.error import OperationError
from orchestrator.model.node import NodeInterval
from orchestrator.policy.observed import Driver


class UnreachableError(OperationError):
    """Ray, its dashboard or Serve did not answer; what was seen before still stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveNode:
    """A node that Ray counts as alive. `node_id` is the provider's, as in the ledger.

    `deadline_ms` is Unix time in milliseconds, 0 = draining without a deadline, None = not draining.
    """

    node_id: str
    labels: tuple[tuple[str, str], ...]
    resources: tuple[tuple[str, float], ...]
    head: bool
    deadline_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A living actor of a driver, on a node."""

    ray_job_id: str
    node_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Resources that were asked for and have no node yet, with the labels that the node must have."""

    selector: tuple[tuple[str, str], ...]
    resources: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedApp:
    """An application as Serve reports it. `replica_nodes` has one entry per living replica."""

    name: str
    status: str
    message: str
    route_prefix: str
    replica_nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A node was told that it will go (`kind` "interruption-notice") or may go; `at` is when (ISO 8601 UTC)."""

    node_id: str
    kind: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldView:
    """Everything seen at one instant."""

    drivers: tuple[Driver, ...] = ()
    nodes: tuple[LiveNode, ...] = ()
    workers: tuple[Worker, ...] = ()
    demands: tuple[Demand, ...] = ()
    apps: tuple[ServedApp, ...] = ()
    notices: tuple[Notice, ...] = ()
    intervals: tuple[NodeInterval, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A driver to hand to Ray."""

    submission_id: str
    entrypoint: str
    runtime_env_json: str
    metadata: tuple[tuple[str, str], ...]


class World(Protocol):
    """The outside. Every method may raise UnreachableError; each deed may be repeated without harm."""

    def view(self) -> WorldView:
        """Look at everything."""
        ...

    def drivers(self) -> tuple[Driver, ...]:
        """Submitted drivers only."""
        ...

    def submit(self, submission: Submission) -> None:
        """Start a driver; a submission id that Ray knows already counts as done. OperationError when Ray refuses."""
        ...

    def stop(self, submission_id: str) -> None:
        """Stop a driver; one that is over or unknown counts as done."""
        ...

    def offer_nodes(self, plans: Sequence[Planned]) -> None:
        """Let the autoscaler launch nodes of every offer that these plans may use, and of no other."""
        ...

    def deploy(self, config: Mapping[str, Any]) -> None:
        """Make Serve run exactly the applications of this configuration."""
        ...

    def keep_package(self, runtime_env_json: str) -> None:
        """Keep a copy of the working directory that the environment names: Ray forgets it when the driver ends."""
        ...
