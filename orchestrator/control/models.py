"""Whether models and data are there, asked of storage not more often than needed."""

from collections.abc import Callable
from datetime import datetime, timedelta

from orchestrator.catalog import missing_inputs
from orchestrator.model.card import ModelCard
from orchestrator.model.catalog import Catalog
from orchestrator.model.job import Job

FRESH = timedelta(seconds=10)
"""How long an answer of storage counts: a service starts that much later than its model appears, at worst."""


class StoredModels:
    """Answers from storage; `resolve` gives the local folder of a model (`orchestrator.runtime.model_source`)."""

    def __init__(self, resolve: Callable[[ModelCard, str], str], clock: Callable[[], datetime]) -> None:
        self._resolve = resolve
        self._clock = clock
        self._missing: dict[tuple[Job, str | None], tuple[datetime, str]] = {}
        self._paths: dict[ModelCard, tuple[datetime, str]] = {}

    def missing_inputs(self, job: Job, catalog: Catalog, *, date: str | None = None, fresh: bool = False) -> str:
        """What a job lacks to start, for a day (YYYY-MM-DD) or any, as one line; "" = nothing.

        The answer is at most FRESH old, or from now if `fresh`.
        """
        now = self._clock()
        known = self._missing.get((job, date))
        if fresh or known is None or now - known[0] > FRESH:
            known = self._missing[job, date] = (now, "; ".join(missing_inputs(job, catalog, date=date)))
        return known[1]

    def path(self, card: ModelCard, storage: str) -> str:
        """Local folder of a model, at most FRESH old; InputError when it is not there."""
        now = self._clock()
        known = self._paths.get(card)
        if known is None or now - known[0] > FRESH:
            known = self._paths[card] = (now, self._resolve(card, storage))
        return known[1]
