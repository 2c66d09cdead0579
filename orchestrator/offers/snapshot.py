"""The price snapshot shipped in this package."""

import csv
from decimal import Decimal
from functools import cache
from importlib import resources

from orchestrator.model.offer import Market, PriceBook
from orchestrator.offers.book import build_book
from orchestrator.offers.hardware import Described, look_up
from orchestrator.offers.quote import Quote

SNAPSHOT = "prices.csv"


@cache
def load_snapshot() -> PriceBook:
    """The shipped price book: EC2, Linux, shared tenancy, USD per hour, us-east-1, us-west-2 and eu-west-1."""
    text = resources.files("orchestrator.offers").joinpath(SNAPSHOT).read_text(encoding="utf-8")
    return build_book(_quote(line, row) for line, row in enumerate(csv.DictReader(text.splitlines()), start=2))


def _quote(line: int, row: dict[str, str]) -> Quote:
    return Quote(
        instance_type=row["instance_type"],
        hardware=look_up(Described(instance_type=row["instance_type"])),
        region=row["region"],
        zone=row["zone"],
        market=Market(row["market"]),
        usd_per_hour=Decimal(row["usd_per_hour"]),
        source=row["source"],
        as_of=row["as_of"],
        place=f"{SNAPSHOT}:{line}",
    )
