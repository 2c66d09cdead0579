"""`orchestrator down`: ends the cluster; its history stays."""

import sys

from orchestrator.cli.state_dir_option import StateDirOption, state_of
from orchestrator.cluster.lifecycle import down as take_down
from orchestrator.model.catalog import Provider
from orchestrator.model.error import InputError


def down(state_dir: StateDirOption = None) -> None:
    """End the local cluster: all of its nodes and processes. The ledger and everything in storage stay."""
    state = state_of(state_dir)
    cluster = state.load()
    if cluster is not None and cluster.provider != Provider.LOCAL:
        raise InputError(f"this cluster runs on {cluster.provider}.", "End it with `ray down cluster.yaml`.")
    try:
        was_up = take_down(state, lambda line: print(f"note: {line}", file=sys.stderr))
    except KeyboardInterrupt:
        if cluster is not None and state.load() is None:
            print(f"cluster of {state.root} is down")
        raise
    print(f"cluster of {state.root} is down" if was_up else f"no cluster is running in {state.root}")
