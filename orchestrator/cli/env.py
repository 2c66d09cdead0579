"""`orchestrator env`: what a shell needs to talk to the cluster."""

import json
import shlex
from typing import Annotated

import typer

from orchestrator.cli.state_dir_option import StateDirOption, running_cluster, state_of
from orchestrator.cluster.ray_process import shell_environment


def env(
    state_dir: StateDirOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the exports for `ray job submit` and `ray status`; use it as: eval "$(orchestrator env)"."""
    state = state_of(state_dir)
    variables = dict(sorted(shell_environment(state, running_cluster(state)).items()))
    if as_json:
        print(json.dumps(variables, indent=2))
    else:
        print("\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items()))
