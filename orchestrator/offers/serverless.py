"""Serverless prices: paid by the request or the token, never idle, and slow after a pause."""

import csv
from decimal import Decimal
from functools import cache
from importlib import resources

from orchestrator.model.job import Task
from orchestrator.model.offer import ServerlessOffer


@cache
def load_serverless() -> tuple[ServerlessOffer, ...]:
    """The shipped rows, by name."""
    text = resources.files("orchestrator.offers").joinpath("serverless.csv").read_text(encoding="utf-8")
    return tuple(sorted((_offer(row) for row in csv.DictReader(text.splitlines())), key=lambda offer: offer.name))


def _offer(row: dict[str, str]) -> ServerlessOffer:
    return ServerlessOffer(
        name=f"{row['name']}:serverless:*:*",
        tasks=tuple(Task(task).value for task in row["tasks"].split()),
        most_params=float(row["most_params"]),
        usd_per_million_tokens=Decimal(row["usd_per_million_tokens"]),
        usd_per_million_requests=Decimal(row["usd_per_million_requests"]),
        usd_per_gb_second=Decimal(row["usd_per_gb_second"]),
        memory_gib=float(row["memory_gib"]),
        cold_start_s=float(row["cold_start_s"]),
        source=row["source"],
        as_of=row["as_of"],
    )
