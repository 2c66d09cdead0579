"""Node intervals for the ledger: from the local cloud's records, and from EC2's answers."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from orchestrator.cluster.ec2_inventory import Ec2Inventory
from orchestrator.cluster.instance import InstanceRecord, LaunchSpec, load_records, save_record
from orchestrator.cluster.inventory import LocalInventory
from orchestrator.cluster.state import StateDir
from orchestrator.cluster.tags import offer_tags
from orchestrator.model.node import ANY_ZONE, NodeInterval
from orchestrator.model.offer import InstanceType, Market, Offer

LAUNCHED = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
LAUNCHED_ISO, ENDED_ISO = "2026-11-30T12:00:00.000000Z", "2026-11-30T12:34:56.000000Z"


@pytest.fixture
def running() -> InstanceRecord:
    spec = LaunchSpec(
        offer="g6.xlarge:spot:us-east-1:use1-az1", instance_type="g6.xlarge", accelerator="L4", market=Market.SPOT,
        region="us-east-1", zone="use1-az1", price_usd_per_hour=Decimal("0.30"), on_demand_usd_per_hour=Decimal("0.80"),
    )  # fmt: skip
    return InstanceRecord(
        instance_id="i-2", cluster="local-1", node_type="g6-xlarge-spot-use1-az1", spec=spec, resources={"CPU": 4.0},
        labels={}, tags={}, ray_node_id="ab", launched_at=LAUNCHED_ISO,
    )  # fmt: skip


def test_local_records_become_intervals(state_dir: StateDir, running: InstanceRecord) -> None:
    ended = replace(running, instance_id="i-1", terminated_at=ENDED_ISO, end_reason="idle")
    for record in (running, ended):
        save_record(state_dir, record)
    assert load_records(state_dir) == (ended, running)
    common = {
        "instance_type": "g6.xlarge", "accelerator": "L4", "market": Market.SPOT, "zone": "use1-az1",
        "price_usd_per_hour": Decimal("0.30"), "on_demand_usd_per_hour": Decimal("0.80"),
        "started_at": LAUNCHED_ISO, "emulated": True,
    }  # fmt: skip
    assert LocalInventory(state_dir).node_intervals() == (
        NodeInterval(node_id="i-1", ended_at=ENDED_ISO, end_reason="idle", **common),
        NodeInterval(node_id="i-2", ended_at=None, end_reason="", **common),
    )


def test_no_cloud_no_intervals(state_dir: StateDir) -> None:
    assert LocalInventory(state_dir).node_intervals() == ()


def described(offer: Offer, instance_id: str, state: str, **more: Any) -> dict[str, Any]:
    return {
        "InstanceId": instance_id,
        "InstanceType": offer.instance.name,
        "LaunchTime": LAUNCHED,
        "State": {"Name": state, "Code": 0},
        "Tags": [*offer_tags(offer), {"Key": "ray-cluster-name", "Value": "orchestrator"}],
        **({"InstanceLifecycle": "spot"} if offer.market is Market.SPOT else {}),
        **more,
    }


def ask(*instances: dict[str, Any]) -> tuple[NodeInterval, ...]:
    client = boto3.client("ec2", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
    with Stubber(client) as stub:
        stub.add_response(
            "describe_instances",
            {"Reservations": [{"Instances": [instance]} for instance in instances]},
            {"Filters": [{"Name": "tag:ray-cluster-name", "Values": ["orchestrator"]}]},
        )
        return Ec2Inventory("orchestrator", "us-east-1", client).node_intervals()


@pytest.fixture
def spot(l4_machine: InstanceType, offer: Callable[..., Offer]) -> Offer:
    return offer(l4_machine, Market.SPOT, "use1-az1", "0.30", "0.80")


@pytest.mark.parametrize(
    ("state", "code", "transition", "ended_at", "reason"),
    [
        pytest.param("running", None, "", None, "", id="running"),
        pytest.param("pending", None, "", None, "", id="pending"),
        pytest.param(
            "terminated", "Server.SpotInstanceTermination", "Server.SpotInstanceTermination (2026-11-30 12:34:56 GMT)",
            ENDED_ISO, "interrupted-with-notice", id="interrupted",
        ),
        pytest.param(
            "terminated", "Client.UserInitiatedShutdown", "User initiated (2026-11-30 12:34:56 GMT)",
            ENDED_ISO, "idle", id="ended-by-the-autoscaler",
        ),
        pytest.param("shutting-down", "Server.InternalError", "", LAUNCHED_ISO, "unknown", id="no-time-no-bill"),
    ],
)  # fmt: skip
def test_ec2_answers_become_intervals(
    spot: Offer, state: str, code: str | None, transition: str, ended_at: str | None, reason: str
) -> None:
    more = {"StateReason": {"Code": code, "Message": ""}} if code else {}
    (found,) = ask(described(spot, "i-1", state, StateTransitionReason=transition, **more))
    assert found == NodeInterval(
        node_id="i-1", instance_type="g6.xlarge", accelerator="L4", market=Market.SPOT, zone="use1-az1",
        price_usd_per_hour=Decimal("0.30"), on_demand_usd_per_hour=Decimal("0.80"), started_at=LAUNCHED_ISO,
        ended_at=ended_at, end_reason=reason, emulated=False,
    )  # fmt: skip


def test_ec2_knows_cpu_machines_and_leaves_out_the_head(
    cpu_machine: InstanceType, offer: Callable[..., Offer], spot: Offer
) -> None:
    head = {**described(spot, "i-head", "running"), "Tags": [{"Key": "ray-cluster-name", "Value": "orchestrator"}]}
    (found,) = ask(head, described(offer(cpu_machine, Market.ON_DEMAND, ANY_ZONE), "i-3", "running"))
    assert (found.node_id, found.accelerator, found.market, found.zone) == ("i-3", None, Market.ON_DEMAND, "*")
