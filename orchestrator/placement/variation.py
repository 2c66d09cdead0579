"""Variations of a book or a catalog: what would the plan be if. Pure; the plan of a variation is made by `place`."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from orchestrator.model.catalog import Catalog
from orchestrator.model.job import BatchJob, TrainJob
from orchestrator.model.offer import Market, Offer, PriceBook, RefusedOffer

LEFT_OUT = "left-out"


def repriced(book: PriceBook, instance_type: str, market: Market, usd_per_hour: Decimal) -> PriceBook | None:
    """The book with another price for an instance type in one market, in all its zones; None when it has no such offer.

    An on-demand price is also what spot is compared with.
    """
    if not any(offer.instance.name == instance_type and offer.market is market for offer in book.offers):
        return None
    return replace(book, offers=tuple(_repriced(offer, instance_type, market, usd_per_hour) for offer in book.offers))


def without(book: PriceBook, name: str) -> PriceBook | None:
    """The book without a family ("p5"), an instance type, an accelerator, a zone or a market; None when nothing has
    that name. What is left out is refused with that reason."""
    if name.casefold() == Market.SERVERLESS.value and book.serverless:
        return replace(book, serverless=())
    matches = _matcher(name.casefold())
    gone = [offer for offer in book.offers if matches(offer)]
    if not gone:
        return None
    refused = tuple(
        RefusedOffer(name=offer.name, region=offer.region, reason=LEFT_OUT, detail=f"left out with {name}")
        for offer in gone
    )
    kept = tuple(offer for offer in book.offers if not matches(offer))
    return replace(book, offers=kept, refused=tuple(sorted((*book.refused, *refused), key=lambda row: row.name)))


def with_deadline(catalog: Catalog, job_name: str, deadline_s: float) -> Catalog | None:
    """The catalog with another deadline of a train job, or window of a batch job; None when it has no such job."""
    job = catalog.job(job_name)
    if isinstance(job, TrainJob):
        changed: TrainJob | BatchJob = replace(job, deadline_s=deadline_s)
    elif isinstance(job, BatchJob):
        changed = replace(job, window_s=deadline_s)
    else:
        return None
    return replace(catalog, jobs=tuple(changed if each.name == job_name else each for each in catalog.jobs))


def names(book: PriceBook) -> tuple[str, ...]:
    """Everything that `without` knows by name, sorted."""
    found = {name for offer in book.offers for name in _names(offer)}
    return tuple(sorted(found))


def _repriced(offer: Offer, instance_type: str, market: Market, usd_per_hour: Decimal) -> Offer:
    if offer.instance.name != instance_type:
        return offer
    if market is Market.ON_DEMAND:
        offer = replace(offer, on_demand_usd_per_hour=usd_per_hour)
    return replace(offer, price_usd_per_hour=usd_per_hour) if offer.market is market else offer


def _matcher(name: str) -> Callable[[Offer], bool]:
    return lambda offer: name in {each.casefold() for each in _names(offer)}


def _names(offer: Offer) -> tuple[str, ...]:
    instance = offer.instance
    accelerator = (instance.accelerator.name,) if instance.accelerator else ("cpu",)
    return (instance.name, instance.name.split(".")[0], offer.zone, offer.market.value, *accelerator)
