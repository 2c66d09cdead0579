"""The local cloud: Ray's autoscaler launches and ends emulated instances through this NodeProvider.

Ray loads it in the autoscaler's process (`provider: {type: external}`). All of its memory is on disk, so a restarted
autoscaler finds the same instances. Ray's `fake_multi_node` provider shows the interface that autoscaler v2 uses.
"""

import secrets
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from ray.autoscaler.node_provider import NodeProvider
from ray.autoscaler.tags import (
    NODE_KIND_HEAD,
    STATUS_UP_TO_DATE,
    TAG_RAY_NODE_KIND,
    TAG_RAY_NODE_NAME,
    TAG_RAY_NODE_STATUS,
    TAG_RAY_USER_NODE_TYPE,
)

from orchestrator.cluster import instance as record_file
from orchestrator.cluster.clock import utc_now
from orchestrator.cluster.faults import load_faults
from orchestrator.cluster.instance import InstanceRecord, LaunchSpec, Order, Refusal
from orchestrator.cluster.process import INSTANCE_MARK, end_marked, find
from orchestrator.cluster.ray_process import HEAD_NODE_TYPE, HOST, head_instance_id
from orchestrator.cluster.state import StateDir
from orchestrator.model.error import OperationError
from orchestrator.model.instant import from_iso, to_iso

MACHINE_START_S = 30.0
"""A machine process that has not reported after this long will not come."""

_SPEC = TypeAdapter(LaunchSpec)


class NoCapacityError(OperationError):
    """The cloud has no capacity for an offer now."""


