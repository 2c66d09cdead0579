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


def grouped(refusals: Iterable[tuple[str, Refusal]]) -> tuple[Rejection, ...]:
    """One rejection per reason and figure, with the names of all its offers; sorted by reason, then figures."""
    listed = tuple(refusals)
    nearest: dict[Refusal, Refusal] = {}
    for _, refusal in listed:
        key = _bound(refusal)
        nearest[key] = min(nearest.get(key, refusal), refusal, key=_figures)
    groups: dict[Refusal, list[str]] = {}
    for offer, refusal in listed:
        groups.setdefault(nearest[_bound(refusal)], []).append(offer)
    return tuple(
        Rejection(
            reason=refusal.reason,
            needed=refusal.needed,
            available=refusal.available,
            unit=refusal.unit,
            offers=tuple(sorted(offers)),
        )
        for refusal, offers in sorted(groups.items(), key=lambda item: _order(item[0]))
    )


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
