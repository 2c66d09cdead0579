"""What nodes there were, when, and at what price: the ledger's source. One implementation per provider."""

from typing import Protocol

from orchestrator.cluster.instance import InstanceRecord, load_records
from orchestrator.cluster.state import ClusterState, StateDir
from orchestrator.model.catalog import Provider
from orchestrator.model.node import NodeInterval


class Inventory(Protocol):
    """Knows the nodes of a cluster's past and present."""

    def node_intervals(self) -> tuple[NodeInterval, ...]:
        """All known nodes, oldest first; a node that runs has no end."""
        ...


def inventory_of(cluster: ClusterState, state: StateDir) -> Inventory:
    """The inventory of the provider that the cluster runs on."""
    if cluster.provider == Provider.LOCAL:
        return LocalInventory(state)
    # Imported here because boto3 takes a second to import and a local cluster has no use for it.
    from orchestrator.cluster.ec2_inventory import Ec2Inventory

    return Ec2Inventory(cluster.name, cluster.region)


class LocalInventory:
    """Reads the records of the local cloud, also those of earlier clusters of the same directory."""

    def __init__(self, state: StateDir) -> None:
        self._state = state

    def node_intervals(self) -> tuple[NodeInterval, ...]:
        """Emulated instances, paid for from their launch to their end."""
        return tuple(_interval(record) for record in load_records(self._state))


def _interval(record: InstanceRecord) -> NodeInterval:
    spec = record.spec
    return NodeInterval(
        node_id=record.instance_id,
        instance_type=spec.instance_type,
        accelerator=spec.accelerator,
        market=spec.market,
        zone=spec.zone,
        price_usd_per_hour=spec.price_usd_per_hour,
        on_demand_usd_per_hour=spec.on_demand_usd_per_hour,
        started_at=record.launched_at,
        ended_at=record.terminated_at or None,
        end_reason=record.end_reason,
        emulated=True,
    )
