"""Which of a job's ranked offers to try, given where capacity did not come lately."""

import math
from collections.abc import Sequence
from datetime import datetime

from orchestrator.model.instant import from_iso
from orchestrator.policy.observed import PoolFailure

HALF_LIFE_S = 600.0
"""A failure counts half after ten minutes: spot pools recover within minutes to hours, and trying again is cheap."""

AVOID_ABOVE = 0.5
"""An offer whose failure score exceeds this is passed over while a later one is free of blame."""


def failure_score(offer: str, failures: Sequence[PoolFailure], now: datetime) -> float:
    """Sum over the offer's failures of 0.5^(age / HALF_LIFE_S); 0 = none known, 1 = one just now."""
    ages_s = ((now - from_iso(failure.at)).total_seconds() for failure in failures if failure.offer == offer)
    return sum(math.exp2(-max(age_s, 0.0) / HALF_LIFE_S) for age_s in ages_s)


def pick(
    offers: Sequence[str], failures: Sequence[PoolFailure], now: datetime, *, leaving: str | None = None
) -> str | None:
    """The best-ranked offer with a failure score of at most AVOID_ABOVE, else the least blamed; never `leaving`.

    None when no offer is left. Ties keep the plan's order.
    """
    open_to_us = [offer for offer in dict.fromkeys(offers) if offer != leaving]
    scores = {offer: failure_score(offer, failures, now) for offer in open_to_us}
    blameless = next((offer for offer in open_to_us if scores[offer] <= AVOID_ABOVE), None)
    return blameless or min(open_to_us, key=scores.__getitem__, default=None)
