"""Where capacity did not come."""

from sqlalchemy import Connection, insert, select

from orchestrator.ledger.tables import pool_failures
from orchestrator.policy.observed import PoolFailure


def record_failure(connection: Connection, offer: str, at: str, waited_s: float) -> None:
    """Capacity of the offer did not come within `waited_s` seconds."""
    connection.execute(insert(pool_failures).values(offer=offer, at=at, waited_s=waited_s))


def failures_since(connection: Connection, at: str) -> tuple[PoolFailure, ...]:
    """Failures from that instant on (older ones have decayed), oldest first."""
    query = select(pool_failures).where(pool_failures.c.at >= at).order_by(pool_failures.c.id)
    return tuple(PoolFailure(offer=row.offer, at=row.at) for row in connection.execute(query))
