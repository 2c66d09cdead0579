"""Node types for exactly the offers that a plan may use: what is chosen, and the ranked fallbacks. Pure."""

from collections.abc import Iterable, Iterator

from orchestrator.model.job import Kind
from orchestrator.model.node import NodeType, node_type_name
from orchestrator.model.offer import Market, Offer, PriceBook
from orchestrator.model.plan import Choice, JobPlan, Placement, Plan

FALLBACKS = 5
"""Candidates per job or part that get a node type; more would only slow the autoscaler down."""
SCHEDULABLE_MEMORY_SHARE = 0.7
"""Share of a node's memory that tasks may ask for: Ray leaves 30% to its object store (Ray 2.60 `ray_constants.py`)."""


def node_types(plan: Plan, prices: PriceBook, *, emulated: bool, max_workers: int) -> tuple[NodeType, ...]:
    """One node type per offer of the plan's candidates, sorted by name; services have their own.

    `max_workers` bounds each type, and the cluster bounds their sum. Serverless offers have no nodes.
    """
    offers = {offer.name: offer for offer in prices.offers}
    found: dict[str, NodeType] = {}
    for job in plan.jobs:
        serve = job.kind is Kind.SERVE
        for name in _offer_names(job):
            offer = offers.get(name)
            if offer is None or offer.market is Market.SERVERLESS:
                continue
            node_type = _node_type(offer, serve=serve, emulated=emulated, max_workers=max_workers)
            found[node_type.name] = node_type
    return tuple(found[name] for name in sorted(found))


def node_resources(node_type: NodeType) -> dict[str, int]:
    """Logical resources of a node: vCPUs, accelerators (under their type as well), schedulable memory in bytes.

    Ray's configuration allows integers only.
    """
    instance = node_type.offer.instance
    resources = {"CPU": instance.vcpus, "memory": int(instance.memory_gib * SCHEDULABLE_MEMORY_SHARE * 1024**3)}
    if instance.accelerator is not None:
        resources["GPU"] = instance.accelerators
        resources[f"accelerator_type:{instance.accelerator.name}"] = instance.accelerators
    return resources


def _node_type(offer: Offer, *, serve: bool, emulated: bool, max_workers: int) -> NodeType:
    return NodeType(
        name=node_type_name(offer.instance.name, offer.market, offer.zone, serve=serve),
        offer=offer,
        serve=serve,
        emulated=emulated,
        max_workers=max_workers,
    )


def _offer_names(job: JobPlan) -> Iterator[str]:
    for placement in (job.placement, *(part for _, part in job.parts)):
        for choice in _choices(placement):
            yield from (pool.offer for pool in choice.pools)
            yield choice.offer


def _choices(placement: Placement) -> Iterable[Choice]:
    chosen = (placement.chosen,) if placement.chosen else ()
    return (*chosen, *placement.candidates[:FALLBACKS])
