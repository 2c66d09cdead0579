"""Whether somebody waits in vain for nodes of a kind. Pure."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from orchestrator.control.world import WorldView
from orchestrator.model import labels
from orchestrator.model.instant import from_iso
from orchestrator.model.node import NodeInterval

BOOT = timedelta(minutes=5)
"""A node that was granted and is not in Ray this long after will hardly come: EC2 needs one to three minutes."""


def waits_in_vain(view: WorldView, selector: Mapping[str, str], at: str) -> bool:
    """Whether a node with those labels is asked for and none of the kind is booting.

    Ray does not tell who asks: of two runs with the same selector, both seem to.
    """
    asked = any(selector.items() <= dict(demand.selector).items() for demand in view.demands)
    return bool(selector) and asked and not _boots(view, selector, from_iso(at))


def _boots(view: WorldView, selector: Mapping[str, str], now: datetime) -> bool:
    there = {node.node_id for node in view.nodes}
    return any(
        one.ended_at is None
        and one.node_id not in there
        and now - from_iso(one.started_at) < BOOT
        and _matches(one, selector)
        for one in view.intervals
    )


def _matches(interval: NodeInterval, selector: Mapping[str, str]) -> bool:
    known = {
        labels.INSTANCE_TYPE: interval.instance_type,
        labels.MARKET_TYPE: interval.market.value,
        labels.ZONE: interval.zone,
    }
    return all(selector[key] == value for key, value in known.items() if key in selector)
