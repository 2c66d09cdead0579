"""The Ray node of one instance, as its watcher drains it. Ray is imported at the first use, to keep watchers small."""

import json
from typing import Any

from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_exponential

from orchestrator.cluster.notice import NAMESPACE, notice_key

RETRY_S = 20.0
"""How long one call goes on trying; the watcher's loop repeats it after that."""
TIMEOUT_S = 5.0


class DrainError(Exception):
    """Ray did not answer, does not know the node, or refused."""


class RayNode:
    """Drains through the GCS at `address` (HOST:PORT); Ray takes its token from RAY_AUTH_TOKEN_PATH."""

    def __init__(self, address: str) -> None:
        self._address = address

    @retry(
        retry=retry_if_exception_type(DrainError),
        stop=stop_after_delay(RETRY_S),
        wait=wait_exponential(multiplier=0.2, max=2.0),
        reraise=True,
    )
    def drain(self, instance_id: str, deadline_ms: int, message: str) -> None:
        """Takes no new work on the node of that instance; Ray tells Train, Serve and Data until when."""
        from ray.core.generated import autoscaler_pb2

        gcs = self._gcs()
        node_id = self._node_id(gcs, instance_id)
        reason = autoscaler_pb2.DrainNodeReason.Value("DRAIN_NODE_REASON_PREEMPTION")
        try:
            accepted, refusal = gcs.drain_node(node_id, reason, message, deadline_ms)
        except _ray_errors() as error:
            raise DrainError(f"draining {node_id}: {error}") from error
        if not accepted:
            raise DrainError(f"Ray refused to drain {node_id}: {refusal}")

    @retry(
        retry=retry_if_exception_type(DrainError),
        stop=stop_after_delay(RETRY_S),
        wait=wait_exponential(multiplier=0.2, max=2.0),
        reraise=True,
    )
    def record(self, instance_id: str, kind: str, at: str) -> None:
        """Leaves a notice where the controller finds it, on whatever machine that runs."""
        gcs = self._gcs()
        value = json.dumps({"instance_id": instance_id, "kind": kind, "at": at}).encode()
        try:
            gcs.internal_kv_put(notice_key(instance_id, kind), value, True, NAMESPACE, TIMEOUT_S)
        except _ray_errors() as error:
            raise DrainError(f"recording {kind} of {instance_id}: {error}") from error

    def _node_id(self, gcs: Any, instance_id: str) -> str:
        try:
            nodes = gcs.get_all_node_info(timeout=TIMEOUT_S)
        except _ray_errors() as error:
            raise DrainError(f"listing nodes: {error}") from error
        from ray.core.generated.gcs_pb2 import GcsNodeInfo

        for node_id, info in nodes.items():
            if info.instance_id == instance_id and info.state == GcsNodeInfo.GcsNodeState.ALIVE:
                return str(node_id.hex())
        raise DrainError(f"no living Ray node on instance {instance_id}")

    def _gcs(self) -> Any:
        from ray._raylet import GcsClient

        try:
            return GcsClient(address=self._address)
        except _ray_errors() as error:
            raise DrainError(f"no GCS at {self._address}: {error}") from error


def _ray_errors() -> tuple[type[Exception], ...]:
    from ray.exceptions import RayError, RpcError

    return (RayError, RpcError, RuntimeError, ConnectionError, TimeoutError)
