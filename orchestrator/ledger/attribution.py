"""Who pays for a node: its time is shared out among those seen on it, and what nobody used is idle. Pure and exact.

A node's start belongs to its first user; later gaps and the time after the last use are idle.

For each node, the amounts of its users and of idleness sum to exactly what the node cost.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from orchestrator.model.instant import from_iso
from orchestrator.model.node import NodeInterval
from orchestrator.model.run import Use

MICRO_USD = Decimal("0.000001")
"""Amounts are whole millionths of a dollar; a second of a $4/h node is about a thousand of them."""

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One user's part of one node interval; `consumer` "" = nobody: the node was idle.

    `node_seconds` is its share of the node's time: of two users at once each has half. `on_demand_usd` is the same
    share at the on-demand price.
    """

    job: str
    kind: str
    consumer: str
    node_id: str
    node_seconds: float
    usd: Decimal
    on_demand_usd: Decimal
    emulated: bool


_Owner = tuple[str, str, str]
_IDLE: _Owner = ("", "", "")


def attribute(intervals: Sequence[NodeInterval], uses: Iterable[Use], now: datetime) -> tuple[Charge, ...]:
    """Charges of all node intervals up to `now`, by node, then by job and consumer."""
    by_node: dict[str, list[Use]] = {}
    for use in uses:
        by_node.setdefault(use.node_id, []).append(use)
    charges: list[Charge] = []
    for interval in sorted(intervals, key=lambda one: (one.node_id, one.started_at)):
        charges.extend(_charges(interval, by_node.get(interval.node_id, ()), now))
    return tuple(charges)


def cost_usd(interval: NodeInterval, now: datetime) -> tuple[Decimal, Decimal]:
    """What a node interval cost up to `now`, and what it would have cost on demand, in whole micro-dollars."""
    seconds = Fraction(_span(interval, now)[1] - _span(interval, now)[0], 1_000_000)
    return (
        _usd(round(seconds * Fraction(interval.price_usd_per_hour) / 3600 * 1_000_000)),
        _usd(round(seconds * Fraction(interval.on_demand_usd_per_hour) / 3600 * 1_000_000)),
    )


def _charges(interval: NodeInterval, uses: Sequence[Use], now: datetime) -> Iterable[Charge]:
    start, end = _span(interval, now)
    shares = _shares(start, end, _with_start(interval, uses))
    owners = sorted(shares)
    paid, on_demand = cost_usd(interval, now)
    paid_parts = _split(_micros(paid), [shares[owner] for owner in owners])
    on_demand_parts = _split(_micros(on_demand), [shares[owner] for owner in owners])
    for owner, paid_part, on_demand_part in zip(owners, paid_parts, on_demand_parts, strict=True):
        job, kind, consumer = owner
        yield Charge(
            job=job,
            kind=kind,
            consumer=consumer,
            node_id=interval.node_id,
            node_seconds=float(shares[owner] / 1_000_000),
            usd=_usd(paid_part),
            on_demand_usd=_usd(on_demand_part),
            emulated=interval.emulated,
        )


def _with_start(interval: NodeInterval, uses: Sequence[Use]) -> Sequence[Use]:
    """Boot, image and model are loaded for a node's first user, who pays from the start."""
    if not uses:
        return uses
    first = min(uses, key=lambda use: (use.since, use.consumer))
    return [replace(first, since=min(first.since, interval.started_at)), *(use for use in uses if use is not first)]


def _span(interval: NodeInterval, now: datetime) -> tuple[int, int]:
    """Begin and end in microseconds since the epoch; a node that still runs has been paid for until now."""
    start = _micros_of(from_iso(interval.started_at))
    end = _micros_of(from_iso(interval.ended_at)) if interval.ended_at else _micros_of(now)
    return start, max(start, end)


def _shares(start: int, end: int, uses: Sequence[Use]) -> dict[_Owner, Fraction]:
    """Microseconds of [start, end) by owner: what n use at once counts 1/n for each, what nobody uses is idle."""
    changes: dict[int, list[tuple[_Owner, int]]] = {start: [], end: []}
    for use in uses:
        since = min(max(_micros_of(from_iso(use.since)), start), end)
        until = min(max(_micros_of(from_iso(use.until)), since), end)
        owner = (use.job, use.kind, use.consumer)
        changes.setdefault(since, []).append((owner, 1))
        changes.setdefault(until, []).append((owner, -1))
    shares: dict[_Owner, Fraction] = {}
    present: dict[_Owner, int] = {}
    instants = sorted(changes)
    for begin, finish in pairwise(instants):
        for owner, step in changes[begin]:
            present[owner] = present.get(owner, 0) + step
        owners = [owner for owner, count in present.items() if count > 0] or [_IDLE]
        for owner in owners:
            shares[owner] = shares.get(owner, Fraction(0)) + Fraction(finish - begin, len(owners))
    return shares


def _split(total: int, weights: Sequence[Fraction]) -> list[int]:
    """`total` in whole parts proportional to the weights (largest remainder); the parts sum to `total`."""
    whole = sum(weights)
    if not whole:
        return [total, *(0 for _ in weights[1:])] if weights else []
    exact = [total * weight / whole for weight in weights]
    parts = [int(part) for part in exact]
    by_remainder = sorted(range(len(parts)), key=lambda i: (parts[i] - exact[i], i))
    for i in by_remainder[: total - sum(parts)]:
        parts[i] += 1
    return parts


def _micros_of(at: datetime) -> int:
    return (at - datetime.fromtimestamp(0, at.tzinfo)) // _MICROSECOND


def _micros(usd: Decimal) -> int:
    return int(usd / MICRO_USD)


def _usd(micros: int) -> Decimal:
    return micros * MICRO_USD
