"""A catalog file with its plan and the node types that the plan may use: what `up` and `cluster-yaml` start from."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import typer

from orchestrator.catalog import CatalogError, load, missing_inputs
from orchestrator.cluster.node_types import node_types
from orchestrator.model.catalog import Catalog
from orchestrator.model.instant import to_iso
from orchestrator.model.node import NodeType
from orchestrator.model.plan import Plan
from orchestrator.offers import current_prices
from orchestrator.placement import place

BAD_INPUT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFile:
    """`path` is absolute."""

    path: Path
    catalog: Catalog
    plan: Plan
    node_types: tuple[NodeType, ...]

    def missing(self) -> Iterable[str]:
        """Models and data that are not there, one line each; their jobs wait."""
        for each in self.catalog.jobs:
            yield from (f"{each.name}: {what}" for what in missing_inputs(each, self.catalog))


def read_planned(file: Path, *, emulated: bool) -> PlannedFile:
    """Reads and places a catalog; faults are printed and end the command with exit code 2."""
    try:
        catalog = load(file)
    except CatalogError as error:
        typer.echo("\n".join(error.lines), err=True)
        raise typer.Exit(BAD_INPUT) from error
    prices = current_prices()
    plan = place(catalog, prices, to_iso(datetime.fromtimestamp(int(time.time()), UTC)))
    types = node_types(plan, prices, emulated=emulated, max_workers=catalog.cluster.max_workers)
    return PlannedFile(path=file.absolute(), catalog=catalog, plan=plan, node_types=types)
