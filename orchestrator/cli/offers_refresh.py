"""`orchestrator offers refresh`: reads prices from AWS and writes them where `plan`, `up` and `apply` look first."""

import difflib
import json
import os
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestrator.cluster.state import write_atomically
from orchestrator.model.error import InputError, OperationError
from orchestrator.model.offer import Market
from orchestrator.offers import PriceList, load_snapshot
from orchestrator.offers.aws import client
from orchestrator.offers.aws.refresh import Refreshed, refreshed
from orchestrator.offers.aws.region import Window
from orchestrator.offers.comparison import Move, biggest_moves, kept_by_region, refused_by_reason
from orchestrator.offers.current import SHIPPED, prices_path, read_snapshot
from orchestrator.offers.hardware import families as known_families

MOST_WINDOW_DAYS = 90
"""EC2 keeps 90 days of spot prices."""


def refresh(
    regions: Annotated[
        str | None, typer.Option(metavar="R1,R2", help="Regions to read.", show_default="those of the shipped list")
    ] = None,
    families: Annotated[
        str | None,
        typer.Option(metavar="F1,F2", help="Instance families, like g6,g5.", show_default="all with known hardware"),
    ] = None,
    window_days: Annotated[
        int, typer.Option(min=1, max=MOST_WINDOW_DAYS, help="Spot prices are medians of this many days.")
    ] = 7,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where to write.",
            show_default="$ORCHESTRATOR_PRICES or ~/.local/share/orchestrator/prices.csv",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Read on-demand and spot prices from AWS, check them, and replace the price list that plans are made with.

    Needs AWS credentials with five reading permissions (docs/prices.md). When anything fails the old list stays.
    """
    wanted_regions = _chosen("--regions", regions, _shipped_regions(), client.known_regions())
    wanted_families = _chosen("--families", families, tuple(known_families()), tuple(known_families()))
    target = out.expanduser().absolute() if out else prices_path(os.environ)
    before = _previous(target, named=out is not None)
    end = datetime.fromtimestamp(int(time.time()), UTC)
    window = Window(start=end - timedelta(days=window_days), end=end)
    found = refreshed(client.connect, wanted_regions, wanted_families, window, file=target.name, tell=_tell)
    _write(target, found.text)
    if as_json:
        typer.echo(json.dumps(_as_dict(found, before, target), indent=2))
    else:
        typer.echo("\n".join(_summary(found, before, target)))


def _shipped_regions() -> tuple[str, ...]:
    return tuple(sorted({offer.region for offer in load_snapshot().offers}))


def _chosen(option: str, text: str | None, default: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    """The names of a comma-separated option, each once, sorted; InputError with the nearest names of an unknown one."""
    if text is None:
        return tuple(sorted(default))
    names = sorted({name.strip() for name in text.split(",") if name.strip()})
    if not names:
        raise InputError(f"{option}: names nothing.", f"Use, for example, {option} {','.join(sorted(default)[:2])}.")
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or sorted(known)
            raise InputError(f"{option}: {name!r} is not known.", f"Did you mean {' or '.join(near)}?")
    return tuple(names)


def _previous(target: Path, *, named: bool) -> PriceList:
    """The list that the new one is compared with: the one it replaces, else the one in force.

    A file that the user names and that is no price list is somebody's work: InputError. Our own file may be broken,
    and then a new list is the cure.
    """
    if target.is_dir():
        raise InputError(f"{target} is a folder.", "Name a file to write prices to.")
    try:
        return PriceList(book=read_snapshot(target), origin=str(target))
    except FileNotFoundError:
        pass
    except InputError as error:
        if named:
            raise InputError(
                f"{target} exists and is not a price list that can be replaced ({error.what})",
                "Remove it, or name another file.",
            ) from error
        _tell(f"note: {error.what} It is replaced.")
        return PriceList(book=load_snapshot(), origin=SHIPPED)
    try:
        in_force = prices_path(os.environ)
        return PriceList(book=read_snapshot(in_force), origin=str(in_force))
    except FileNotFoundError:
        return PriceList(book=load_snapshot(), origin=SHIPPED)


def _write(target: Path, text: str) -> None:
    try:
        write_atomically(target, text.encode())
    except OSError as error:
        raise OperationError(
            f"{target} could not be written ({error.strerror}); what was there is unchanged.",
            "Make room or make the folder writable, or name another place with --out.",
        ) from error


def _summary(found: Refreshed, before: PriceList, target: Path) -> Iterable[str]:
    yield f"{len(found.book.offers)} prices of {found.book.as_of} written to {target}"
    for region, markets in kept_by_region(found.book).items():
        yield f"  {region:<16}" + ", ".join(f"{markets.get(market, 0)} {market}" for market in _MARKETS)
    for reason, rows in refused_by_reason(found.refused).items():
        yield f"refused: {len(rows)} x {reason}, as {rows[0].name} ({rows[0].detail})"
    moves = biggest_moves(before.book, found.book)
    yield (
        f"biggest changes against {before.origin} (prices of {before.book.as_of}):"
        if moves
        else (f"no price changed against {before.origin} (prices of {before.book.as_of})")
    )
    for move in moves:
        yield f"  {move.share:+8.1%}  {move.name}  {move.before_usd_per_hour} → {move.after_usd_per_hour} USD/h"


_MARKETS = (Market.ON_DEMAND.value, Market.SPOT.value)


def _as_dict(found: Refreshed, before: PriceList, target: Path) -> dict[str, Any]:
    return {
        "written_to": str(target),
        "prices_as_of": found.book.as_of,
        "kept": kept_by_region(found.book),
        "refused": {
            reason: [{"name": row.name, "region": row.region, "detail": row.detail} for row in rows]
            for reason, rows in refused_by_reason(found.refused).items()
        },
        "compared_with": {"origin": before.origin, "prices_as_of": before.book.as_of},
        "biggest_changes": [_move(move) for move in biggest_moves(before.book, found.book)],
    }


def _move(move: Move) -> dict[str, Any]:
    return {
        "name": move.name,
        "before_usd_per_hour": float(move.before_usd_per_hour),
        "after_usd_per_hour": float(move.after_usd_per_hour),
        "change": round(float(move.share), 4),
    }


def _tell(line: str) -> None:
    typer.echo(line, err=True)
