"""A ledger on disk and builders for what goes into it."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from orchestrator.ledger.database import Database, open_database
from orchestrator.model.node import NodeInterval
from orchestrator.model.offer import Market
from orchestrator.model.run import Use


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    found = open_database(tmp_path / "ledger.db")
    yield found
    found.close()


@pytest.fixture(scope="session")
def interval() -> Callable[..., NodeInterval]:
    """Builds the interval of a spot node at 0.36 USD/h (on-demand 0.90), from second to second of a day."""

    def build(
        start: float, end: float | None, *, node: str = "n", price: str = "0.36", reason: str = "idle"
    ) -> NodeInterval:
        return NodeInterval(
            node_id=node,
            instance_type="g6.xlarge",
            accelerator="L4",
            market=Market.SPOT,
            zone="z",
            price_usd_per_hour=Decimal(price),
            on_demand_usd_per_hour=Decimal("0.90"),
            started_at=second(start),
            ended_at=None if end is None else second(end),
            end_reason="" if end is None else reason,
            emulated=True,
        )

    return build


@pytest.fixture(scope="session")
def use() -> Callable[..., Use]:
    """Builds a use of a node by a run, from second to second of the same day."""

    def build(start: float, end: float, *, run: str = "run-1", node: str = "n", job: str = "job") -> Use:
        return Use(job=job, kind="train", consumer=run, node_id=node, since=second(start), until=second(end))

    return build


@pytest.fixture(scope="session", name="second")
def second_fixture() -> Callable[[float], str]:
    """ISO text of a second of the day 2026-11-30."""
    return second


def second(of_day: float) -> str:
    micros = round(of_day * 1_000_000)
    hours, rest = divmod(micros, 3_600_000_000)
    minutes, rest = divmod(rest, 60_000_000)
    return f"2026-11-30T{hours:02}:{minutes:02}:{rest // 1_000_000:02}.{rest % 1_000_000:06}Z"
