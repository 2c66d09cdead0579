"""`orchestrator plan`: where each job would run, what it costs, and why not elsewhere."""

import json
import time
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from orchestrator.catalog import CatalogError, load
from orchestrator.cli.plan_options import LedgerOption, NowOption, instant, learnt
from orchestrator.cli.quiet import native_output_to_stderr
from orchestrator.cli.variations import with_deadlines, with_less, with_prices
from orchestrator.model.error import InputError
from orchestrator.model.job import Kind
from orchestrator.model.plan import Choice, JobPlan, Placement, Plan
from orchestrator.offers import current_prices, read_price_csv
from orchestrator.placement import explain, place, plan_as_dict
from orchestrator.placement.difference import difference, difference_as_dict
from orchestrator.placement.explain import describe, duration, summary

BAD_INPUT = 2
_SAVE = "Save one with `orchestrator plan CATALOG --json > OLD.json`."
WIDTH = 130


def plan(
    catalog: Annotated[str, typer.Argument(metavar="CATALOG", help="The job catalog, a YAML file.")],
    *,
    offers: Annotated[str | None, typer.Option(metavar="CSV", help="A price list instead of the one in force.")] = None,
    now: NowOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    job: Annotated[str | None, typer.Option("--explain", metavar="JOB", help="Explain one job in words.")] = None,
    what_if: Annotated[
        list[str] | None,
        typer.Option("--what-if", metavar="TYPE.MARKET=USD", help="Another price, such as g6.xlarge.spot=0.5."),
    ] = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option("--without", metavar="NAME", help="No such family, type, accelerator, zone or market."),
    ] = None,
    deadline: Annotated[
        list[str] | None,
        typer.Option("--deadline", metavar="JOB=TIME", help="Another deadline (train) or window (batch)."),
    ] = None,
    ledger: LedgerOption = None,
    old: Annotated[
        str | None, typer.Option("--diff", metavar="OLD.json", help="What changed since a plan saved with --json.")
    ] = None,
) -> None:
    """Place every job on the cheapest suitable hardware, ranked by the cost of the job. Nothing is started."""
    at = instant(now)
    began = time.perf_counter()
    try:
        loaded = load(catalog)
    except CatalogError as error:
        typer.echo("\n".join(error.lines), err=True)
        raise typer.Exit(BAD_INPUT) from error
    loaded = with_deadlines(loaded, deadline or [])
    book = read_price_csv(offers) if offers else current_prices()
    book = with_less(with_prices(book, what_if or []), leave_out or [])
    experience = learnt(ledger)
    before = _saved(old) if old is not None else None
    ready = time.perf_counter()
    with native_output_to_stderr():
        found = place(loaded, book, at, experience)
    done = time.perf_counter()
    if before is not None:
        _show_difference(before, plan_as_dict(found, {}), cast(str, old), as_json=as_json)
    elif job is not None:
        typer.echo(explain(_named(found, job, catalog)))
    elif as_json:
        timings = {"load_s": round(ready - began, 6), "plan_s": round(done - ready, 6)}
        typer.echo(json.dumps(plan_as_dict(found, timings), indent=2))
    else:
        wide_console().print(table(found))
        for line in _footer(found):
            typer.echo(line)


def table(found: Plan) -> Table:
    """One row for every piece of work: what was chosen, or why nothing was."""
    rows = Table(title=f"Plan of {found.now}, prices of {found.prices_as_of}", title_justify="left", box=box.SIMPLE)
    rows.add_column("job", overflow="fold")
    rows.add_column("placement", overflow="fold")
    for heading in ("USD/h", "expected USD"):
        rows.add_column(heading, justify="right")
    rows.add_column("why", overflow="fold")
    for each in found.jobs:
        for name, placement in each.parts or ((None, each.placement),):
            rows.add_row(*_row(each, name, placement))
    return rows


def _row(job: JobPlan, part: str | None, placement: Placement) -> tuple[str, ...]:
    label = f"{job.name}/{part}" if part else job.name
    choice = placement.chosen
    if choice is None:
        return label, placement.status.value, "", "", summary(placement)
    money = f"{choice.expected_usd:.2f} {_period(job.kind, choice)}"
    return label, describe(choice), f"{choice.usd_per_hour:.3f}", money, summary(placement)


def _period(kind: Kind, choice: Choice) -> str:
    return "a month" if kind is Kind.SERVE else f"in {duration(choice.expected_seconds)}"


def wide_console() -> Console:
    """At least WIDTH columns where the output is not a terminal, whose width nobody knows."""
    console = Console()
    return console if console.is_terminal else Console(width=max(console.width, WIDTH))


def _footer(found: Plan) -> list[str]:
    lines = [f"{found.objective_usd_per_month:.2f} USD a month for all jobs ({found.mode}, gap {found.gap:.2%})"]
    return lines + [f"warning: {warning}" for warning in found.warnings]


def _saved(path: str) -> dict[str, Any]:
    """A plan as `plan --json` wrote it."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"--diff: {path} cannot be read ({error.strerror}).", _SAVE) from error
    except ValueError as error:
        raise InputError(f"--diff: {path} is not JSON ({error}).", _SAVE) from error
    if not isinstance(found, dict):
        raise InputError(f"--diff: {path} is not a plan.", _SAVE)
    return found


def _show_difference(before: dict[str, Any], after: dict[str, Any], path: str, *, as_json: bool) -> None:
    try:
        found = difference(before, after)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"--diff: {path} is not a plan ({error!r}).", _SAVE) from error
    if as_json:
        typer.echo(json.dumps(difference_as_dict(found), indent=2))
        return
    for change in found.changes:
        typer.echo(f"{change.name}")
        typer.echo(f"  - {change.before or 'not placed'}{_usd(change.usd_before)}")
        typer.echo(f"  + {change.after or 'not placed'}{_usd(change.usd_after)}")
    moved = found.usd_per_month_after - found.usd_per_month_before
    typer.echo(
        f"{len(found.changes)} changed; {found.usd_per_month_before:.2f} → {found.usd_per_month_after:.2f} USD a month"
        f" ({moved:+.2f})"
    )


def _usd(amount: float | None) -> str:
    return "" if amount is None else f", {amount:.2f} USD"


def _named(found: Plan, name: str, catalog: str) -> JobPlan:
    job = found.job(name)
    if job is None:
        known = ", ".join(each.name for each in found.jobs) or "none"
        raise InputError(f"{catalog}: has no job {name!r}.", f"Its jobs are: {known}.")
    return job
