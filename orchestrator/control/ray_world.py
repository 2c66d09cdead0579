"""The real world: Ray's GCS for nodes and demand, its dashboard for drivers, actors and Serve."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import httpx
from ray._raylet import GcsClient
from ray.core.generated import autoscaler_pb2
from ray.core.generated.gcs_pb2 import GcsNodeInfo
from ray.exceptions import RayError

from orchestrator.cluster.notice import read_notices
from orchestrator.control.deadline import DeadlineThread
from orchestrator.control.packages import PackageStore, package_uris
from orchestrator.control.planning import Planned
from orchestrator.control.world import (
    Demand,
    LiveNode,
    Notice,
    ServedApp,
    Submission,
    UnreachableError,
    Worker,
    WorldView,
)
from orchestrator.model.error import OperationError
from orchestrator.model.node import NodeInterval
from orchestrator.policy.observed import Driver, DriverStatus

TIMEOUT_S = 15.0
GCS_DEADLINE_S = 30.0
"""For all calls of one look: while the GCS is away Ray's client waits for it whatever time-out a call was given."""
DEPLOY_TIMEOUT_S = 60.0
"""The first deployment starts Serve itself."""
HELPERS = frozenset({"PreemptionWatcher", "TrainController", "PlacementGroupCleaner"})
"""Ray's own actors without resources, which it puts on any node: a run does not use the nodes they happen to be on
(Ray 2.60, `ray/train/v2/_internal`)."""

MAX_ACTORS = 10_000
"""The most that Ray's state API lists at once (`RAY_MAX_LIMIT_FROM_API_SERVER`)."""

LIVE_REPLICA_STATES = frozenset({"STARTING", "UPDATING", "RECOVERING", "RUNNING", "STOPPING", "PENDING_MIGRATION"})


