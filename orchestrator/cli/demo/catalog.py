"""The demo's catalog: the user's file, with a storage of its own, so that a second demo starts from nothing."""

import time
from datetime import UTC, datetime
from pathlib import Path

import typer
import yaml

from orchestrator.catalog import CatalogError, load, load_text, missing_inputs
from orchestrator.cli.planned import PlannedFile
from orchestrator.cluster.node_types import node_types
from orchestrator.model.error import InputError
from orchestrator.model.instant import to_iso
from orchestrator.offers import current_prices
from orchestrator.placement import place

COPY = "catalog.yaml"
BAD_INPUT = 2


def read(file: Path, root: Path) -> tuple[PlannedFile, str]:
    """Load and place the catalog with its storage moved below `root`; returns it and its text. Writes nothing."""
    try:
        load(file)
        text = _with_storage(file.read_text(encoding="utf-8"), str(root / "storage"))
        catalog = load_text(text, str(file), file.absolute().parent)
    except CatalogError as error:
        typer.echo("\n".join(error.lines), err=True)
        raise typer.Exit(BAD_INPUT) from error
    prices = current_prices()
    plan = place(catalog, prices, to_iso(datetime.fromtimestamp(int(time.time()), UTC)))
    types = node_types(plan, prices, emulated=True, max_workers=catalog.cluster.max_workers)
    return PlannedFile(path=file.absolute(), catalog=catalog, plan=plan, node_types=types), text


def check_inputs(planned: PlannedFile) -> None:
    """Model and data must be there before any node starts; results of the demo's own training come later."""
    lacking = [
        f"{job.name}: {what}"
        for job in planned.catalog.jobs
        for what in missing_inputs(job, planned.catalog)
        if "run:" not in what
    ]
    if lacking:
        raise InputError("; ".join(lacking), "Run `make setup`, which makes the demo's model and data.")


def _with_storage(text: str, storage: str) -> str:
    """The same text with every path below the cluster's storage moved; comments and positions stay."""
    own = str(yaml.safe_load(text)["cluster"]["storage"])
    return text.replace(own, storage)
