"""What placement knows of a catalog before it decides: every piece of work with its candidates, and what any choice of
them costs and takes. Alternatives to the plan are costed with this, so that all rest on the same estimates."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import ceil

import numpy as np
from numpy.typing import NDArray

from benchmarks.catalogs import Limits
from orchestrator.estimate.calibration import Calibration
from orchestrator.model.catalog import Catalog, ClusterSpec
from orchestrator.model.instant import from_iso, to_iso
from orchestrator.model.offer import Market, PriceBook
from orchestrator.placement.candidate import Candidates
from orchestrator.placement.examine import examine
from orchestrator.placement.limits import Limit, limits, per_instance
from orchestrator.placement.shelf import Shelf
from orchestrator.placement.slots import Slots, slots
from orchestrator.placement.work import works

NOWHERE = -1
"""Row of a piece of work that is not placed."""

QUOTAS = tuple(f"{family}-{market}" for family in ("G", "P", "Standard") for market in ("spot", "on-demand"))
LOOSE_VCPUS, LOOSE_USD, LOOSE_WORKERS = 10**7, Decimal(10**9), 10**6

SHARES = {
    "binding": {"budget": 0.8, "max-workers": 1.0, "P-spot": 0.4, "G-spot": 0.8},
    "scarce": {"budget": 0.7, "max-workers": 1.0, "P-spot": 0.3, "G-spot": 0.7},
}
"""Limits as shares of what everybody's cheapest candidate takes together: too little of the cheapest large machines and
too little money, so that others must be found; `scarce` leaves some of a small catalog without room."""

OTHER_SHARE, LEAST_VCPUS, LEAST_WORKERS = 1.5, 192, 16
"""Room in the quotas not named above, and what small catalogs get at least."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Options:
    """Candidates of one piece of work as columns, cheapest first: USD a month, peak and mean amounts of each limit
    (rows, limits), accelerator ("cpu" without one) and price of one instance in USD per hour."""

    work: str
    offers: NDArray[np.object_]
    usd_per_month: NDArray[np.float64]
    uses: NDArray[np.int64]
    mean_uses: NDArray[np.int64]
    accelerators: NDArray[np.object_]
    instance_usd_per_hour: NDArray[np.float64]

    def row(self, offer: str | None) -> int:
        """Row of an offer by name."""
        return NOWHERE if offer is None else int(np.flatnonzero(self.offers == offer)[0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Examination:
    """All work of a catalog, by name, with its options; a choice is one row of each."""

    options: tuple[Options, ...]
    all_limits: tuple[Limit, ...]
    times: Slots

    def choose(self, rule: Callable[[Options], int]) -> tuple[int, ...]:
        """The row that a rule takes of each piece of work; work without options is nowhere."""
        return tuple(rule(each) if len(each.offers) else NOWHERE for each in self.options)

    def usd_per_month(self, rows: Sequence[int]) -> float:
        """What a choice costs."""
        chosen = [each.usd_per_month[row] for each, row in self._placed(rows)]
        return float(np.sum(chosen)) if chosen else 0.0

    def used(self, rows: Sequence[int]) -> dict[str, float]:
        """What a choice takes of each limit at the busiest time, in the limit's unit."""
        peak, mean = (np.zeros((len(self.options), len(self.all_limits)), dtype=np.int64) for _ in range(2))
        for index, (each, row) in enumerate(zip(self.options, rows, strict=True)):
            if row != NOWHERE:
                peak[index], mean[index] = each.uses[row], each.mean_uses[row]
        most = self.times.totals(peak, mean).max(axis=0, initial=0)
        return {_name(limit): float(amount) / limit.scale for limit, amount in zip(self.all_limits, most, strict=True)}

    def exceeded(self, rows: Sequence[int]) -> dict[str, float]:
        """Limits that a choice breaks, with what it takes as a multiple of the limit."""
        used = self.used(rows)
        capacity = {_name(limit): limit.capacity / limit.scale for limit in self.all_limits}
        return {
            name: round(amount / capacity[name], 3) if capacity[name] else float("inf")
            for name, amount in used.items()
            if amount > capacity[name]
        }

    def _placed(self, rows: Sequence[int]) -> list[tuple[Options, int]]:
        return [(each, row) for each, row in zip(self.options, rows, strict=True) if row != NOWHERE]


def examination(catalog: Catalog, book: PriceBook, now: str) -> Examination:
    """Every piece of work against every offer, as `place` does it."""
    at = to_iso(from_iso(now))
    all_limits = limits(catalog.cluster)
    shelf = Shelf.of(catalog.cluster, book)
    each = per_instance(shelf, all_limits)
    everything = works(catalog)
    return Examination(
        options=tuple(
            _options(work.name, examine(work, shelf, each, all_limits, Calibration(), at).candidates, shelf)
            for work in everything
        ),
        all_limits=all_limits,
        times=slots(everything, at),
    )


def _options(work: str, found: Candidates, shelf: Shelf) -> Options:
    own = found.rows >= 0
    offers = np.where(own, found.rows, 0)
    return Options(
        work=work,
        offers=found.names,
        usd_per_month=found.usd_per_month,
        uses=found.uses,
        mean_uses=found.mean_uses,
        accelerators=np.where(own, shelf.accelerator_names[offers], Market.SERVERLESS.value).astype(object),
        instance_usd_per_hour=np.where(own, shelf.price[offers], np.inf),
    )


def cheapest(options: Options) -> int:
    """The rule of a plan without limits: least expected cost."""
    return 0 if len(options.offers) else NOWHERE


def tight_limits(catalog: Catalog, book: PriceBook, now: str) -> dict[str, Limits]:
    """Limits under which not everybody can have the cheapest candidate, by each of SHARES."""
    loose = replace(catalog, cluster=_loose(catalog.cluster))
    found = examination(loose, book, now)
    used = found.used(found.choose(cheapest))
    return {name: _limits(used, shares) for name, shares in SHARES.items()}


def _limits(used: Mapping[str, float], shares: Mapping[str, float]) -> Limits:
    return Limits(
        max_workers=max(ceil(used["max-workers"] * shares["max-workers"]), LEAST_WORKERS),
        budget_usd_per_hour=ceil(used["budget"] * shares["budget"] * 100) / 100,
        quotas={name: max(ceil(used[name] * shares.get(name, OTHER_SHARE)), LEAST_VCPUS) for name in QUOTAS},
    )


def _loose(cluster: ClusterSpec) -> ClusterSpec:
    return replace(
        cluster,
        max_workers=LOOSE_WORKERS,
        budget_usd_per_hour=LOOSE_USD,
        quotas=tuple((name, LOOSE_VCPUS) for name in sorted(QUOTAS)),
    )


def _name(limit: Limit) -> str:
    return next((name for name in QUOTAS if name.casefold() == limit.quota), limit.quota or limit.reason)
