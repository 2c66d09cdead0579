"""`orchestrator up`: starts the local cluster for a catalog and applies it."""

import math
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from orchestrator.cli.apply import apply
from orchestrator.cli.planned import PlannedFile, read_planned
from orchestrator.cli.state_dir_option import StateDirOption, state_of
from orchestrator.cluster import lifecycle
from orchestrator.cluster.autoscaling_config import Scaling
from orchestrator.cluster.lifecycle import UpOptions
from orchestrator.model.catalog import Provider
from orchestrator.model.error import InputError

DEFAULT_CATALOG = Path("jobs/catalog.yaml")
MAX_IDLE_TIMEOUT_S = 30.0 * 24 * 3600
Port = Annotated[int, typer.Option(min=0, max=65535, show_default="any free port")]


def _finite(value: float) -> float:
    if not math.isfinite(value):  # NaN is in any range
        raise typer.BadParameter(f"{value} is not a number of seconds.")
    return value


def up(
    catalog: Annotated[Path, typer.Argument(metavar="[CATALOG]", help="The job catalog.")] = DEFAULT_CATALOG,
    state_dir: StateDirOption = None,
    idle_timeout_seconds: Annotated[
        float,
        typer.Option(min=1.0, max=MAX_IDLE_TIMEOUT_S, callback=_finite, help="Idle nodes go after this long."),
    ] = 60.0,
    head_cpus: Annotated[int, typer.Option(min=0, help="Logical CPUs of the head, for helper tasks.")] = 4,
    dashboard_port: Port = 0,
    serve_port: Port = 0,
) -> None:
    """Start a cluster whose nodes are emulated on this machine, under Ray's autoscaler, and apply the catalog."""
    if dashboard_port and dashboard_port == serve_port:
        raise InputError(
            f"--dashboard-port and --serve-port are both {serve_port}; one port cannot serve both.",
            "Choose two, or leave one out.",
        )
    state = state_of(state_dir)
    planned = read_planned(catalog, emulated=True)
    _refuse_other_providers(planned)
    before = state.load()
    options = UpOptions(
        scaling=Scaling(
            max_workers=planned.catalog.cluster.max_workers, head_cpus=head_cpus, idle_timeout_s=idle_timeout_seconds
        ),
        dashboard_port=dashboard_port,
        serve_port=serve_port,
    )
    try:
        console = Console(stderr=True)
        with console.status("starting the cluster …"):
            cluster = lifecycle.up(state, planned.node_types, options, lambda line: _note(console, line))
        already = before is not None and before.name == cluster.name
        print(f"cluster {cluster.name} {'was up already' if already else 'is up'}")
        about = (("dashboard", cluster.dashboard_url), ("services", cluster.serve_url), ("state", state.root))
        for label, value in about:
            print(f"  {label:<10}{value}")
        apply(str(catalog), state_dir)
    except KeyboardInterrupt:
        if (left := state.load()) is not None:
            print(
                f"cluster {left.name} of {state.root} runs on; `orchestrator down --state-dir {state.root}` ends it.",
                file=sys.stderr,
            )
        raise
    for each in planned.missing():
        print(f"note: {each}")
    elsewhere = "" if state == state_of(None) else f" --state-dir {shlex.quote(str(state_dir))}"
    print(f'next: eval "$(orchestrator env{elsewhere})"')


def _note(console: Console, line: str) -> None:
    console.print(f"note: {line}", markup=False, highlight=False, soft_wrap=True)


def _refuse_other_providers(planned: PlannedFile) -> None:
    provider = planned.catalog.cluster.provider
    if provider is not Provider.LOCAL:
        raise InputError(
            f"{planned.path}: cluster.provider is {provider.value}, `up` starts local clusters.",
            f"Run `orchestrator cluster-yaml {planned.path}` and `ray up cluster.yaml`.",
        )
