"""Turns EC2's interruption notice into a drain of this machine's Ray node, on EC2 and on emulated nodes alike.

Runs as `python -m orchestrator.cluster.watcher --address GCS`, one per node. It polls the instance metadata service,
at AWS_EC2_METADATA_SERVICE_ENDPOINT or EC2's own address, and never gives up: neither service has to be there yet.
"""

import argparse
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, assert_never

from orchestrator.cluster.clock import utc_now
from orchestrator.cluster.metadata_client import MetadataClient, MetadataError
from orchestrator.cluster.ray_node import DrainError, RayNode
from orchestrator.model.instant import from_iso, to_iso

POLL_S = 1.0
"""AWS recommends checking for notices every 5 seconds; a second less is a second more to save work in."""

logger = logging.getLogger("orchestrator.watcher")


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What the metadata service says now; None = nothing announced. Times are ISO 8601 UTC."""

    instance_id: str
    interruption_at: str | None
    rebalance_at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Handled:
    """What this watcher has done so far, so that nothing is done twice."""

    drained_for: str | None = None
    rebalance_recorded: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """Take no new work, leave by the deadline (ISO 8601 UTC)."""

    interruption_at: str
    deadline_ms: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRebalance:
    """AWS expects an interruption to be likelier than usual: worth an event, not a drain."""

    rebalance_at: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do."""


Decision = Drain | RecordRebalance | Wait


def decide(seen: Observation, handled: Handled, now: datetime) -> Decision:
    """A notice is drained once; a rebalance recommendation is recorded once, and only while there is no notice."""
    if seen.interruption_at and seen.interruption_at != handled.drained_for:
        deadline = from_iso(seen.interruption_at)
        left_s = max(0.0, (deadline - now).total_seconds())
        return Drain(
            interruption_at=seen.interruption_at,
            deadline_ms=int(deadline.timestamp() * 1000),
            message=f"spot interruption of {seen.instance_id} in {left_s:.0f} s",
        )
    if seen.rebalance_at and seen.rebalance_at != handled.rebalance_recorded and not seen.interruption_at:
        return RecordRebalance(rebalance_at=seen.rebalance_at)
    return Wait()


class Node(Protocol):
    """What the watcher does to the Ray node it guards."""

    def drain(self, instance_id: str, deadline_ms: int, message: str) -> None:
        """Drains the node of that instance, or raises DrainError."""
        ...

    def record(self, instance_id: str, kind: str, at: str) -> None:
        """Leaves an event in the cluster's key-value store, or raises DrainError."""
        ...


def act(decision: Decision, seen: Observation, handled: Handled, node: Node) -> Handled:
    """Carries a decision out. What it returns is unchanged when Ray failed, so that the next poll repeats it."""
    try:
        match decision:
            case Wait():
                return handled
            case Drain():
                logger.warning("%s: draining", decision.message)
                node.drain(seen.instance_id, decision.deadline_ms, decision.message)
                node.record(seen.instance_id, "interruption-notice", decision.interruption_at)
                return Handled(drained_for=decision.interruption_at, rebalance_recorded=handled.rebalance_recorded)
            case RecordRebalance():
                logger.warning("rebalance recommended for %s", seen.instance_id)
                node.record(seen.instance_id, "rebalance-recommendation", decision.rebalance_at)
                return Handled(drained_for=handled.drained_for, rebalance_recorded=decision.rebalance_at)
            case _:
                assert_never(decision)
    except DrainError as error:
        logger.warning("%s; trying again", error)
        return handled


def watch(
    observe: Callable[[], Observation], node: Node, stop: Callable[[], bool], pause: Callable[[float], None]
) -> Handled:
    """The loop: observe, decide, act, until `stop` says so."""
    handled = Handled()
    complained = False
    while not stop():
        try:
            seen = observe()
        except MetadataError as error:
            if not complained:
                logger.warning("%s; still trying every %.0f s", error, POLL_S)
            complained = True
        else:
            complained = False
            handled = act(decide(seen, handled, utc_now()), seen, handled, node)
        pause(POLL_S)
    return handled


def main() -> None:
    """Entry point; ends only with the machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", default=os.environ.get("RAY_ADDRESS"), help="HOST:PORT of Ray's GCS")
    address = parser.parse_args().address
    if not address:
        parser.error("give --address, or set RAY_ADDRESS")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    client = MetadataClient.from_environment(os.environ)
    logger.info("watching for interruption notices since %s", to_iso(utc_now()))
    watch(lambda: observe_with(client), RayNode(address), stop=lambda: False, pause=time.sleep)


def observe_with(client: MetadataClient) -> Observation:
    """Reads the three facts that matter."""
    return Observation(
        instance_id=client.instance_id(), interruption_at=client.interruption_at(), rebalance_at=client.rebalance_at()
    )


if __name__ == "__main__":
    main()
