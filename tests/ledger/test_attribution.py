"""Every node second and every micro-dollar is somebody's, and never two people's."""

from collections.abc import Callable
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.ledger.attribution import MICRO_USD, attribute, cost_usd
from orchestrator.model.instant import from_iso
from orchestrator.model.node import NodeInterval
from orchestrator.model.run import Use

NOW = from_iso("2026-11-30T12:00Z")


def by_consumer(intervals: list[NodeInterval], uses: list[Use]) -> dict[str, tuple[float, Decimal]]:
    return {one.consumer: (one.node_seconds, one.usd) for one in attribute(intervals, uses, NOW)}


def test_an_unused_node_is_idle(interval: Callable[..., NodeInterval]) -> None:
    assert by_consumer([interval(0, 100)], []) == {"": (100.0, Decimal("0.010000"))}


def test_use_and_idle_time_are_told_apart(interval: Callable[..., NodeInterval], use: Callable[..., Use]) -> None:
    found = by_consumer([interval(0, 100)], [use(0, 30), use(80, 100, run="run-2")])
    assert found == {
        "run-1": (30.0, Decimal("0.003000")),
        "run-2": (20.0, Decimal("0.002000")),
        "": (50.0, Decimal("0.005000")),
    }


def test_the_start_of_a_node_belongs_to_its_first_user(
    interval: Callable[..., NodeInterval], use: Callable[..., Use]
) -> None:
    found = by_consumer([interval(0, 100)], [use(60, 100, run="run-2"), use(20, 60)])
    assert found == {"run-1": (60.0, Decimal("0.006000")), "run-2": (40.0, Decimal("0.004000"))}


def test_users_at_once_share(interval: Callable[..., NodeInterval], use: Callable[..., Use]) -> None:
    found = by_consumer([interval(0, 100)], [use(0, 100), use(50, 100, run="run-2")])
    assert found == {"run-1": (75.0, Decimal("0.007500")), "run-2": (25.0, Decimal("0.002500"))}


def test_one_run_on_a_node_twice_at_once_counts_once(
    interval: Callable[..., NodeInterval], use: Callable[..., Use]
) -> None:
    assert by_consumer([interval(0, 100)], [use(0, 60), use(40, 100)]) == {"run-1": (100.0, Decimal("0.010000"))}


def test_only_time_that_was_paid_for_counts(interval: Callable[..., NodeInterval], use: Callable[..., Use]) -> None:
    """Ray notices the end of a killed node seconds late: its actors seem to live on."""
    assert by_consumer([interval(10, 110)], [use(0, 125)]) == {"run-1": (100.0, Decimal("0.010000"))}


def test_a_running_node_counts_until_now(interval: Callable[..., NodeInterval]) -> None:
    assert by_consumer([interval(12 * 3600 - 100, None)], []) == {"": (100.0, Decimal("0.010000"))}


def test_uses_of_other_nodes_do_not_matter(interval: Callable[..., NodeInterval], use: Callable[..., Use]) -> None:
    assert set(by_consumer([interval(0, 100)], [use(0, 100, node="other")])) == {""}


def test_the_on_demand_price_is_applied_to_the_same_seconds(
    interval: Callable[..., NodeInterval], use: Callable[..., Use]
) -> None:
    (charge,) = attribute([interval(0, 100)], [use(0, 100)], NOW)
    assert (charge.usd, charge.on_demand_usd) == (Decimal("0.010000"), Decimal("0.025000"))


times = st.floats(min_value=0, max_value=12 * 3600, allow_nan=False).map(lambda value: round(value, 6))
names = st.sampled_from(["n1", "n2", "n3"])


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[float, float, str, str]]:
    found = draw(st.lists(st.tuples(times, times, names, st.sampled_from(["a", "b", "c"])), max_size=12))
    return [(min(start, end), max(start, end), node, run) for start, end, node, run in found]


@settings(deadline=None)
@given(histories(), histories(), st.decimals(min_value="0.0001", max_value="98", places=6))
def test_all_charges_of_a_node_sum_to_its_cost(
    interval: Callable[..., NodeInterval],
    use: Callable[..., Use],
    lives: list[tuple[float, float, str, str]],
    visits: list[tuple[float, float, str, str]],
    price: Decimal,
) -> None:
    """Exactly, in money; and in seconds up to the rounding of floats."""
    intervals = [
        interval(start, end, node=f"{node}-{n}", price=str(price)) for n, (start, end, node, _) in enumerate(lives)
    ]
    uses = [
        use(start, end, node=one.node_id, run=run)
        for start, end, node, run in visits
        for one in intervals
        if one.node_id.startswith(node)
    ]
    charges = attribute(intervals, uses, NOW)
    for one in intervals:
        mine = [charge for charge in charges if charge.node_id == one.node_id]
        paid, on_demand = cost_usd(one, NOW)
        assert sum((charge.usd for charge in mine), Decimal(0)) == paid
        assert sum((charge.on_demand_usd for charge in mine), Decimal(0)) == on_demand
        assert all(charge.usd >= 0 and charge.usd % MICRO_USD == 0 for charge in mine)
        life_s = (from_iso(one.ended_at or "") - from_iso(one.started_at)).total_seconds()
        assert abs(sum(charge.node_seconds for charge in mine) - life_s) < 1e-6
