"""Which offers a job may use at all: rules that need no estimate, tried in order; the first that fails is the
reason."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from orchestrator.model.job import Lifecycle
from orchestrator.model.offer import Market
from orchestrator.placement.hardware import CPU
from orchestrator.placement.refusal import MAX_PRICE, Refusals
from orchestrator.placement.shelf import Shelf
from orchestrator.placement.verdict import Verdict
from orchestrator.placement.work import Work


def market_allowed(shelf: Shelf, work: Work) -> Verdict | None:
    """The lifecycle names the market; `auto` leaves it to cost."""
    wanted = {Lifecycle.SPOT: Market.SPOT, Lifecycle.ON_DEMAND: Market.ON_DEMAND}.get(work.job.lifecycle)
    if wanted is None:
        return None
    other = Market.ON_DEMAND if wanted is Market.SPOT else Market.SPOT
    broken = shelf.is_spot != (wanted is Market.SPOT)
    return Verdict(reason="market", broken=broken, needed=wanted.value, available=other.value)


def accelerator_allowed(shelf: Shelf, work: Work) -> Verdict | None:
    """The catalog may name accelerator types; `cpu` means machines without one."""
    wanted = work.job.accelerators
    if not wanted:
        return None
    allowed = {each.casefold() for each in wanted}
    known = np.array([name.casefold() in allowed for name in shelf.hardware.accelerator_names], dtype=bool)
    return Verdict(
        reason="accelerator",
        broken=~known[shelf.machine],
        needed=" or ".join(wanted),
        available=shelf.accelerator_names,
    )


def cpu_suits(shelf: Shelf, work: Work) -> Verdict | None:
    """CPU machines compete for models below 1e9 parameters, embeddings and classifiers, or where the catalog says
    `cpu`."""
    if work.small or work.job.accelerators:
        return None
    return Verdict(reason="needs-accelerator", broken=shelf.is_cpu, needed="accelerator", available=CPU)


def price_allowed(shelf: Shelf, work: Work) -> Verdict | None:
    """`max_price` is per instance and hour."""
    most = work.job.max_price_usd_per_hour
    if most is None:
        return None
    return Verdict(
        reason=MAX_PRICE, broken=shelf.price > float(most), needed=float(most), available=shelf.price, unit="USD/h"
    )


Rule = Callable[[Shelf, Work], Verdict | None]
RULES: tuple[Rule, ...] = (market_allowed, accelerator_allowed, cpu_suits, price_allowed)


def open_rows(work: Work, shelf: Shelf) -> tuple[NDArray[np.intp], Refusals]:
    """Rows of the shelf that the job may use at all, and why not the others: the first rule broken.

    Jobs that ask for the same share the answer.
    """
    job = work.job
    key = (job.lifecycle, job.accelerators, job.max_price_usd_per_hour, work.small)
    if key not in shelf.opened:
        shelf.opened[key] = _open(work, shelf)
    return shelf.opened[key]


def _open(work: Work, shelf: Shelf) -> tuple[NDArray[np.intp], Refusals]:
    still = np.ones(len(shelf.offers), dtype=bool)
    refused: Refusals = {}
    for rule in RULES:
        verdict = rule(shelf, work)
        if verdict is not None:
            for row in np.flatnonzero(still & verdict.broken).tolist():
                refused.setdefault(verdict.at(row), []).append(shelf.names[row])
            still &= ~verdict.broken
    return np.flatnonzero(still), refused
