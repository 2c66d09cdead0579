"""Brings a local cluster up and down: the head under autoscaler v2, the controller, and nothing left behind."""

import importlib.util
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
import psutil

from orchestrator.cluster import instance as record_file
from orchestrator.cluster.autoscaling_config import Scaling, read_scaling, write_config
from orchestrator.cluster.clock import utc_now
from orchestrator.cluster.faults import locked
from orchestrator.cluster.held_signals import held_back
from orchestrator.cluster.instance import Order
from orchestrator.cluster.ports import choose_ports
from orchestrator.cluster.process import (
    CLUSTER_MARK,
    INSTANCE_MARK,
    argument,
    end,
    end_marked,
    find,
    marked,
    marks,
    record,
    roots,
)
from orchestrator.cluster.ray_process import (
    HOST,
    HeadPorts,
    head_command,
    head_environment,
    ray_executable,
)
from orchestrator.cluster.state import STATE_DIR_VARIABLE, ClusterState, StateDir, write_atomically
from orchestrator.model.error import InputError, OperationError
from orchestrator.model.instant import to_iso
from orchestrator.model.node import NodeType

HEAD = "head"
CONTROLLER = "controller"
START_TIMEOUT_S = 120.0
START_ATTEMPTS = 2
STOP_GRACE_S = 3.0
MIN_FREE_BYTES = 1024**3
PYTHON = (3, 11)
CONTROLLER_MODULE = "orchestrator.control"


