"""How Ray's own answers are read, in the shapes that it gives while things begin and end."""

import pytest

from orchestrator.control.ray_world import served_app

ON_A = {"replica_id": "r1", "state": "RUNNING", "node_id": "node-a"}
PLACED = {"replica_id": "r2", "state": "STARTING", "node_id": "node-b"}
UNPLACED = {"replica_id": "r3", "state": "STARTING"}
NULL_NODE = {"replica_id": "r4", "state": "STARTING", "node_id": None}


@pytest.mark.parametrize(
    ("replicas", "nodes"),
    [
        pytest.param([], (), id="none-yet"),
        pytest.param([ON_A, PLACED], ("i-1", "node-b"), id="provider-ids-where-known"),
        pytest.param([ON_A, UNPLACED], ("i-1",), id="a-replica-that-is-not-placed-has-no-node"),
        pytest.param([NULL_NODE], (), id="or-an-empty-one"),
    ],
)
def test_nodes_of_an_application(replicas, nodes):
    app = {"status": "DEPLOYING", "message": "", "route_prefix": "/", "deployments": {"d": {"replicas": replicas}}}
    found = served_app("chat", app, {"node-a": "i-1"})
    assert found.replica_nodes == nodes
    assert (found.name, found.status, found.route_prefix) == ("chat", "DEPLOYING", "/")
