"""`orchestrator events`: what happened, oldest first."""

import json
import time
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from orchestrator.cli.controller_client import NoControllerError, get_json
from orchestrator.cli.screen import visible
from orchestrator.cli.state_dir_option import StateDirOption, state_of
from orchestrator.cli.status import history
from orchestrator.cluster.state import StateDir
from orchestrator.control.views import events_json

POLL_S = 1.0
PAGE = 1000
MAX_NUMBER = 2**63 - 1
"""The ledger's largest event number."""


def events(
    state_dir: StateDirOption = None,
    job: Annotated[str, typer.Option(metavar="NAME", help="Only events of this job.")] = "",
    after: Annotated[
        int, typer.Option(metavar="N", min=0, max=MAX_NUMBER, help="Only events with a number above N.")
    ] = 0,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until interrupted.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Print events; they can be read after `down`, too. With --follow, new ones as they come."""
    state = state_of(state_dir)
    try:
        for event in _stream(state, job, after, follow):
            print(json.dumps(event) if as_json else _line(event), flush=True)
    except KeyboardInterrupt as interrupt:
        raise typer.Exit(0) from interrupt


def _stream(state: StateDir, job: str, after: int, follow: bool) -> Iterator[dict[str, Any]]:
    while True:
        page = _page(state, job, after)
        yield from page
        if page:
            after = page[-1]["id"]
        elif follow:
            time.sleep(POLL_S)
        else:
            return


def _page(state: StateDir, job: str, after: int) -> list[dict[str, Any]]:
    try:
        page: list[dict[str, Any]] = get_json(state, "/v1/events", after=after, job=job, limit=PAGE)
    except NoControllerError:
        page = events_json(history(state), after, job=job, limit=PAGE)
    return page


def _line(event: dict[str, Any]) -> str:
    """One event on one line, whatever its message holds."""
    about = event["run_id"] or event["job"] or event["node_id"]
    line = f"{event['id']:>5} {event['at'][:19]}Z {event['kind']:<18} {about:<28} {event['message']}"
    return visible(line.rstrip())
