"""The planner of real life: the catalog's text, the price book in force, the placement."""

import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from orchestrator.catalog import CatalogError, load_text
from orchestrator.control.planning import CatalogFaultsError, Planned
from orchestrator.estimate.calibration import Experience
from orchestrator.ledger.catalogs import CatalogText
from orchestrator.model.instant import to_iso
from orchestrator.offers import current_prices
from orchestrator.placement import place, plan_as_dict


def plan_text(source: CatalogText, now: datetime, experience: Sequence[Experience] = ()) -> Planned:
    """Load, check and place a catalog as of `now`, with what earlier runs taught; CatalogFaultsError when it has
    faults."""
    began_s = time.perf_counter()
    try:
        catalog = load_text(source.text, source.file, Path(source.base_dir))
    except CatalogError as error:
        raise CatalogFaultsError(error.lines) from error
    prices = current_prices()
    loaded_s = time.perf_counter()
    plan = place(catalog, prices, to_iso(now), experience)
    timings = {"load_s": loaded_s - began_s, "plan_s": time.perf_counter() - loaded_s}
    return Planned(source=source, catalog=catalog, plan=plan, prices=prices, plan_json=plan_as_dict(plan, timings))
