"""Catalog text to plan: the catalog, its placement and the offers behind it, kept together."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from orchestrator.cluster.node_types import FALLBACKS
from orchestrator.ledger.catalogs import CatalogText
from orchestrator.model.card import ModelCard
from orchestrator.model.catalog import Catalog, Provider
from orchestrator.model.error import InputError
from orchestrator.model.job import Job
from orchestrator.model.offer import Market, PriceBook
from orchestrator.model.plan import Choice, Placement, Plan


class CatalogFaultsError(InputError):
    """A catalog with faults; `lines` has one `FILE:LINE:COL: PATH: message` each."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A catalog with its plan. `plan_json` follows the contract of `plan --json`."""

    source: CatalogText
    catalog: Catalog
    plan: Plan
    prices: PriceBook
    plan_json: Mapping[str, Any]

    @property
    def emulated(self) -> bool:
        """Whether its nodes are emulated on this machine."""
        return self.catalog.cluster.provider is Provider.LOCAL

    def placement(self, job: str, part: str | None = None) -> Placement | None:
        """The placement of a job, or of one model of it."""
        found = self.plan.job(job)
        return None if found is None else found.part(part)

    def offers(self, job: str, part: str | None = None) -> tuple[str, ...]:
        """Offers worth trying, best first."""
        placement = self.placement(job, part)
        return () if placement is None else tuple(choice.offer for choice in choices(placement))


class Planner(Protocol):
    """Loads and places a catalog; CatalogFaultsError when it has faults."""

    def __call__(self, source: CatalogText, now: datetime) -> Planned:
        """Plan as of `now`."""
        ...


class Models(Protocol):
    """Models and data, as far as the controller asks about them."""

    def missing_inputs(self, job: Job, catalog: Catalog, *, date: str | None = None, fresh: bool = False) -> str:
        """What a job lacks to start, for a day (YYYY-MM-DD) or any, as one line; "" = nothing. `fresh` = look now."""
        ...

    def path(self, card: ModelCard, storage: str) -> str:
        """Local folder of a model; InputError when it is not there."""
        ...


def choices(placement: Placement) -> tuple[Choice, ...]:
    """The choice and its fallbacks that run on the cluster's own nodes, best first, each offer once."""
    first = (placement.chosen,) if placement.chosen else ()
    unique = {choice.offer: choice for choice in reversed((*first, *placement.candidates[:FALLBACKS]))}
    return tuple(choice for choice in reversed(unique.values()) if choice.market is not Market.SERVERLESS)
