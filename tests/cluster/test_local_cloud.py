"""The local cloud under the real autoscaler: launches by label, idle ends, stock-outs, interruptions."""

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ray._raylet import GcsClient

from orchestrator.cluster import chaos
from orchestrator.cluster.faults import StockOut
from orchestrator.cluster.instance import InstanceRecord, load_record, load_refusals
from orchestrator.cluster.inventory import LocalInventory
from orchestrator.cluster.notice import read_notices
from orchestrator.model.instant import from_iso, seconds_between

pytestmark = pytest.mark.ray

SPOT_L4 = {"orchestrator/instance-type": "g6.xlarge", "ray.io/market-type": "spot", "orchestrator/pool": "work"}
ON_L4 = {"num_cpus": 1, "num_gpus": 1, "resources": {"accelerator_type:L4": 0.001}}


@pytest.fixture(scope="module")
def cluster(local_cluster: Callable[..., Any]) -> Any:
    return local_cluster(idle_timeout_s=5)


@pytest.fixture(scope="module")
def ray(cluster: Any) -> Iterator[Any]:
    with cluster.connect() as module:
        yield module


@pytest.fixture
def holder(ray: Any, cluster: Any, until: Callable[..., Any]) -> Iterator[Any]:
    """Starts actors that hold a node and say which; ends them, and waits for their nodes to go, afterwards."""

    class Holder:
        def instance(self) -> str:
            return os.environ["RAY_CLOUD_INSTANCE_ID"]

    actors = []

    def hold(**selector: str) -> Any:
        actor = ray.remote(Holder).options(**ON_L4, label_selector={**SPOT_L4, **selector}).remote()
        actors.append(actor)
        return actor

    yield hold
    for actor in actors:
        ray.kill(actor)
    until(lambda: not chaos.live_instances(cluster.state), 60, "an empty cluster")


def held(ray: Any, cluster: Any, actor: Any) -> InstanceRecord:
    instance_id = ray.get(actor.instance.remote(), timeout=90)
    record = load_record(cluster.state, instance_id)
    assert record is not None
    return record


def notices(cluster: Any, record: InstanceRecord) -> list[str]:
    """Kinds of notices that the watcher of that instance left for the controller."""
    found = read_notices(GcsClient(address=cluster.info.ray_address))
    return [notice.kind for notice in found if notice.instance_id == record.instance_id]


def alive(ray: Any, record: InstanceRecord) -> bool:
    return any(node["NodeID"] == record.ray_node_id and node["Alive"] for node in ray.nodes())


def test_a_selector_brings_the_right_node_and_idleness_ends_it(ray: Any, cluster: Any, holder: Any, until: Any) -> None:
    actor = holder(**{"ray.io/availability-zone": "use1-az2"})
    record = held(ray, cluster, actor)
    node = next(node for node in ray.nodes() if node["NodeID"] == record.ray_node_id)
    assert record.node_type == "g6-xlarge-spot-use1-az2"
    assert {**dict(record.labels), "ray.io/accelerator-type": "L4"}.items() <= node["Labels"].items()
    assert (node["Resources"]["CPU"], node["Resources"]["GPU"], node["Resources"]["accelerator_type:L4"]) == (4, 1, 1)
    assert until(lambda: load_record(cluster.state, record.instance_id).ready_at, 20) > record.launched_at

    ray.kill(actor)
    until(lambda: load_record(cluster.state, record.instance_id).terminated_at, 60, "the end of an idle instance")
    interval = next(i for i in LocalInventory(cluster.state).node_intervals() if i.node_id == record.instance_id)
    assert (interval.end_reason, interval.zone, str(interval.price_usd_per_hour)) == ("idle", "use1-az2", "0.31")
    assert interval.emulated


def test_a_stock_out_refuses_launches_until_it_is_lifted(ray: Any, cluster: Any, holder: Any, until: Any) -> None:
    stockout = StockOut(zone="use1-az1", market="spot")
    chaos.set_stockout(cluster.state, stockout)
    actor = holder(**{"ray.io/availability-zone": "use1-az1"})
    refused = until(lambda: [r for r in load_refusals(cluster.state) if r.attempts >= 2], 30, "a refusal")
    assert refused[0].node_type == "g6-xlarge-spot-use1-az1"
    assert "InsufficientInstanceCapacity" in refused[0].reason
    assert not chaos.live_instances(cluster.state)

    chaos.clear_stockout(cluster.state, stockout)
    assert held(ray, cluster, actor).spec.zone == "use1-az1"
    assert not load_refusals(cluster.state)


def test_a_notice_drains_the_node_until_its_deadline(ray: Any, cluster: Any, holder: Any, until: Any) -> None:
    from ray._private.state import state as ray_state

    actor = holder()
    record = held(ray, cluster, actor)
    chaos.recommend_rebalance(cluster.state, record.instance_id)
    until(lambda: "rebalance-recommendation" in notices(cluster, record), 10, "the recorded recommendation")
    assert ray_state.get_draining_nodes() == {}, "advice drains nothing"

    chaos.interrupt(cluster.state, record.instance_id, notice_s=12)
    draining = until(ray_state.get_draining_nodes, 8, "draining")
    told = load_record(cluster.state, record.instance_id)
    deadline = from_iso(told.deadline_at).timestamp()
    assert 0 <= deadline - draining[record.ray_node_id] / 1000 < 1
    assert ray.get(actor.instance.remote(), timeout=5) == record.instance_id, "a draining node still works"
    until(lambda: "interruption-notice" in notices(cluster, record), 5, "the recorded notice")

    ended = until(
        lambda: (r := load_record(cluster.state, record.instance_id)).terminated_at and r, 30, "the interruption"
    )
    assert ended.end_reason == "interrupted-with-notice"
    assert 12 <= seconds_between(told.notice_at, ended.terminated_at) < 16
    until(lambda: not alive(ray, record), 40, "Ray's knowledge of the loss")


def test_an_interruption_without_notice_is_a_sudden_death(ray: Any, cluster: Any, holder: Any, until: Any) -> None:
    record = held(ray, cluster, holder())
    asked = time.monotonic()
    chaos.interrupt(cluster.state, record.ray_node_id, notice_s=0)
    ended = until(lambda: (r := load_record(cluster.state, record.instance_id)).terminated_at and r, 15, "the death")
    assert ended.end_reason == "interrupted-without-notice"
    assert not ended.notice_at
    assert time.monotonic() - asked < 10
    until(lambda: not alive(ray, record), 40, "Ray's knowledge of the loss")
