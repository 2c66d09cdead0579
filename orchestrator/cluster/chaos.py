"""Faults on purpose in a running local cluster: interruptions, stock-outs, slow launches."""

from dataclasses import replace

from orchestrator.cluster.clock import utc_now
from orchestrator.cluster.faults import Faults, StockOut, change_faults, with_stockout, without_stockout
from orchestrator.cluster.instance import InstanceRecord, Order, load_records, save_order
from orchestrator.cluster.state import ClusterState, StateDir
from orchestrator.model.catalog import Provider
from orchestrator.model.error import InputError, OperationError
from orchestrator.model.instant import to_iso

NOTICE_S = 120.0
"""AWS announces a spot interruption two minutes before it."""


def interrupt(state: StateDir, node_id: str, notice_s: float = NOTICE_S) -> InstanceRecord:
    """Takes one instance away: after a notice of `notice_s` seconds, or with 0 without a word.

    `node_id` is an instance id, a Ray node id, or the unambiguous beginning of one.
    """
    if notice_s < 0:
        raise InputError(f"a notice of {notice_s:g} s lies in the past.", "Use 0 for an interruption without notice.")
    instance = find_instance(state, node_id)
    save_order(state, instance.instance_id, Order(kind="interrupt", notice_s=notice_s, issued_at=to_iso(utc_now())))
    return instance


def recommend_rebalance(state: StateDir, node_id: str) -> InstanceRecord:
    """Lets the metadata service recommend to rebalance, as EC2 does when an interruption becomes likelier."""
    instance = find_instance(state, node_id)
    save_order(state, instance.instance_id, Order(kind="rebalance", issued_at=to_iso(utc_now())))
    return instance


def set_stockout(state: StateDir, stockout: StockOut) -> Faults:
    """From now on launches that match are refused; running instances stay."""
    return change_faults(state, lambda faults: with_stockout(faults, stockout))


def clear_stockout(state: StateDir, stockout: StockOut) -> Faults:
    """Lifts one stock-out."""
    return change_faults(state, lambda faults: without_stockout(faults, stockout))


def set_delays(state: StateDir, *, launch_s: float, boot_s: float = 0.0) -> Faults:
    """How long launches take from now on, and how much longer Ray then takes to start; seconds."""
    return change_faults(state, lambda faults: replace(faults, launch_delay_s=launch_s, boot_delay_s=boot_s))


def live_instances(state: StateDir) -> tuple[InstanceRecord, ...]:
    """Instances of the running cluster that have not ended, oldest first."""
    cluster = _local_cluster(state)
    return tuple(r for r in load_records(state) if r.cluster == cluster.name and not r.terminated_at)


def find_instance(state: StateDir, node_id: str) -> InstanceRecord:
    """The one living instance that `node_id` names."""
    live = live_instances(state)
    found = [r for r in live if r.instance_id.startswith(node_id) or r.ray_node_id.startswith(node_id)]
    if len(found) == 1 and node_id:
        return found[0]
    choices = ", ".join(record.instance_id for record in live) or "none is running"
    problem = "no instance is" if not found else "several instances are"
    raise InputError(f"{problem} called {node_id!r}.", f"Instances: {choices}.")


def _local_cluster(state: StateDir) -> ClusterState:
    cluster = state.load()
    if cluster is None:
        raise OperationError("no cluster is running.", "Start one with `orchestrator up`.")
    if cluster.provider != Provider.LOCAL:
        raise InputError(f"this cluster runs on {cluster.provider}.", "Only a local cluster can be given faults.")
    return cluster
