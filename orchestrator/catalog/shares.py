"""How the requests of a service divide over its parts, before anything was measured."""

from collections.abc import Mapping

from orchestrator.model.job import Route

FIRST_OF_TWO = 0.6
"""Share of the first rule's part where two are routed: 60% of traffic went to the small model in the report that
the routing figures come from (under 50 words → 3B model)."""


def traffic_share(
    parts: tuple[str, ...], routes: tuple[Route, ...], written: Mapping[str, float]
) -> tuple[tuple[str, float], ...]:
    """Share of each part, in the order of `parts`; they sum to 1. Written shares stand, the others divide the rest."""
    if written:
        rest = [part for part in parts if part not in written]
        each = max(0.0, 1.0 - sum(written.values())) / len(rest) if rest else 0.0
        return _normalised(tuple((part, written.get(part, each)) for part in parts))
    routed = tuple(dict.fromkeys(route.to for route in routes))
    if len(routed) == 2:
        assumed = {routed[0]: FIRST_OF_TWO, routed[1]: 1.0 - FIRST_OF_TWO}
        return tuple((part, assumed.get(part, 0.0)) for part in parts)
    return tuple((part, 1.0 / len(routed) if part in routed else 0.0) for part in parts)


def _normalised(shares: tuple[tuple[str, float], ...]) -> tuple[tuple[str, float], ...]:
    total = sum(share for _, share in shares)
    return tuple((part, share / total) for part, share in shares)
