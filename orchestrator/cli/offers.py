"""`orchestrator offers`: the price book."""

import json
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from orchestrator.cli.offers_refresh import refresh
from orchestrator.cli.screen import literal, visible
from orchestrator.model.offer import Offer, PriceBook
from orchestrator.offers import PriceList, current_list, read_price_csv

CPU = "cpu"
WIDTH = 140
MOST_SOURCES = 4
app = typer.Typer(no_args_is_help=True, help="The price book: what can be bought, at which price, from which source.")


app.command("refresh")(refresh)


@app.callback()
def offers() -> None:
    """The price book: what can be bought, at which price, from which source."""


@app.command("list")
def list_offers(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    region: Annotated[str | None, typer.Option(help="Only this region.")] = None,
    accelerator: Annotated[str | None, typer.Option(help="Only this accelerator type; cpu = machines without.")] = None,
    prices: Annotated[str | None, typer.Option("--offers", metavar="CSV", help="A price list of your own.")] = None,
) -> None:
    """List offers, cheapest first within a type, and the rows that were refused."""
    shown = PriceList(book=read_price_csv(prices), origin=prices) if prices else current_list()
    book = shown.book
    found = [offer for offer in book.offers if _wanted(offer, region, accelerator)]
    found.sort(key=lambda offer: (offer.instance.name, offer.price_usd_per_hour, offer.name))
    if as_json:
        typer.echo(json.dumps(_as_dict(shown, found, region), indent=2))
        return
    console = Console()
    (console if console.is_terminal else Console(width=WIDTH)).print(_table(book, found))
    typer.echo(visible(_provenance(shown)))
    refused = [row for row in book.refused if region in (None, row.region)]
    for row in refused:
        typer.echo(visible(f"refused: {row.name}: {row.reason} ({row.detail})"))


def _provenance(shown: PriceList) -> str:
    """Which list this is, how old its prices are, and who says so."""
    dates = sorted({offer.as_of for offer in shown.book.offers})
    sources = _sources(shown.book)
    more = len(sources) - MOST_SOURCES
    told = "; ".join(sources[:MOST_SOURCES]) + (f"; and {more} more" if more > 0 else "")
    span = " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "no date"
    return f"price list: {shown.origin}, prices of {span}, from: {told or 'no source'}"


def _sources(book: PriceBook) -> list[str]:
    return sorted({offer.source for offer in book.offers})


def _wanted(offer: Offer, region: str | None, accelerator: str | None) -> bool:
    name = offer.instance.accelerator.name if offer.instance.accelerator else CPU
    return region in (None, offer.region) and (accelerator is None or accelerator.casefold() == name.casefold())


def _as_dict(shown: PriceList, found: list[Offer], region: str | None) -> dict[str, Any]:
    book = shown.book
    return {
        "prices_as_of": book.as_of,
        "price_list": {"origin": shown.origin, "sources": _sources(book)},
        "offers": [_offer(offer) for offer in found],
        "refused": [
            {"name": row.name, "region": row.region, "reason": row.reason, "detail": row.detail}
            for row in book.refused
            if region in (None, row.region)
        ],
    }


def _offer(offer: Offer) -> dict[str, Any]:
    instance = offer.instance
    accelerator = instance.accelerator
    return {
        "name": offer.name,
        "instance_type": instance.name,
        "market": offer.market.value,
        "region": offer.region,
        "zone": offer.zone,
        "local_zone": offer.local_zone,
        "usd_per_hour": float(offer.price_usd_per_hour),
        "on_demand_usd_per_hour": float(offer.on_demand_usd_per_hour),
        "p90_usd_per_hour": None if offer.p90_usd_per_hour is None else float(offer.p90_usd_per_hour),
        "interruptions_per_hour": offer.interruptions_per_hour,
        "accelerator": accelerator.name if accelerator else None,
        "accelerators": instance.accelerators,
        "accelerator_memory_gib": round(accelerator.memory_gib, 3) if accelerator else None,
        "vcpus": instance.vcpus,
        "memory_gib": instance.memory_gib,
        "quota_family": instance.quota_family,
        "source": offer.source,
        "as_of": offer.as_of,
    }


def _table(book: PriceBook, found: list[Offer]) -> Table:
    rows = Table(title=escape(f"{len(found)} offers, prices of {book.as_of}"), title_justify="left", box=box.SIMPLE)
    for heading in ("instance type", "accelerator", "memory", "vCPUs", "market", "region", "zone", "USD/h", "as of"):
        rows.add_column(heading, justify="right" if heading in ("memory", "vCPUs", "USD/h") else "left", no_wrap=True)
    for offer in found:
        instance = offer.instance
        accelerator = instance.accelerator
        memory_gib = accelerator.memory_gib if accelerator else instance.memory_gib
        cells = (
            instance.name,
            f"{instance.accelerators} x {accelerator.name}" if accelerator else CPU,
            f"{memory_gib:.1f} GiB",
            str(instance.vcpus),
            offer.market.value,
            offer.region,
            f"{offer.zone} (local zone)" if offer.local_zone else offer.zone,
            f"{offer.price_usd_per_hour}",
            offer.as_of,
        )
        rows.add_row(*map(literal, cells))
    return rows
