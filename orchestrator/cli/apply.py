"""`orchestrator apply`: makes a catalog the one that the cluster follows."""

import json
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.catalog import CatalogError, load
from orchestrator.cli.controller_client import ask, error_of
from orchestrator.cli.screen import visible
from orchestrator.cli.state_dir_option import StateDirOption, state_of
from orchestrator.model.error import InputError, OperationError

BAD_INPUT = 2
UNPROCESSABLE = 422


def apply(
    catalog: Annotated[str, typer.Argument(metavar="CATALOG", help="The job catalog, a YAML file.")],
    state_dir: StateDirOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Hand a catalog to the controller: services are deployed, schedules count from now on. Prints what changes."""
    path = Path(catalog)
    try:
        load(path)
    except CatalogError as error:
        print(json.dumps({"faults": list(error.lines)}, indent=2) if as_json else "\n".join(map(visible, error.lines)))
        raise typer.Exit(BAD_INPUT) from error
    body = {
        "text": path.read_bytes().decode("utf-8-sig"),
        "file": catalog,
        "base_dir": str(path.absolute().parent),
    }
    answer = ask(state_of(state_dir), "PUT", "/v1/catalog", json=body)
    if answer.status_code == UNPROCESSABLE:
        faults = answer.json().get("faults", [])
        raise InputError("\n".join(map(visible, faults)) or error_of(answer))
    if not answer.is_success:
        raise OperationError(f"the controller does not take {catalog}: {error_of(answer)}")
    plan = answer.json()
    print(json.dumps(plan, indent=2) if as_json else visible(_told(catalog, plan), newlines=True))


def _told(catalog: str, plan: dict) -> str:  # type: ignore[type-arg]
    changes = plan["changes"] or ["nothing changes"]
    unplaced = [name for name, job in plan["jobs"].items() if job["status"] != "placed"]
    lines = [f"applied {catalog}:", *(f"  {change}" for change in changes)]
    lines += [
        f"  ! {name}: {plan['jobs'][name]['status']}; `orchestrator plan {catalog} --explain {name}` says why"
        for name in unplaced
    ]
    return "\n".join([*lines, *(f"  warning: {warning}" for warning in plan["warnings"])])
