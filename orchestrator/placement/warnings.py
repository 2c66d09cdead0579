"""What a plan's reader should know before trusting it: old prices, missing sizes."""

from collections.abc import Iterator
from datetime import date

from orchestrator.model.catalog import Catalog
from orchestrator.model.instant import from_iso
from orchestrator.model.job import BatchJob, Job, ServeJob, Task, TrainJob
from orchestrator.model.offer import PriceBook
from orchestrator.placement.batch import ASSUMED_ROWS
from orchestrator.placement.training import ASSUMED_TOKENS

OLD_DAYS = 30
"""Spot prices move within days, on-demand prices within months."""


def warnings(catalog: Catalog, book: PriceBook, now: str) -> tuple[str, ...]:
    """Warnings in a fixed order: prices first, then jobs by name."""
    return (
        *_about_prices(catalog, book, now),
        *(text for job in sorted(catalog.jobs, key=lambda job: job.name) for text in _about_job(job)),
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


def _about_job(job: Job) -> Iterator[str]:
    if isinstance(job, TrainJob) and job.tokens is None:
        yield f"{job.name}: tokens are not given; the estimate assumes {ASSUMED_TOKENS:,.0f} per epoch"
    if isinstance(job, BatchJob) and job.rows is None:
        yield f"{job.name}: rows are not given; the estimate assumes {ASSUMED_ROWS:,.0f}"
    if isinstance(job, BatchJob | ServeJob) and job.quantization is not None:
        yield f"{job.name}: quantised weights are planned for, but engines still load the weights as they are"
    if isinstance(job, ServeJob):
        if job.overflow is not None:
            yield f"{job.name}: overflow counts in the plan, but requests are not forwarded to it yet"
        if job.speculative_method is not None:
            yield f"{job.name}: speculative decoding is not handed to the engine yet"
        if job.task is not Task.GENERATE:
            yield f"{job.name}: task {job.task.value} is planned and priced, but there is no application for it yet"


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