class ProcessEndedError(OperationError):
    """A process of the cluster ended while it was being started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpOptions:
    """What `up` may be told. Ports 0 = any free one; without `controller` only Ray is started."""

    scaling: Scaling = field(default_factory=Scaling)
    controller: bool = True
    dashboard_port: int = 0
    serve_port: int = 0


def _tell_nobody(_line: str) -> None:
    """What `up` and `down` do with a line when nobody wants to know."""


def up(
    state: StateDir,
    node_types: Sequence[NodeType],
    options: UpOptions,
    tell: Callable[[str], None] = _tell_nobody,
) -> ClusterState:
    """Starts a cluster and returns once it is healthy; whatever fails, nothing stays behind.

    A healthy cluster of this directory is returned as it is, node types included; a stale one, and one whose record was
    lost, is cleaned away first, which `tell` hears of.
    """
    _check_machine(state)
    with locked(state.lock_file):
        running = state.load()
        if running is not None and is_healthy(state, running):
            return running
        if running is not None:
            tell(f"{_what_ended(running)}; the cluster is started anew, running work is resubmitted")
        _clean(state, tell)
        for _ in range(START_ATTEMPTS - 1):
            try:
                return _start_or_clean(state, node_types, options)
            except ProcessEndedError:
                # Ray gives a raylet 30 s to register and then gives up, which a busy machine may take.
                continue
        return _start_or_clean(state, node_types, options)


def down(state: StateDir, tell: Callable[[str], None] = _tell_nobody) -> bool:
    """Ends the cluster and all of its instances; False when there was none. Harmless to repeat.

    A cluster whose record was lost is found by its processes, which `tell` hears of.
    """
    if not state.root.exists() and not _lost_clusters(state):
        return False
    with locked(state.lock_file):
        return _clean(state, tell)


def is_healthy(state: StateDir, cluster: ClusterState) -> bool:
    """Whether the head runs and answers, and the controller, if there was one, still runs."""
    alive = all(find(process) is not None for process in cluster.pids.values())
    return alive and HEAD in cluster.pids and cluster.ready and _answers(state, _health_url(cluster))


def set_node_types(state: StateDir, node_types: Sequence[NodeType], max_workers: int) -> None:
    """Changes what the running cluster may launch; the autoscaler follows within its next step."""
    cluster = state.load()
    if cluster is None:
        raise OperationError("no cluster is running.", "Start one with `orchestrator up`.")
    write_config(node_types, replace(read_scaling(state), max_workers=max_workers), state, cluster.name)


def _check_machine(state: StateDir) -> None:
    if sys.version_info[:2] != PYTHON:
        running = f"{sys.version_info[0]}.{sys.version_info[1]}"
        raise OperationError(f"Python {running} cannot run this cluster.", "Use Python 3.11: run `make setup`.")
    if not ray_executable().exists():
        raise OperationError(f"Ray is not installed beside {sys.executable}.", "Run `make setup`.")
    try:
        state.root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the state directory {state.root} cannot be made: {error.strerror}.", "Give another --state-dir."
        ) from error
    for folder in (state.root, Path(tempfile.gettempdir())):
        free = shutil.disk_usage(folder).free
        if free < MIN_FREE_BYTES:
            raise OperationError(
                f"{folder} has only {free / 1024**3:.1f} GiB free, a cluster needs 1 GiB.",
                "Free some space, or choose other places with --state-dir and TMPDIR.",
            )


def _start_or_clean(state: StateDir, node_types: Sequence[NodeType], options: UpOptions) -> ClusterState:
    try:
        return _start(state, node_types, options)
    except BaseException:
        # Also on Ctrl-C (the command line makes SIGTERM and SIGHUP the same): a half-started cluster would hold ports
        # and memory that nobody knows of.
        _clean(state)
        raise


def _start(state: StateDir, node_types: Sequence[NodeType], options: UpOptions) -> ClusterState:
    ports = choose_ports({"dashboard": options.dashboard_port, "serve": options.serve_port})
    cluster = _new_cluster(state, ports)
    state.save(cluster)
    _ensure_token(state)
    state.logs.mkdir(parents=True, exist_ok=True)
    state.instances.mkdir(parents=True, exist_ok=True)
    write_config(node_types, options.scaling, state, cluster.name)
    environment = head_environment(state, cluster, ports, os.environ)
    command = head_command(cluster, ports, options.scaling.head_cpus, state.autoscaling_config)
    cluster = _spawn(state, cluster, HEAD, command, environment)
    _wait_until(state, cluster, HEAD, _health_url(cluster))
    _wait_until(state, cluster, HEAD, f"{cluster.dashboard_url}/api/jobs/")
    # The dashboard lists jobs before it can take one: submissions go through the head's agent, which starts last.
    _wait_until(state, cluster, HEAD, f"http://{HOST}:{ports.agent}/api/local_raylet_healthz")
    if options.controller:
        if importlib.util.find_spec(f"{CONTROLLER_MODULE}.__main__") is None:
            raise OperationError(f"this installation has no {CONTROLLER_MODULE}.", "Reinstall it with `make setup`.")
        controller = (sys.executable, "-m", CONTROLLER_MODULE, "--state-dir", str(state.root))
        cluster = _spawn(state, cluster, CONTROLLER, controller, environment)
        _wait_until(state, cluster, CONTROLLER, f"{cluster.api_url}/healthz")
    cluster = replace(cluster, ready=True)
    state.save(cluster)
    return cluster


def _new_cluster(state: StateDir, ports: HeadPorts) -> ClusterState:
    return ClusterState(
        name=f"local-{secrets.token_hex(4)}",
        provider="local",
        ray_address=f"{HOST}:{ports.gcs}",
        dashboard_url=f"http://{HOST}:{ports.dashboard}",
        api_url=f"http://{HOST}:{ports.api}",
        serve_url=f"http://{HOST}:{ports.serve}",
        # Short and of its own: unix socket paths are limited to 107 bytes, and clusters must not find each other.
        ray_temp_dir=tempfile.mkdtemp(prefix="orch-", dir="/tmp"),
        token_path=str(state.token_path),
        database_url=state.database_url,
        started_at=to_iso(utc_now()),
    )


def _ensure_token(state: StateDir) -> None:
    """The token outlives the cluster, so that shells that have it keep working after the next `up`."""
    if not state.token_path.exists():
        write_atomically(state.token_path, secrets.token_hex(32).encode(), mode=0o600)


def _spawn(
    state: StateDir, cluster: ClusterState, role: str, command: Sequence[str], environment: dict[str, str]
) -> ClusterState:
    """Starts a detached process and records it before anything can go wrong."""
    with held_back(notice=""), (state.logs / f"{role}.log").open("ab") as log:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        cluster = replace(cluster, pids={**cluster.pids, role: record(process.pid)})
        state.save(cluster)
    return cluster


def _wait_until(state: StateDir, cluster: ClusterState, role: str, url: str) -> None:
    """Polls `url` until it answers; ends early when the process that should answer is gone."""
    log = state.logs / f"{role}.log"
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline_s:
        if _answers(state, url):
            return
        if find(cluster.pids[role]) is None:
            raise ProcessEndedError(f"the {role} ended while it started: {_last_line(log)}", f"(see {log})")
        time.sleep(0.25)
    raise OperationError(f"the {role} did not answer within {START_TIMEOUT_S:.0f} s.", f"See {log}.")


def _health_url(cluster: ClusterState) -> str:
    return f"{cluster.dashboard_url}/api/gcs_healthz"


def _answers(state: StateDir, url: str) -> bool:
    try:
        token = state.token_path.read_text()
        return httpx.get(url, headers={"Authorization": f"Bearer {token}"}, timeout=5.0, trust_env=False).is_success
    except (httpx.HTTPError, OSError):
        return False


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def _what_ended(cluster: ClusterState) -> str:
    """Why a recorded cluster is not healthy."""
    if not cluster.ready:
        return "an earlier start did not finish"
    ended = [role for role, process in cluster.pids.items() if find(process) is None]
    return f"the {' and the '.join(ended)} had ended" if ended else "the head did not answer"


@held_back()
def _clean(state: StateDir, tell: Callable[[str], None] = _tell_nobody) -> bool:
    """Ends what `cluster.json` records, in an order in which nothing is started anew; no signal cuts it short."""
    cluster = state.load()
    if cluster is None:
        lost = _lost_clusters(state)
        for name in lost:
            tell(f"{state.cluster_file} was lost; the processes of cluster {name} are found by their environment")
            _clean_lost(state, name)
        return bool(lost)
    # Looked up while the head still ties its processes together; some would not be recognised as its orphans.
    everything = marked(CLUSTER_MARK, cluster.name)
    for role in (CONTROLLER, HEAD):
        recorded = cluster.pids.get(role)
        process = find(recorded) if recorded else None
        if process is not None:
            end((process,), grace_s=STOP_GRACE_S)
    _end_instances(state, cluster.name)
    _end_rest(cluster.name, everything)
    _remove_files(state, cluster.ray_temp_dir)
    return True


def _lost_clusters(state: StateDir) -> tuple[str, ...]:
    """Names of clusters of this directory that still have processes; a user's shell carries no name of a cluster."""
    return marks(STATE_DIR_VARIABLE, str(state.root), CLUSTER_MARK)