class LocalCloud(NodeProvider):  # type: ignore[misc]
    """Emulated instances of one cluster, as Ray's autoscaler sees them."""

    def __init__(self, provider_config: Mapping[str, Any], cluster_name: str) -> None:
        super().__init__(provider_config, cluster_name)
        self._state = StateDir(Path(provider_config["state_dir"]))
        self._cluster = str(provider_config["cluster"])
        self._ended: set[str] = set()
        self._machines: dict[str, subprocess.Popen[bytes]] = {}

    def non_terminated_nodes(self, tag_filters: Mapping[str, str]) -> list[str]:
        """Ids of the head and of the instances that have not ended, whose tags match."""
        known = {head_instance_id(self._cluster): self._head_tags()}
        known.update({record.instance_id: dict(record.tags) for record in self._live_records()})
        return [node_id for node_id, tags in known.items() if tag_filters.items() <= tags.items()]

    def is_running(self, node_id: str) -> bool:
        """Whether the instance has not ended."""
        return node_id in self.non_terminated_nodes({})

    def is_terminated(self, node_id: str) -> bool:
        """Whether the instance ended, or never was."""
        return not self.is_running(node_id)

    def node_tags(self, node_id: str) -> dict[str, str]:
        """The autoscaler's tags of an instance."""
        if node_id == head_instance_id(self._cluster):
            return self._head_tags()
        record = record_file.load_record(self._state, node_id)
        return dict(record.tags) if record else {}

    def external_ip(self, node_id: str) -> str:
        """Everything is on this machine."""
        return HOST

    def internal_ip(self, node_id: str) -> str:
        """Everything is on this machine."""
        return HOST

    def set_node_tags(self, node_id: str, tags: Mapping[str, str]) -> None:
        """Tags are set at launch and stay; autoscaler v2 does not change them when node updaters are off."""

    def create_node_with_resources_and_labels(
        self,
        node_config: Mapping[str, Any],
        tags: Mapping[str, str],
        count: int,
        resources: Mapping[str, float],
        labels: Mapping[str, str],
    ) -> None:
        """Launches `count` instances, or raises NoCapacityError as EC2 answers InsufficientInstanceCapacity."""
        spec = _SPEC.validate_python(dict(node_config))
        node_type = tags[TAG_RAY_USER_NODE_TYPE]
        self._refuse_without_stock(spec, node_type)
        for _ in range(count):
            self._launch(spec, node_type, tags, resources, labels)

    def terminate_node(self, node_id: str) -> None:
        """Orders an instance to end; harmless when it already has."""
        record = record_file.load_record(self._state, node_id)
        if record is None or record.terminated_at:
            return
        record_file.save_order(
            self._state, node_id, Order(kind="terminate", reason=record_file.IDLE, issued_at=to_iso(utc_now()))
        )

    @staticmethod
    def bootstrap_config(cluster_config: dict[str, Any]) -> dict[str, Any]:
        """The configuration is complete as it is."""
        return cluster_config

    def _head_tags(self) -> dict[str, str]:
        return {
            TAG_RAY_NODE_KIND: NODE_KIND_HEAD,
            TAG_RAY_USER_NODE_TYPE: HEAD_NODE_TYPE,
            TAG_RAY_NODE_NAME: head_instance_id(self._cluster),
            TAG_RAY_NODE_STATUS: STATUS_UP_TO_DATE,
        }

    def _live_records(self) -> list[InstanceRecord]:
        live = []
        for path in self._state.instances.glob("[!.]*.json"):
            if path.stem in self._ended:
                continue
            record = record_file.load_record(self._state, path.stem)
            if record is None or record.cluster != self._cluster or self._has_ended(record):
                self._ended.add(path.stem)
                continue
            live.append(record)
        return live

    def _has_ended(self, record: InstanceRecord) -> bool:
        """Also closes the record of an instance whose machine process vanished."""
        process = self._machines.get(record.instance_id)
        if process is not None:
            process.poll()
        if record.terminated_at:
            return True
        if record.machine is None:
            late = (utc_now() - from_iso(record.launched_at)).total_seconds() > MACHINE_START_S
        else:
            late = find(record.machine) is None
        if not late:
            return False
        # The machine may have closed its record between our reading it and looking for the process.
        newest = record_file.load_record(self._state, record.instance_id) or record
        if not newest.terminated_at:
            end_marked(INSTANCE_MARK, record.instance_id, grace_s=0.0)
            closed = replace(newest, terminated_at=to_iso(utc_now()), end_reason=record_file.UNKNOWN)
            record_file.save_record(self._state, closed)
        return True

    def _refuse_without_stock(self, spec: LaunchSpec, node_type: str) -> None:
        if load_faults(self._state).stockout(spec) is None:
            record_file.clear_refusal(self._state, node_type)
            return
        now = to_iso(utc_now())
        before = record_file.load_refusal(self._state, node_type)
        refusal = Refusal(
            node_type=node_type,
            offer=spec.offer,
            reason=f"InsufficientInstanceCapacity: no {spec.instance_type} ({spec.market}) in zone {spec.zone}",
            first_at=before.first_at if before else now,
            last_at=now,
            attempts=before.attempts + 1 if before else 1,
        )
        record_file.save_refusal(self._state, refusal)
        raise NoCapacityError(refusal.reason)

    def _launch(
        self,
        spec: LaunchSpec,
        node_type: str,
        tags: Mapping[str, str],
        resources: Mapping[str, float],
        labels: Mapping[str, str],
    ) -> None:
        record = InstanceRecord(
            instance_id=f"i-{secrets.token_hex(8)}",
            cluster=self._cluster,
            node_type=node_type,
            spec=spec,
            resources=dict(resources),
            labels=dict(labels),
            tags={**tags, TAG_RAY_NODE_STATUS: STATUS_UP_TO_DATE},
            ray_node_id=secrets.token_hex(28),
            launched_at=to_iso(utc_now()),
        )
        record_file.save_record(self._state, record)
        log_path = self._state.logs / f"{record.instance_id}-machine.log"
        with log_path.open("ab") as log:
            self._machines[record.instance_id] = subprocess.Popen(
                [sys.executable, "-m", "orchestrator.cluster.machine", str(self._state.root), record.instance_id],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
