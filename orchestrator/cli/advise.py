"""`orchestrator advise`: what could be done better than the plan, with the arithmetic."""

import json
from typing import Annotated

import typer

from orchestrator.advice import Traced, advice_as_dict, advice_as_text
from orchestrator.advice import advise as give_advice
from orchestrator.catalog import CatalogError, load
from orchestrator.cli.plan_options import LedgerOption, NowOption, instant, learnt
from orchestrator.cli.quiet import native_output_to_stderr
from orchestrator.cli.screen import visible
from orchestrator.cli.traffic_csv import read_traffic
from orchestrator.model.error import InputError
from orchestrator.offers import current_prices, read_price_csv

BAD_INPUT = 2


def advise(
    catalog: Annotated[str, typer.Argument(metavar="CATALOG", help="The job catalog, a YAML file.")],
    offers: Annotated[str | None, typer.Option(metavar="CSV", help="A price list instead of the one in force.")] = None,
    now: NowOption = None,
    traffic: Annotated[
        str | None, typer.Option(metavar="CSV", help="Measured traffic: a time column and rates.")
    ] = None,
    column: Annotated[str | None, typer.Option(metavar="NAME", help="The column of --traffic with the rates.")] = None,
    ledger: LedgerOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Advise on hardware, buying, serving tiers and waste, from the plan that `plan` makes. Nothing is started."""
    at = instant(now)
    measured = _measured(traffic, column)
    try:
        loaded = load(catalog)
    except CatalogError as error:
        typer.echo("\n".join(map(visible, error.lines)), err=True)
        raise typer.Exit(BAD_INPUT) from error
    prices = read_price_csv(offers) if offers else current_prices()
    experience = learnt(ledger)
    with native_output_to_stderr():
        given = give_advice(loaded, prices, at, measured, experience)
    typer.echo(
        json.dumps(advice_as_dict(given, at), indent=2) if as_json else visible(advice_as_text(given), newlines=True)
    )


def _measured(traffic: str | None, column: str | None) -> Traced | None:
    if (traffic is None) != (column is None):
        given, other = ("--column", "--traffic CSV") if traffic is None else ("--traffic", "--column NAME")
        raise InputError(f"{given}: is given without {other}.", "Name a file of traffic and its column of rates.")
    return read_traffic(traffic, column) if traffic is not None and column is not None else None
