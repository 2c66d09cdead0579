"""`orchestrator cost report`: what everything cost, and what on-demand would have cost."""

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from orchestrator.cli.controller_client import NoControllerError, get_json
from orchestrator.cli.money import dollars
from orchestrator.cli.screen import literal, wide_console
from orchestrator.cli.state_dir_option import StateDirOption, state_of
from orchestrator.cli.status import history
from orchestrator.cluster.clock import utc_now
from orchestrator.control.views import cost_json
from orchestrator.model.job import Kind

cost = typer.Typer(no_args_is_help=True, help="What runs, services and idle nodes cost.")

EMULATED_NOTE = "Nodes marked emulated ran on this machine: no money was spent, amounts are what they would have cost."


@cost.callback()
def _group() -> None:
    """What runs, services and idle nodes cost."""


@cost.command()
def report(
    state_dir: StateDirOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the bill: a line per run and service, idle node time, and their sum."""
    state = state_of(state_dir)
    try:
        found = get_json(state, "/v1/cost")
    except NoControllerError:
        found = cost_json(history(state), utc_now())
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        show_bill(wide_console(), found)


def show_bill(console: Console, found: dict[str, Any]) -> None:
    """The bill as a table."""
    title = f"Bill as of {found['as_of'][:19]}Z"
    table = Table(title=title, title_justify="left")
    table.add_column("run or service", no_wrap=True)
    table.add_column("state")
    would = "would have cost" if found["emulated"] else "cost"
    for heading in ("attempts", "cut off", "lost", "node time", would, "on-demand", "saved"):
        table.add_column(heading, justify="right")
    for line in found["lines"]:
        table.add_row(*map(literal, _row(line, line["consumer"])))
    table.add_row(*_row(found["idle"], "(idle nodes)"))
    table.add_section()
    table.add_row(*_row(found["total"], "total"))
    console.print(table)
    if found["emulated"]:
        console.print(EMULATED_NOTE, soft_wrap=True)


def _row(line: dict[str, Any], name: str) -> list[str]:
    state = line["state"] or ("served" if line["kind"] == Kind.SERVE.value else "")
    share = line["saved_usd"] / line["on_demand_usd"] if line["on_demand_usd"] else 0.0
    return [
        name,
        ", ".join(word for word in (state, "emulated" if line["emulated"] else "") if word),
        str(line["attempts"] or ""),
        str(line["interruptions"] or ""),
        f"{line['lost_s']:.0f} s" if line["lost_s"] else "",
        _duration(line["node_seconds"]),
        dollars(line["usd"]),
        dollars(line["on_demand_usd"]),
        f"{dollars(line['saved_usd'])} ({share:.0%})",
    ]


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours else f"{minutes}m {rest:02}s"
