"""What nodes were paid for, and who was seen on them."""

from collections.abc import Iterable
from datetime import timedelta

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from orchestrator.ledger.tables import node_intervals, uses
from orchestrator.model.instant import from_iso, to_iso
from orchestrator.model.node import NodeInterval
from orchestrator.model.offer import Market
from orchestrator.model.run import Use

LOOK = timedelta(seconds=10)
"""Looks follow each other in two to a few seconds; a longer gap says nothing about when somebody left."""


def record_intervals(connection: Connection, intervals: Iterable[NodeInterval]) -> tuple[NodeInterval, ...]:
    """Add intervals or bring their ends up to date; the price of a recorded interval never changes.

    Returns those that are new or ended since they were last recorded.
    """
    query = select(node_intervals.c.node_id, node_intervals.c.started_at, node_intervals.c.ended_at)
    known = {(row.node_id, row.started_at): row.ended_at for row in connection.execute(query)}
    absent = object()
    changed = tuple(
        interval
        for interval in intervals
        if known.get((interval.node_id, interval.started_at), absent) != interval.ended_at
    )
    for interval in changed:
        row = {
            "node_id": interval.node_id,
            "started_at": interval.started_at,
            "ended_at": interval.ended_at,
            "end_reason": interval.end_reason,
            "instance_type": interval.instance_type,
            "accelerator": interval.accelerator,
            "market": interval.market.value,
            "zone": interval.zone,
            "price_usd_per_hour": interval.price_usd_per_hour,
            "on_demand_usd_per_hour": interval.on_demand_usd_per_hour,
            "emulated": interval.emulated,
        }
        statement = upsert(node_intervals).values(row)
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=["node_id", "started_at"],
                set_={"ended_at": statement.excluded.ended_at, "end_reason": statement.excluded.end_reason},
            )
        )
    return changed


def all_intervals(connection: Connection) -> tuple[NodeInterval, ...]:
    """Every node interval, by start."""
    query = select(node_intervals).order_by(node_intervals.c.started_at, node_intervals.c.node_id)
    return tuple(
        NodeInterval(
            node_id=row.node_id,
            instance_type=row.instance_type,
            accelerator=row.accelerator,
            market=Market(row.market),
            zone=row.zone,
            price_usd_per_hour=row.price_usd_per_hour,
            on_demand_usd_per_hour=row.on_demand_usd_per_hour,
            started_at=row.started_at,
            ended_at=row.ended_at,
            end_reason=row.end_reason,
            emulated=row.emulated,
        )
        for row in connection.execute(query)
    )


def record_uses(connection: Connection, seen: Iterable[tuple[str, str, str, str]], at: str) -> None:
    """Note who is on which node now: (job, kind, consumer, node id).

    Who is gone counts as there until this look, at most LOOK after it was last seen: on average it came as much before
    it was first seen. Who was seen before and is seen now counts as there in between, also when nobody looked for long.
    """
    now = set(seen)
    open_uses = connection.execute(select(uses).where(uses.c.still)).all()
    known = {(row.job, row.kind, row.consumer, row.node_id): row for row in open_uses}
    for key, row in known.items():
        until = at if key in now else to_iso(min(from_iso(at), from_iso(row.until) + LOOK))
        connection.execute(update(uses).where(uses.c.id == row.id).values(until=until, still=key in now))
    for job, kind, consumer, node_id in sorted(now - known.keys()):
        row = {"job": job, "kind": kind, "consumer": consumer, "node_id": node_id}
        connection.execute(insert(uses).values({**row, "since": at, "until": at, "still": True}))


def all_uses(connection: Connection) -> tuple[Use, ...]:
    """Every use of a node, by start."""
    query = select(uses).order_by(uses.c.since, uses.c.id)
    return tuple(
        Use(
            job=row.job,
            kind=row.kind,
            consumer=row.consumer,
            node_id=row.node_id,
            since=row.since,
            until=row.until,
            still=row.still,
        )
        for row in connection.execute(query)
    )
