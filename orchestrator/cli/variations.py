"""The options of `plan` that change prices, hardware or deadlines: from their text to a variation."""

import re
from decimal import Decimal

from orchestrator.catalog.quantity import QuantityError, duration_s
from orchestrator.catalog.suggest import nearest
from orchestrator.model.catalog import Catalog
from orchestrator.model.error import InputError
from orchestrator.model.offer import Market, PriceBook
from orchestrator.placement.variation import names, repriced, with_deadline, without

_PRICE = re.compile(r"(?P<type>[\w-]+\.[\w-]+)\.(?P<market>spot|on-demand)=\$?(?P<usd>[0-9]+(\.[0-9]+)?)(/h)?")


def with_prices(book: PriceBook, wanted: list[str]) -> PriceBook:
    """`g6.xlarge.spot=0.5`: another price in USD per hour, in all zones."""
    for text in wanted:
        match = _PRICE.fullmatch(text.strip())
        if match is None or not Decimal(match["usd"]):
            raise InputError(
                f"--what-if: {text!r} is not TYPE.MARKET=USD.",
                "Use, for example, g6.xlarge.spot=0.5 or g6.xlarge.on-demand=0.7.",
            )
        changed = repriced(book, match["type"], Market(match["market"]), Decimal(match["usd"]))
        if changed is None:
            raise _unknown("--what-if", f"{match['type']} {match['market']}", match["type"], book)
        book = changed
    return book


def with_less(book: PriceBook, wanted: list[str]) -> PriceBook:
    """`p5`: no such family, instance type, accelerator, zone or market."""
    for text in wanted:
        changed = without(book, text.strip())
        if changed is None:
            raise _unknown("--without", text, text, book)
        book = changed
    return book


def with_deadlines(catalog: Catalog, wanted: list[str]) -> Catalog:
    """`JOB=4h`: the deadline of a train job, or the window of a batch job."""
    for text in wanted:
        job, _, duration = text.partition("=")
        try:
            seconds = duration_s(duration.strip())
        except QuantityError as error:
            raise InputError(f"--deadline: {text!r}: {error.message}.", "Use, for example, JOB=4h.") from error
        changed = with_deadline(catalog, job.strip(), seconds)
        if changed is None:
            known = ", ".join(each.name for each in catalog.jobs) or "none"
            raise InputError(f"--deadline: no train or batch job {job.strip()!r}.", f"The catalog's jobs are: {known}.")
        catalog = changed
    return catalog


def _unknown(option: str, what: str, name: str, book: PriceBook) -> InputError:
    near = nearest(name, names(book))
    return InputError(
        f"{option}: the price list has no {what}.",
        f"Did you mean {near}?" if near else "See `orchestrator offers list`.",
    )
