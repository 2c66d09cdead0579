"""`orchestrator validate`: every fault of a catalog, or one line that says it is fine."""

import json
from collections import Counter
from dataclasses import asdict
from typing import Annotated

import typer

from orchestrator.catalog import CatalogError, load
from orchestrator.cli.screen import visible
from orchestrator.model.catalog import Catalog

BAD_INPUT = 2


def validate(
    catalog: Annotated[str, typer.Argument(metavar="CATALOG", help="The job catalog, a YAML file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a catalog and report every fault at once, as FILE:LINE:COL: PATH: message. Nothing is started."""
    try:
        loaded = load(catalog)
    except CatalogError as error:
        faults = [asdict(fault) for fault in error.faults]
        print(
            json.dumps({"valid": False, "faults": faults}, indent=2)
            if as_json
            else "\n".join(map(visible, error.lines))
        )
        raise typer.Exit(BAD_INPUT) from error
    counts = _counts(loaded)
    if as_json:
        print(json.dumps({"valid": True, "faults": [], "jobs": counts}, indent=2))
    else:
        number = sum(counts.values())
        kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        print(f"{catalog}: valid, {number} job{'' if number == 1 else 's'}{f' ({kinds})' if kinds else ''}")


def _counts(catalog: Catalog) -> dict[str, int]:
    found = Counter(job.kind.value for job in catalog.jobs)
    return {kind: found[kind] for kind in ("train", "batch", "serve")}
