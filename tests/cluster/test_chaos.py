"""Faults on purpose: named nodes only, and only in a local cluster."""

from decimal import Decimal

import pytest

from orchestrator.cluster import chaos
from orchestrator.cluster.instance import InstanceRecord, LaunchSpec, load_order, save_record
from orchestrator.cluster.state import ClusterState, StateDir
from orchestrator.model.error import InputError, OperationError
from orchestrator.model.offer import Market

SPEC = LaunchSpec(
    offer="g6.xlarge:spot:us-east-1:use1-az1", instance_type="g6.xlarge", accelerator="L4", market=Market.SPOT,
    region="us-east-1", zone="use1-az1", price_usd_per_hour=Decimal("0.3"), on_demand_usd_per_hour=Decimal("0.8"),
)  # fmt: skip


def cluster(provider: str = "local") -> ClusterState:
    return ClusterState(
        name="local-1", provider=provider, ray_address="", dashboard_url="", api_url="", serve_url="", ray_temp_dir="",
        token_path="", database_url="", started_at="",
    )  # fmt: skip


@pytest.fixture
def state(state_dir: StateDir) -> StateDir:
    """A cluster with two living nodes, one that ended and one of an earlier cluster."""
    state_dir.save(cluster())
    rows = [("i-aa1", "local-1", ""), ("i-aa2", "local-1", ""), ("i-ended", "local-1", "x"), ("i-old", "local-0", "")]
    for instance_id, owner, terminated_at in rows:
        record = InstanceRecord(
            instance_id=instance_id, cluster=owner, node_type="t", spec=SPEC, resources={}, labels={}, tags={},
            ray_node_id=f"ray-{instance_id}", launched_at="2026-11-30T12:00:00Z", terminated_at=terminated_at,
        )  # fmt: skip
        save_record(state_dir, record)
    return state_dir


@pytest.mark.parametrize("name", ["i-aa1", "ray-i-aa1"])
def test_a_node_is_named_by_either_id(state: StateDir, name: str) -> None:
    assert chaos.interrupt(state, name, notice_s=30).instance_id == "i-aa1"
    order = load_order(state, "i-aa1")
    assert order is not None
    assert (order.kind, order.notice_s) == ("interrupt", 30)
    assert load_order(state, "i-aa2") is None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("i-aa", "several instances are called 'i-aa'. Instances: i-aa1, i-aa2."),
        ("i-ended", "no instance is called 'i-ended'"),
        ("i-old", "no instance is called 'i-old'"),
        ("", "several instances are called ''"),
    ],
    ids=["ambiguous", "ended", "of-another-cluster", "empty"],
)
def test_a_name_must_say_which(state: StateDir, name: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        chaos.interrupt(state, name)
    assert str(caught.value).startswith(problem)


def test_a_negative_notice_is_refused(state: StateDir) -> None:
    with pytest.raises(InputError, match="lies in the past"):
        chaos.interrupt(state, "i-aa1", notice_s=-1)


def test_no_cluster_nothing_to_interrupt(state_dir: StateDir) -> None:
    with pytest.raises(OperationError, match="no cluster is running"):
        chaos.interrupt(state_dir, "i-1")


def test_aws_is_left_alone(state: StateDir) -> None:
    state.save(cluster("aws"))
    with pytest.raises(InputError, match="Only a local cluster"):
        chaos.interrupt(state, "i-aa1")


def test_a_rebalance_is_only_advice(state: StateDir) -> None:
    chaos.recommend_rebalance(state, "i-aa2")
    order = load_order(state, "i-aa2")
    assert order is not None
    assert order.kind == "rebalance"
