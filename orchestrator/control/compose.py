"""Puts a controller together for the cluster of a state directory."""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime

from orchestrator.cluster.clock import utc_now
from orchestrator.cluster.inventory import inventory_of
from orchestrator.cluster.lifecycle import set_node_types
from orchestrator.cluster.node_types import node_types
from orchestrator.cluster.state import ClusterState, StateDir
from orchestrator.control.controller import Controller, Settings
from orchestrator.control.models import StoredModels
from orchestrator.control.plan_text import plan_text
from orchestrator.control.planning import Planned
from orchestrator.control.ray_world import RayWorld
from orchestrator.ledger.catalogs import CatalogText
from orchestrator.ledger.database import LEDGER_FILE, open_database
from orchestrator.ledger.experience import experience
from orchestrator.model.catalog import Provider
from orchestrator.model.error import InputError
from orchestrator.model.node import NodeType
from orchestrator.runtime.model_source import resolve

STALL_VARIABLE = "ORCHESTRATOR_STALL_AFTER_S"
STALL_AFTER_S: Mapping[str, float] = {Provider.LOCAL: 90.0, Provider.AWS: 600.0}
"""How long a job waits for capacity before it moves on: an emulated node boots in seconds, an EC2 one in minutes."""


def compose(state: StateDir, cluster: ClusterState, token: str) -> Controller:
    """The controller of a running cluster."""
    world = RayWorld(
        ray_address=cluster.ray_address,
        dashboard_url=cluster.dashboard_url,
        token=token,
        packages=state.root / "packages",
        intervals=inventory_of(cluster, state).node_intervals,
        offer_nodes=lambda plans: offer_nodes(state, plans),
    )
    database = open_database(state.root / LEDGER_FILE)

    def planner(source: CatalogText, now: datetime) -> Planned:
        with database.read() as connection:
            learnt = experience(connection)
        return plan_text(source, now, learnt)

    return Controller(
        database=database,
        world=world,
        planner=planner,
        models=StoredModels(resolve, utc_now),
        clock=utc_now,
        settings=Settings(serve_url=cluster.serve_url, stall_after_s=_stall_after_s(cluster.provider)),
    )


def offer_nodes(state: StateDir, plans: Sequence[Planned]) -> None:
    """Let the autoscaler launch what the plans may use: together as many nodes as the largest of them allows."""
    workers = max((planned.catalog.cluster.max_workers for planned in plans), default=0)
    found: dict[str, NodeType] = {}
    for planned in plans:
        types = node_types(planned.plan, planned.prices, emulated=planned.emulated, max_workers=workers)
        found.update({one.name: one for one in types})
    set_node_types(state, [found[name] for name in sorted(found)], workers)


def _stall_after_s(provider: str) -> float:
    """The provider's default, or what ORCHESTRATOR_STALL_AFTER_S says, in seconds."""
    text = os.environ.get(STALL_VARIABLE)
    if text is None:
        return STALL_AFTER_S[provider]
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f"{STALL_VARIABLE} is {text!r};", "give it seconds, for example 90.") from error
