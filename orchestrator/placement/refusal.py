"""A refusal: why one offer does not suit one piece of work; refusals with the same figures are reported as one
rejection."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from orchestrator.model.plan import Rejection

Figure = float | str | None

MAX_PRICE, BUDGET, QUOTA, WORKERS = "max-price", "budget", "quota", "max-workers"
NEAREST_AVAILABLE = frozenset({MAX_PRICE})
NEAREST_NEEDED = frozenset({BUDGET, QUOTA, WORKERS})
"""Reasons against a bound, whose figures differ from offer to offer: one rejection with the figure nearest to the
bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One reason with what was needed and what the offer has, both in `unit`."""

    reason: str
    needed: Figure
    available: Figure
    unit: str = ""


def figure(value: float) -> float:
    """A figure for people: four significant digits, so that equal causes have equal figures."""
    return float(f"{value:.4g}")


Refusals = dict[Refusal, list[str]]
"""Names of offers by why they are refused."""


def listed(refusals: Iterable[tuple[str, Refusal]]) -> Refusals:
    """Refusals one by one, gathered."""
    offers: Refusals = {}
    for offer, refusal in refusals:
        offers.setdefault(refusal, []).append(offer)
    return offers


def grouped(*refusals: Refusals) -> tuple[Rejection, ...]:
    """One rejection per reason and figure, with the names of all its offers; sorted by reason, then figures."""
    offers = [(refusal, names) for each in refusals for refusal, names in each.items()]
    nearest: dict[Refusal, Refusal] = {}
    for refusal, _ in offers:
        key = _bound(refusal)
        nearest[key] = min(nearest.get(key, refusal), refusal, key=_figures)
    groups: Refusals = {}
    for refusal, names in offers:
        groups.setdefault(nearest[_bound(refusal)], []).extend(names)
    return tuple(
        Rejection(
            reason=refusal.reason,
            needed=refusal.needed,
            available=refusal.available,
            unit=refusal.unit,
            offers=tuple(sorted(names)),
        )
        for refusal, names in sorted(groups.items(), key=lambda item: _order(item[0]))
    )


def merged(one: tuple[Rejection, ...], other: tuple[Rejection, ...]) -> tuple[Rejection, ...]:
    """Rejections of two groups of offers in one list; those that say the same become one."""
    found: dict[Refusal, Rejection] = {}
    for each in (*one, *other):
        key = Refusal(reason=each.reason, needed=each.needed, available=each.available, unit=each.unit)
        known = found.get(key)
        found[key] = each if known is None else replace(known, offers=tuple(sorted((*known.offers, *each.offers))))
    return tuple(found[key] for key in sorted(found, key=_order))


def _bound(refusal: Refusal) -> Refusal:
    """The refusal without the figure in which offers of one group may differ."""
    if refusal.reason in NEAREST_AVAILABLE:
        return replace(refusal, available=None)
    return replace(refusal, needed=None) if refusal.reason in NEAREST_NEEDED else refusal


def _figures(refusal: Refusal) -> tuple[str, str]:
    return _text(refusal.needed), _text(refusal.available)


def _order(refusal: Refusal) -> tuple[str, str, str, str]:
    return refusal.reason, *_figures(refusal), refusal.unit


def _text(value: Figure) -> str:
    return f"{value:020.6f}" if isinstance(value, int | float) else value or ""
