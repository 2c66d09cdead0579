"""What a new price list changes against the one before. Pure."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from orchestrator.model.offer import PriceBook, RefusedOffer

MOST_MOVES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """An offer whose price changed; USD per hour."""

    name: str
    before_usd_per_hour: Decimal
    after_usd_per_hour: Decimal

    @property
    def share(self) -> Decimal:
        """The change as a share of the price before: -0.5 = half the price."""
        return self.after_usd_per_hour / self.before_usd_per_hour - 1


def biggest_moves(before: PriceBook, after: PriceBook, most: int = MOST_MOVES) -> tuple[Move, ...]:
    """The offers of both lists whose price changed by the largest share, up or down; ties by name."""
    old = {offer.name: offer.price_usd_per_hour for offer in before.offers}
    moves = [
        Move(name=offer.name, before_usd_per_hour=old[offer.name], after_usd_per_hour=offer.price_usd_per_hour)
        for offer in after.offers
        if offer.name in old and old[offer.name] != offer.price_usd_per_hour
    ]
    return tuple(sorted(moves, key=lambda move: (-abs(move.share), move.name))[:most])


def kept_by_region(book: PriceBook) -> dict[str, dict[str, int]]:
    """Number of offers by region and market."""
    counts = Counter((offer.region, offer.market.value) for offer in book.offers)
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for (region, market), count in sorted(counts.items()):
        found[region][market] = count
    return dict(found)


def refused_by_reason(refused: Sequence[RefusedOffer]) -> dict[str, list[RefusedOffer]]:
    """Refusals by reason, the most frequent reason first."""
    found: dict[str, list[RefusedOffer]] = defaultdict(list)
    for row in refused:
        found[row.reason].append(row)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))