def _clean_lost(state: StateDir, name: str) -> None:
    """Ends a cluster that no record describes, in the same order: last the machines, which nothing starts anew."""
    everything = marked(CLUSTER_MARK, name)
    ray_temp_dir = argument(everything, "--temp-dir")
    machines = {r.machine.pid for r in record_file.load_records(state) if r.machine and find(r.machine)}
    end([process for process in roots(everything) if process.pid not in machines], grace_s=STOP_GRACE_S)
    _end_instances(state, name)
    _end_rest(name, everything)
    _remove_files(state, ray_temp_dir or "")


def _end_rest(name: str, everything: Iterable[psutil.Process]) -> None:
    left = (*end(everything, grace_s=1.0), *end_marked(CLUSTER_MARK, name, grace_s=0.0))
    if left:
        pids = ", ".join(str(process.pid) for process in left)
        raise OperationError(f"processes {pids} of cluster {name} do not end.", "End them, then run `down` again.")


def _remove_files(state: StateDir, ray_temp_dir: str) -> None:
    """All that speaks of a running cluster; history stays."""
    _remove_temp_dir(Path(ray_temp_dir))
    shutil.rmtree(state.orders, ignore_errors=True)
    shutil.rmtree(state.refusals, ignore_errors=True)
    state.faults.unlink(missing_ok=True)
    state.forget()


def _end_instances(state: StateDir, cluster_name: str) -> None:
    """Lets each machine close its own record; closes those whose machine is gone."""
    live = [r for r in record_file.load_records(state) if r.cluster == cluster_name and not r.terminated_at]
    order = Order(kind="terminate", reason=record_file.DOWN, issued_at=to_iso(utc_now()))
    for instance in live:
        record_file.save_order(state, instance.instance_id, order)
    machines = [found for instance in live if instance.machine and (found := find(instance.machine))]
    psutil.wait_procs(machines, timeout=15.0)
    for instance in live:
        newest = record_file.load_record(state, instance.instance_id) or instance
        if not newest.terminated_at:
            end_marked(INSTANCE_MARK, instance.instance_id, grace_s=0.0)
            # A machine that could not close its own record died earlier, nobody saw when.
            closed = replace(newest, terminated_at=to_iso(utc_now()), end_reason=record_file.UNKNOWN)
            record_file.save_record(state, closed)


def _remove_temp_dir(folder: Path) -> None:
    """Removes Ray's temporary folder; the check keeps a damaged record from naming something else."""
    if folder.parent == Path("/tmp") and folder.name.startswith("orch-"):
        shutil.rmtree(folder, ignore_errors=True)
