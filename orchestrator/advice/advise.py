"""`advise`: all advice about a catalog at these prices, in a fixed order."""

from collections.abc import Callable, Iterator, Sequence

from orchestrator.advice.advice import Advice, Topic
from orchestrator.advice.buy_or_rent import buy_or_rent
from orchestrator.advice.card_size import card_size
from orchestrator.advice.cost_per_run import cost_per_run
from orchestrator.advice.distil import distil
from orchestrator.advice.idle import idle
from orchestrator.advice.overheads import edge, overheads
from orchestrator.advice.quantise import quantise
from orchestrator.advice.serverless import serverless
from orchestrator.advice.situation import Situation, situation
from orchestrator.advice.tier import tier
from orchestrator.advice.traffic import Traced
from orchestrator.advice.training_hardware import training_hardware
from orchestrator.estimate.calibration import Experience
from orchestrator.model.catalog import Catalog
from orchestrator.model.offer import PriceBook

TOPICS: tuple[Callable[[Situation], Iterator[Advice]], ...] = (
    cost_per_run,
    training_hardware,
    serverless,
    quantise,
    card_size,
    distil,
    edge,
    idle,
    buy_or_rent,
    overheads,
)
_ORDER = tuple(Topic)


def advise(
    catalog: Catalog,
    book: PriceBook,
    now: str,
    traffic: Traced | None = None,
    experience: Sequence[Experience] = (),
) -> tuple[Advice, ...]:
    """Advice by job, then part and topic; that about the whole catalog comes last.

    `now` is ISO 8601, `experience` what the ledger learnt from runs on real hardware, as in `place`.
    """
    found = situation(catalog, book, now, experience)
    given = [*tier(found, traffic), *(advice for topic in TOPICS for advice in topic(found))]
    return tuple(sorted(given, key=lambda each: (not each.job, each.job, each.part, _ORDER.index(each.topic))))