class RayWorld:
    """One Ray cluster. `intervals` and `offer_nodes` are the provider's: what nodes it had, and which it may launch."""

    def __init__(
        self,
        *,
        ray_address: str,
        dashboard_url: str,
        token: str,
        packages: Path,
        intervals: Callable[[], tuple[NodeInterval, ...]],
        offer_nodes: Callable[[Sequence[Planned]], None],
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(base_url=dashboard_url, headers=headers, timeout=TIMEOUT_S, trust_env=False)
        self._address = ray_address
        self._gcs: GcsClient | None = None
        self._gcs_calls = DeadlineThread("gcs", GCS_DEADLINE_S)
        self._packages = PackageStore(packages)
        self._intervals = intervals
        self._offer_nodes = offer_nodes

    def view(self) -> WorldView:
        """Look at everything; UnreachableError when any part does not answer."""
        (nodes, ids), demands, notices = self._call_gcs(lambda gcs: (_nodes(gcs), _demands(gcs), _notices(gcs)))
        return WorldView(
            drivers=self.drivers(),
            nodes=nodes,
            workers=self._workers(ids),
            demands=demands,
            apps=self._apps(ids),
            notices=notices,
            intervals=self._intervals(),
        )

    def drivers(self) -> tuple[Driver, ...]:
        """`GET /api/jobs/`, without the drivers that were not submitted."""
        return tuple(_driver(row) for row in self._get("/api/jobs/") if row["type"] == "SUBMISSION")

    def submit(self, submission: Submission) -> None:
        """`POST /api/jobs/`; first brings back the working directory, should Ray have forgotten it."""
        self._restore_packages(submission.runtime_env_json)
        body = {
            "entrypoint": submission.entrypoint,
            "submission_id": submission.submission_id,
            "runtime_env": json.loads(submission.runtime_env_json),
            "metadata": dict(submission.metadata),
        }
        answer = self._request("POST", "/api/jobs/", json=body)
        if answer.is_success or "already exists" in answer.text:
            return
        raise OperationError(f"Ray refused {submission.submission_id}: {_last_line(answer.text)}")

    def stop(self, submission_id: str) -> None:
        """`POST /api/jobs/ID/stop`."""
        answer = self._request("POST", f"/api/jobs/{submission_id}/stop")
        if answer.is_success or answer.status_code == httpx.codes.NOT_FOUND:
            return
        raise OperationError(f"Ray did not stop {submission_id}: {_last_line(answer.text)}")

    def offer_nodes(self, plans: Sequence[Planned]) -> None:
        """Rewrite the autoscaler's node types."""
        self._offer_nodes(plans)

    def deploy(self, config: Mapping[str, Any]) -> None:
        """`PUT /api/serve/applications/`."""
        answer = self._request("PUT", "/api/serve/applications/", json=dict(config), timeout=DEPLOY_TIMEOUT_S)
        if not answer.is_success:
            raise OperationError(f"Serve refused the configuration: {_last_line(answer.text)}")

    def keep_package(self, runtime_env_json: str) -> None:
        """Copy the `gcs://` packages that the environment names out of Ray's store."""
        for uri in package_uris(runtime_env_json):
            if not self._packages.has(uri):
                content = self._call_gcs(lambda gcs, uri=uri: gcs.internal_kv_get(uri.encode(), None, TIMEOUT_S))
                if content is not None:
                    self._packages.keep(uri, content)

    def _restore_packages(self, runtime_env_json: str) -> None:
        for uri in package_uris(runtime_env_json):
            path = f"/api/packages/gcs/{uri.removeprefix('gcs://')}"
            if self._request("GET", path).is_success or not self._packages.has(uri):
                continue
            answer = self._request("PUT", path, content=self._packages.load(uri))
            if not answer.is_success:
                raise OperationError(f"Ray refused the working directory {uri}: {_last_line(answer.text)}")

    def _workers(self, ids: Mapping[str, str]) -> tuple[Worker, ...]:
        query = {"limit": MAX_ACTORS, "filter_keys": "state", "filter_predicates": "=", "filter_values": "ALIVE"}
        rows = self._get("/api/v0/actors", params=query)["data"]["result"]["result"]
        return tuple(
            Worker(ray_job_id=row["job_id"], node_id=ids.get(row["node_id"], row["node_id"]))
            for row in rows
            if row.get("node_id") and row.get("class_name") not in HELPERS
        )

    def _apps(self, ids: Mapping[str, str]) -> tuple[ServedApp, ...]:
        found = self._get("/api/serve/applications/")["applications"]
        return tuple(served_app(name, found[name], ids) for name in sorted(found))

    def _get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        answer = self._request("GET", path, params=params)
        if not answer.is_success:
            raise UnreachableError(f"Ray's dashboard answers {answer.status_code} to {path}: {_last_line(answer.text)}")
        return answer.json()

    def _request(self, method: Literal["GET", "PUT", "POST"], path: str, **options: Any) -> httpx.Response:
        try:
            return self._http.request(method, path, **options)
        except httpx.HTTPError as error:
            raise UnreachableError(f"Ray's dashboard does not answer {path}: {error}") from error

    def _call_gcs(self, call: Callable[[GcsClient], Any]) -> Any:
        try:
            return self._gcs_calls.run(lambda: call(self._connected()))
        except (RayError, OSError, RuntimeError) as error:
            self._gcs = None
            raise UnreachableError(f"Ray at {self._address} does not answer: {error}") from error

    def _connected(self) -> GcsClient:
        if self._gcs is None:
            self._gcs = GcsClient(address=self._address)
        return self._gcs


def _nodes(gcs: GcsClient) -> tuple[tuple[LiveNode, ...], dict[str, str]]:
    """Living nodes, and the provider's id of every Ray node id (Ray's own where the provider gave none)."""
    draining = gcs.get_draining_nodes()
    nodes: list[LiveNode] = []
    ids: dict[str, str] = {}
    for raw_id, info in gcs.get_all_node_info(timeout=TIMEOUT_S).items():
        ray_id = raw_id.hex()
        ids[ray_id] = info.instance_id or ray_id
        if info.state != GcsNodeInfo.GcsNodeState.ALIVE:
            continue
        nodes.append(
            LiveNode(
                node_id=ids[ray_id],
                labels=tuple(sorted(info.labels.items())),
                resources=tuple(sorted(info.resources_total.items())),
                head=info.is_head_node,
                deadline_ms=draining.get(ray_id),
            )
        )
    return tuple(sorted(nodes, key=lambda node: node.node_id)), ids


def _notices(gcs: GcsClient) -> tuple[Notice, ...]:
    return tuple(Notice(node_id=one.instance_id, kind=one.kind, at=one.at) for one in read_notices(gcs))


def _demands(gcs: GcsClient) -> tuple[Demand, ...]:
    """Tasks, actors and placement groups that wait for a node."""
    reply = autoscaler_pb2.GetClusterResourceStateReply()
    reply.ParseFromString(gcs.get_cluster_resource_state(timeout_s=TIMEOUT_S))
    state = reply.cluster_resource_state
    requests = [entry.request for entry in state.pending_resource_requests]
    for gang in state.pending_gang_resource_requests:
        # `requests` repeats the bundles without their labels (Ray 2.60 autoscaler.proto).
        bundles = [request for selector in gang.bundle_selectors for request in selector.resource_requests]
        requests.extend(bundles or gang.requests)
    return tuple(_demand(request) for request in requests)


def _demand(request: Any) -> Demand:
    constraints = [constraint for selector in request.label_selectors for constraint in selector.label_constraints]
    return Demand(
        selector=tuple(sorted((one.label_key, ",".join(one.label_values)) for one in constraints)),
        resources=tuple(sorted(request.resources_bundle.items())),
    )


def _driver(row: Mapping[str, Any]) -> Driver:
    return Driver(
        submission_id=row["submission_id"],
        status=DriverStatus(row["status"]),
        ray_job_id=row.get("job_id"),
        exit_code=row.get("driver_exit_code"),
        error_type=row.get("error_type") or "",
        message=row.get("message") or "",
        entrypoint=row["entrypoint"],
        runtime_env_json=json.dumps(row.get("runtime_env") or {}, sort_keys=True),
    )


def served_app(name: str, app: Mapping[str, Any], ids: Mapping[str, str]) -> ServedApp:
    """An application as Serve's REST API describes it; a replica that starts has no node until it is placed."""
    replicas = [replica for deployment in app["deployments"].values() for replica in deployment["replicas"]]
    nodes = [replica.get("node_id") for replica in replicas if replica["state"] in LIVE_REPLICA_STATES]
    return ServedApp(
        name=name,
        status=app["status"],
        message=app.get("message") or "",
        route_prefix=app.get("route_prefix") or "",
        replica_nodes=tuple(sorted(ids.get(node, node) for node in nodes if node)),
    )


def _last_line(text: str) -> str:
    """The end of a server's answer: Ray answers with a traceback, whose last line says what is wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:500] if lines else "no reason given"
