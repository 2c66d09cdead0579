"""The shelf: all offers a cluster may choose from, as columns, and what never gets onto it."""

from collections.abc import Iterable
from decimal import Decimal
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from orchestrator.model.catalog import ClusterSpec
from orchestrator.model.offer import InstanceType, Market, Offer, PriceBook, ServerlessOffer
from orchestrator.placement.barred import other_region, unusable
from orchestrator.placement.hardware import Hardware
from orchestrator.placement.refusal import Refusal, Refusals

MICRO = 1_000_000
"""Limits in USD are kept in whole millionths, which add up exactly."""


class Shelf:
    """Offers of the cluster's region that any job might use, sorted by name; columns have one row per offer.

    `barred` are the other offers and refused rows of the book, with the refusal that holds for every job.
    """

    def __init__(
        self,
        cluster: ClusterSpec,
        offers: tuple[Offer, ...],
        barred: tuple[tuple[str, Refusal], ...] = (),
        share: float = 1.0,
        serverless: tuple[ServerlessOffer, ...] = (),
    ) -> None:
        self.cluster = cluster
        self.serverless = serverless
        self.offers = offers
        self.barred = barred
        self.hardware = Hardware(_types(offers), share)
        index = {_identity(one): position for position, one in enumerate(self.hardware.types)}
        self.machine = np.array([index[_identity(offer.instance)] for offer in offers], dtype=np.intp)
        """Row of the offer's instance type in `hardware`."""
        self.opened: dict[tuple[object, ...], tuple[NDArray[np.intp], Refusals]] = {}
        """What suitable.py found for jobs that ask for the same."""
        self._shared: dict[float, Shelf] = {}

    @classmethod
    def of(cls, cluster: ClusterSpec, book: PriceBook) -> "Shelf":
        """The shelf of a book."""
        usable: list[Offer] = []
        barred: list[tuple[str, Refusal]] = []
        for offer in sorted(book.offers, key=lambda offer: offer.name):
            refusal = unusable(offer, cluster)
            if refusal is None:
                usable.append(offer)
            else:
                barred.append((offer.name, refusal))
        for row in book.refused:
            elsewhere = row.region != cluster.region
            reason = other_region(cluster) if elsewhere else Refusal(reason=row.reason, needed=None, available=None)
            barred.append((row.name, reason))
        return cls(cluster, tuple(usable), tuple(barred), serverless=book.serverless)

    def shared(self, share: float) -> "Shelf":
        """The `shareable` offers alone, with that part of one accelerator each."""
        if share not in self._shared:
            offers = tuple(self.offers[row] for row in self.shareable.tolist())
            self._shared[share] = Shelf(self.cluster, offers, share=share)
        return self._shared[share]

    def price_of(self, name: str) -> Decimal:
        """USD per instance and hour of an offer by name."""
        return self._by_name[name].price_usd_per_hour

    @cached_property
    def _by_name(self) -> dict[str, Offer]:
        return {offer.name: offer for offer in self.offers}

    @cached_property
    def names(self) -> NDArray[np.object_]:
        """Names of the offers."""
        return np.array([offer.name for offer in self.offers], dtype=object)

    @cached_property
    def price(self) -> NDArray[np.float64]:
        """USD per instance and hour."""
        return np.array([float(offer.price_usd_per_hour) for offer in self.offers])

    @cached_property
    def micro_price(self) -> NDArray[np.int64]:
        """The same in millionths of a USD, rounded up, so that a sum is never below the truth."""
        return np.array([micro(offer.price_usd_per_hour, up=True) for offer in self.offers], dtype=np.int64)

    @cached_property
    def interruptions(self) -> NDArray[np.float64]:
        """Interruptions per instance and hour."""
        return np.array([offer.interruptions_per_hour for offer in self.offers])

    @cached_property
    def twins(self) -> NDArray[np.intp]:
        """Equal for offers that differ in nothing but price and place: machine and interruption rate."""
        keys = list(zip(self.machine.tolist(), self.interruptions.tolist(), strict=True))
        index = {key: position for position, key in enumerate(dict.fromkeys(keys))}
        return np.array([index[key] for key in keys], dtype=np.intp)

    @cached_property
    def is_spot(self) -> NDArray[np.bool_]:
        """True for spot offers."""
        return np.array([offer.market is Market.SPOT for offer in self.offers], dtype=bool)

    @cached_property
    def zones(self) -> NDArray[np.object_]:
        """Zone of each offer, "*" = any of the region."""
        return np.array([offer.zone for offer in self.offers], dtype=object)

    @cached_property
    def on_demand_row(self) -> NDArray[np.intp]:
        """Row of the on-demand offer of the same machine, -1 without one."""
        rows = {int(self.machine[row]): row for row in np.flatnonzero(~self.is_spot)[::-1]}
        return np.array([rows.get(int(machine), -1) for machine in self.machine], dtype=np.intp)

    @cached_property
    def pools(self) -> NDArray[np.intp]:
        """Rows of the spot offers of the same machine, each row's own first and then the cheapest: (offers, most),
        -1 where there are no more."""
        by_machine: dict[int, list[int]] = {}
        for row in sorted(np.flatnonzero(self.is_spot), key=lambda row: (self.micro_price[row], row)):
            by_machine.setdefault(int(self.machine[row]), []).append(int(row))
        most = max((len(found) for found in by_machine.values()), default=1)
        table = np.full((len(self.offers), most), -1, dtype=np.intp)
        for row in np.flatnonzero(self.is_spot):
            others = [other for other in by_machine[int(self.machine[row])] if other != row]
            table[row, : len(others) + 1] = [row, *others]
        return table

    @cached_property
    def shareable(self) -> NDArray[np.intp]:
        """Rows of the on-demand offers whose accelerators small services may share: of each accelerator type the one
        with the least price an accelerator, which has the fewest vCPUs as well."""
        found: dict[str, tuple[float, int]] = {}
        for row in np.flatnonzero(~self.is_spot & ~self.is_cpu).tolist():
            price = float(self.price[row] / self.hardware.accelerators[self.machine[row]])
            name = self.accelerator_names[row]
            found[name] = min(found.get(name, (price, row)), (price, row))
        return np.array(sorted(row for _, row in found.values()), dtype=np.intp)

    @cached_property
    def vcpus(self) -> NDArray[np.int64]:
        """vCPUs of one instance."""
        return np.array([offer.instance.vcpus for offer in self.offers], dtype=np.int64)

    @cached_property
    def accelerator_names(self) -> NDArray[np.object_]:
        """Accelerator of each offer, "cpu" without one."""
        return self.hardware.accelerator_names[self.machine]

    @cached_property
    def is_cpu(self) -> NDArray[np.bool_]:
        """True for offers of machines without an accelerator."""
        return self.hardware.is_cpu[self.machine]


def micro(usd: Decimal, *, up: bool) -> int:
    """A USD amount in whole millionths."""
    whole, rest = divmod(usd * MICRO, 1)
    return int(whole) + (1 if up and rest else 0)


def _types(offers: Iterable[Offer]) -> tuple[InstanceType, ...]:
    found = {_identity(offer.instance): offer.instance for offer in offers}
    return tuple(found[key] for key in sorted(found))


def _identity(instance: InstanceType) -> tuple[str, float]:
    """A price list may report less memory for a type than another row does."""
    return instance.name, instance.accelerator.memory_gib if instance.accelerator else 0.0
