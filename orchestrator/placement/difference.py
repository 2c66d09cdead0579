"""What changed from one plan to another, in the terms of `plan --json`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One job or part ("copilot/small") that is not as before; None = it was, or is, not there or not placed.

    `usd` is the expected cost of a run, or of a month for a service.
    """

    name: str
    before: str | None
    after: str | None
    usd_before: float | None
    usd_after: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Changes by name, and the cost of the whole plan in USD a month before and after."""

    changes: tuple[Change, ...]
    usd_per_month_before: float
    usd_per_month_after: float


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> Difference:
    """Compare two plans as `plan_as_dict` makes them. KeyError or TypeError where `before` is not such a plan."""
    old, new = dict(_pieces(before)), dict(_pieces(after))
    changes = (
        _change(name, old.get(name), new.get(name)) for name in sorted(old | new) if old.get(name) != new.get(name)
    )
    return Difference(
        changes=tuple(changes),
        usd_per_month_before=float(before["objective_usd_per_month"]),
        usd_per_month_after=float(after["objective_usd_per_month"]),
    )


def difference_as_dict(found: Difference) -> dict[str, Any]:
    """JSON-ready values."""
    return {
        "objective_usd_per_month": {"before": found.usd_per_month_before, "after": found.usd_per_month_after},
        "changes": {
            change.name: {
                "before": change.before,
                "after": change.after,
                "expected_usd": {"before": change.usd_before, "after": change.usd_after},
            }
            for change in found.changes
        },
    }


_Piece = tuple[str | None, float | None]


def _pieces(plan: Mapping[str, Any]) -> Iterator[tuple[str, _Piece]]:
    for name, job in plan["jobs"].items():
        parts = job.get("parts") or {None: job}
        for part, answer in parts.items():
            yield f"{name}/{part}" if part else name, _piece(answer["chosen"])


def _piece(chosen: Mapping[str, Any] | None) -> _Piece:
    if chosen is None:
        return None, None
    pools = " + ".join(f"{pool['instances']:g} x {pool['offer']}" for pool in chosen["pools"])
    return pools, float(chosen["expected_usd"])


def _change(name: str, before: _Piece | None, after: _Piece | None) -> Change:
    old, new = before or (None, None), after or (None, None)
    return Change(name=name, before=old[0], after=new[0], usd_before=old[1], usd_after=new[1])
