"""The `--state-dir` option that every verb about a running cluster has."""

import os
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cluster.state import ClusterState, StateDir, resolve_state_dir
from orchestrator.model.error import OperationError

StateDirOption = Annotated[
    Path | None,
    typer.Option(
        "--state-dir",
        metavar="DIR",
        help="Where the cluster keeps its files.  [default: $ORCHESTRATOR_STATE_DIR or ./.orchestrator]",
    ),
]


def state_of(option: Path | None) -> StateDir:
    """The state directory that the option or the environment names."""
    return resolve_state_dir(option, os.environ)


def running_cluster(state: StateDir) -> ClusterState:
    """The cluster of that directory; OperationError when there is none."""
    cluster = state.load()
    if cluster is None:
        raise OperationError(f"no cluster is running in {state.root}.", "Start one with `orchestrator up`.")
    return cluster
