"""The bill: what each run and service cost, what its time would have cost on demand, and what nobody used. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from orchestrator.ledger.attribution import Charge, attribute
from orchestrator.model.event import Event
from orchestrator.model.instant import from_iso, to_iso
from orchestrator.model.node import NodeInterval
from orchestrator.model.run import AttemptState, Run, Use

INTERRUPTED = "interrupted-"
MAX_LOST_S = timedelta(days=3650).total_seconds()
"""Ten years: no run lost more, whatever its driver says."""
SEEN_WITHIN = timedelta(seconds=60)
"""A run was hit by a node's end when it was last seen there at most this long before: the controller looks every few
seconds, Ray itself notices a killed node after about 14 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What one run, one service or idleness cost. `consumer` is the run id, the service, or "".

    `interruptions` counts nodes that were taken away from under it; `lost_s` is the work it had to repeat, as its
    driver measured; `state` and `attempts` are the run's ("" and 0 for services). Money in USD.
    """

    job: str
    kind: str
    consumer: str
    state: str
    attempts: int
    interruptions: int
    lost_s: float
    node_seconds: float
    usd: Decimal
    on_demand_usd: Decimal
    emulated: bool

    @property
    def saved_usd(self) -> Decimal:
        """On-demand price less price paid; negative if dearer."""
        return self.on_demand_usd - self.usd


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """All lines, idle time, and their sum, which is what the nodes cost. `as_of` is ISO 8601 UTC.

    With `emulated` in any line the money was not spent: it is what the same nodes would have cost.
    """

    as_of: str
    lines: tuple[Line, ...]
    idle: Line
    total: Line


def bill(
    intervals: Sequence[NodeInterval],
    uses: Sequence[Use],
    runs: Sequence[Run],
    events: Sequence[Event],
    now: datetime,
) -> Bill:
    """The bill up to `now`: a line per run (also one that never had a node) and per service, by job and begin."""
    charges = attribute(intervals, uses, now)
    of_run = {run.run_id: run for run in runs}
    owners = {(charge.job, charge.kind, charge.consumer) for charge in charges if charge.consumer}
    owners |= {(run.job, run.kind.value, run.run_id) for run in runs}
    hits = _interruptions(intervals, uses, of_run)
    lines = tuple(
        _line(
            (job, kind, consumer),
            [charge for charge in charges if charge.consumer == consumer],
            of_run.get(consumer),
            hits.get(consumer, 0),
            lost_s([event for event in events if event.run_id == consumer]),
        )
        for job, kind, consumer in sorted(owners)
    )
    idle = _line(("", "idle", ""), [charge for charge in charges if not charge.consumer], None, 0, 0.0)
    total = _line(("", "total", ""), charges, None, sum(hits.values()), sum(line.lost_s for line in lines))
    return Bill(as_of=to_iso(now), lines=lines, idle=idle, total=total)


def lost_s(events: Iterable[Event]) -> float:
    """Seconds of work repeated, as drivers reported (`lost_s` in the data of their `resumed` events), if credible."""
    values = (dict(event.data).get("lost_s", 0.0) for event in events if event.kind == "resumed")
    numbers = (value for value in values if isinstance(value, int | float) and not isinstance(value, bool))
    return sum(float(number) for number in numbers if 0 <= number <= MAX_LOST_S)


def _line(
    owner: tuple[str, str, str], charges: Sequence[Charge], run: Run | None, interruptions: int, lost: float
) -> Line:
    job, kind, consumer = owner
    return Line(
        job=job,
        kind=kind,
        consumer=consumer,
        state=run.state.value if run else "",
        attempts=sum(attempt.state is not AttemptState.PLANNED for attempt in run.attempts) if run else 0,
        interruptions=interruptions,
        lost_s=lost,
        node_seconds=sum(charge.node_seconds for charge in charges),
        usd=sum((charge.usd for charge in charges), Decimal(0)),
        on_demand_usd=sum((charge.on_demand_usd for charge in charges), Decimal(0)),
        emulated=any(charge.emulated for charge in charges) or bool(run and run.emulated),
    )


def _interruptions(intervals: Sequence[NodeInterval], uses: Sequence[Use], runs: Mapping[str, Run]) -> dict[str, int]:
    """By consumer, how many nodes were taken away while it used them; a run that was over by then lost nothing."""
    hits: dict[str, set[str]] = {}
    ends = {
        one.node_id: from_iso(one.ended_at)
        for one in intervals
        if one.ended_at is not None and one.end_reason.startswith(INTERRUPTED)
    }
    for use in uses:
        end = ends.get(use.node_id)
        run = runs.get(use.consumer)
        over = run is not None and run.ended_at is not None and end is not None and from_iso(run.ended_at) <= end
        if end is not None and not over and end - SEEN_WITHIN <= from_iso(use.until):
            hits.setdefault(use.consumer, set()).add(use.node_id)
    return {consumer: len(nodes) for consumer, nodes in hits.items()}
