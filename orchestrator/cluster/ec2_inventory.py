"""The nodes of a cluster on EC2, from DescribeInstances. EC2 forgets an instance about an hour after its end."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import boto3

from orchestrator.cluster import tags as tag
from orchestrator.cluster.instance import IDLE, UNKNOWN, WITH_NOTICE
from orchestrator.model.instant import to_iso
from orchestrator.model.node import NodeInterval
from orchestrator.model.offer import Market

RUNNING_STATES = frozenset({"pending", "running"})
_REASONS = {
    "Server.SpotInstanceTermination": WITH_NOTICE,
    "Server.SpotInstanceShutdown": WITH_NOTICE,
    "Client.UserInitiatedShutdown": IDLE,
    "Client.InstanceInitiatedShutdown": IDLE,
}
"""StateReason codes of the EC2 API reference; Ray's autoscaler ends nodes through the API, so that counts as idle."""
_TRANSITION = re.compile(r"\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) GMT\)")


class Ec2Inventory:
    """Reads the instances that Ray's launcher tagged with the cluster's name and `cluster.yaml` with their offer."""

    def __init__(self, cluster_name: str, region: str, client: Any = None) -> None:
        self._cluster_name = cluster_name
        self._client = client or boto3.client("ec2", region_name=region)

    def node_intervals(self) -> tuple[NodeInterval, ...]:
        """Workers known to EC2 now, oldest first; the head has no offer and is left out."""
        filters = [{"Name": f"tag:{tag.CLUSTER}", "Values": [self._cluster_name]}]
        pages = self._client.get_paginator("describe_instances").paginate(Filters=filters)
        found = [
            interval(instance)
            for page in pages
            for reservation in page["Reservations"]
            for instance in reservation["Instances"]
            if tag.OFFER in tag.as_mapping(instance.get("Tags", []))
        ]
        return tuple(sorted(found, key=lambda one: (one.started_at, one.node_id)))


def interval(instance: Mapping[str, Any]) -> NodeInterval:
    """One instance of a DescribeInstances answer."""
    tags = tag.as_mapping(instance["Tags"])
    running = instance["State"]["Name"] in RUNNING_STATES
    code = instance.get("StateReason", {}).get("Code", "")
    return NodeInterval(
        node_id=instance["InstanceId"],
        instance_type=instance["InstanceType"],
        accelerator=tags[tag.ACCELERATOR] or None,
        market=Market.SPOT if instance.get("InstanceLifecycle") == "spot" else Market.ON_DEMAND,
        zone=tags[tag.ZONE],
        price_usd_per_hour=Decimal(tags[tag.PRICE]),
        on_demand_usd_per_hour=Decimal(tags[tag.ON_DEMAND_PRICE]),
        started_at=to_iso(instance["LaunchTime"]),
        ended_at=None if running else _ended_at(instance),
        end_reason="" if running else _REASONS.get(code, UNKNOWN),
        emulated=False,
    )


def _ended_at(instance: Mapping[str, Any]) -> str:
    """The end as EC2 states it; where it states none, the launch, so that nothing is billed on a guess."""
    match = _TRANSITION.search(instance.get("StateTransitionReason", ""))
    if match is None:
        return to_iso(instance["LaunchTime"])
    return to_iso(datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC))
