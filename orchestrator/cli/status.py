"""`orchestrator status`: cluster, nodes, jobs and services at a glance."""

import json
from dataclasses import asdict, replace
from typing import Annotated, Any

import typer
from fastapi.encoders import jsonable_encoder
from rich.console import Console
from rich.table import Table

from orchestrator.cli.controller_client import NO_CLUSTER, NoControllerError, get_json
from orchestrator.cli.money import dollars
from orchestrator.cli.screen import count, literal, wide_console
from orchestrator.cli.state_dir_option import StateDirOption, state_of
from orchestrator.cluster.clock import utc_now
from orchestrator.cluster.inventory import LocalInventory
from orchestrator.cluster.state import StateDir
from orchestrator.control.record import record_intervals
from orchestrator.control.views import read_status
from orchestrator.ledger.database import LEDGER_FILE, Database, open_database
from orchestrator.model.error import OperationError


def status(
    state_dir: StateDirOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what the controller knows; without a running cluster, what the ledger remembers."""
    state = state_of(state_dir)
    cluster = state.load()
    try:
        found = get_json(state, "/v1/status")
    except NoControllerError as error:
        found = jsonable_encoder(asdict(replace(read_status(history(state), utc_now()), note=str(error))))
    about = (
        None
        if cluster is None
        else {
            "name": cluster.name,
            "serve_url": cluster.serve_url,
            "dashboard_url": cluster.dashboard_url,
            "started_at": cluster.started_at,
        }
    )
    if as_json:
        print(json.dumps({"cluster": about, **found}, indent=2))
    else:
        _show(wide_console(), found, about)


def history(state: StateDir) -> Database:
    """The ledger with the newest ends of nodes in it: after `down` nobody else writes them."""
    if not (state.root / LEDGER_FILE).exists():
        raise OperationError(f"{NO_CLUSTER} in {state.root}, and none was.", "Start one with `orchestrator up`.")
    database = open_database(state.root / LEDGER_FILE)
    with database.write() as connection:
        record_intervals(connection, LocalInventory(state).node_intervals())
    return database


def _show(console: Console, found: dict[str, Any], about: dict[str, str] | None) -> None:
    if found["note"]:
        console.print(literal(found["note"]), soft_wrap=True)
    if about:
        console.print(literal(f"cluster {about['name']}, dashboard {about['dashboard_url']}"), soft_wrap=True)
    would = "would cost" if found["emulated"] else "cost"
    console.print(
        f"{count(len(found['nodes']), 'node')} at {dollars(found['usd_per_hour'])}/h; all runs so far {would} "
        f"{dollars(found['usd'])}{' (emulated)' if found['emulated'] else ''}",
        soft_wrap=True,
    )
    _show_nodes(console, found["nodes"])
    _show_jobs(console, found["jobs"])
    for service in found["services"]:
        replicas = f"{count(service['replicas'], 'replica')} with the ingress"
        told = f"{service['name']}: {service['status']}, {replicas}, {service['url']}"
        console.print(literal(told), soft_wrap=True)


def _show_nodes(console: Console, nodes: list[dict[str, Any]]) -> None:
    if not nodes:
        return
    table = Table("node", "type", "market", "zone", "$/h", "used by", title="Nodes", title_justify="left")
    for node in nodes:
        kind = f"{node['instance_type']}{' ' + node['accelerator'] if node['accelerator'] else ''}"
        state = " draining" if node["draining"] else ""
        users = ", ".join(node["used_by"]) or "-"
        cells = [node["node_id"][:20] + state, kind, node["market"], node["zone"], dollars(node["usd_per_hour"]), users]
        table.add_row(*map(literal, cells))
    console.print(table)


def _show_jobs(console: Console, jobs: list[dict[str, Any]]) -> None:
    if not jobs:
        return
    table = Table("job", "kind", "state", "attempt", "where", "last word", "cost", title="Jobs", title_justify="left")
    for job in jobs:
        word = job["progress"] or job["reason"] or (f"next {job['next_start'][:16]}Z" if job["next_start"] else "")
        attempt = str(job["attempt"] or "")
        cells = [job["name"], job["kind"], job["state"], attempt, job["offer"], word, dollars(job["usd"])]
        table.add_row(*map(literal, cells))
    console.print(table)
