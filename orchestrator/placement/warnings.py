"""What a plan's reader should know before trusting it: old prices, missing sizes."""

from datetime import date

from orchestrator.model.catalog import Catalog
from orchestrator.model.instant import from_iso
from orchestrator.model.job import BatchJob, TrainJob
from orchestrator.model.offer import PriceBook
from orchestrator.placement.batch import ASSUMED_ROWS
from orchestrator.placement.training import ASSUMED_TOKENS

OLD_DAYS = 30
"""Spot prices move within days, on-demand prices within months."""


def warnings(catalog: Catalog, book: PriceBook, now: str) -> tuple[str, ...]:
    """Warnings in a fixed order: prices first, then jobs by name."""
    return (
        *_about_prices(catalog, book, now),
        *(text for job in sorted(catalog.jobs, key=lambda job: job.name) if (text := _about_job(job))),
    )


def _about_prices(catalog: Catalog, book: PriceBook, now: str) -> list[str]:
    undated = sum(1 for offer in book.offers if not _is_date(offer.as_of))
    regions = sorted({offer.region for offer in book.offers})
    found = []
    if catalog.cluster.region not in regions:
        found.append(f"no price for region {catalog.cluster.region}; the price list has {', '.join(regions) or 'none'}")
    if undated:
        found.append(f"{undated} of {len(book.offers)} prices carry no date; they may be old")
    if _is_date(book.as_of):
        days = (from_iso(now).date() - date.fromisoformat(book.as_of)).days
        if days > OLD_DAYS:
            found.append(f"prices are up to {days} days old (from {book.as_of})")
    return found


def _about_job(job: object) -> str | None:
    if isinstance(job, TrainJob) and job.tokens is None:
        return f"{job.name}: tokens are not given; the estimate assumes {ASSUMED_TOKENS:,.0f} per epoch"
    if isinstance(job, BatchJob) and job.rows is None:
        return f"{job.name}: rows are not given; the estimate assumes {ASSUMED_ROWS:,.0f}"
    return None


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
