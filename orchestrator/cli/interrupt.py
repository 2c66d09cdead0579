"""`orchestrator interrupt`: takes a node of the local cluster away, as EC2 takes spot instances."""

import time
from typing import Annotated

import typer

from orchestrator.cli.controller_client import get_json
from orchestrator.cli.state_dir_option import StateDirOption, running_cluster, state_of
from orchestrator.cluster import chaos
from orchestrator.cluster.state import StateDir
from orchestrator.model.error import InputError, OperationError

PATIENCE_S, LOOK_EVERY_S = 15.0, 0.5


def interrupt(
    node: Annotated[
        str | None, typer.Argument(metavar="[NODE]", help="Instance id or Ray node id, or its start.")
    ] = None,
    job: Annotated[str | None, typer.Option(help="Instead of NODE: the first node on which this job works.")] = None,
    without_notice: Annotated[bool, typer.Option("--without-notice", help="The node dies at once.")] = False,
    notice_seconds: Annotated[float, typer.Option(min=0.0, help="How long before the end the notice comes.")] = 120.0,
    state_dir: StateDirOption = None,
) -> None:
    """Interrupt a node of the local cluster, to see that work survives it. Refused on AWS."""
    state = state_of(state_dir)
    running_cluster(state)
    if (node is None) == (job is None):
        raise InputError("say which node to interrupt.", "Give NODE or --job, not both.")
    target = node or node_of(state, job or "")
    notice_s = 0.0 if without_notice else notice_seconds
    instance = chaos.interrupt(state, target, notice_s)
    when = f"in {notice_s:g} s, after a notice" if notice_s else "now, without notice"
    print(f"{instance.instance_id} ({instance.spec.offer}) goes {when}")


def node_of(state: StateDir, job: str) -> str:
    """A node on which the job's run, or the service of that name, was seen working just now.

    The controller looks every few seconds, later on a busy machine, so a run that began a moment ago is waited for.
    """
    until = time.monotonic() + PATIENCE_S
    while True:
        nodes = _seen_on(state, job)
        if nodes:
            return nodes[0]
        if time.monotonic() >= until:
            raise OperationError(f"{job} works on no node now.", "See `orchestrator status`.")
        time.sleep(LOOK_EVERY_S)


def _seen_on(state: StateDir, job: str) -> list[str]:
    status = get_json(state, "/v1/status")
    known = {each["name"]: each["run_id"] for each in status["jobs"]}
    if job not in known:
        raise InputError(f"there is no job {job!r}.", f"Jobs: {', '.join(sorted(known)) or 'none'}.")
    consumers = {job, known[job]}
    return [str(node["node_id"]) for node in status["nodes"] if consumers & set(node["used_by"])]
