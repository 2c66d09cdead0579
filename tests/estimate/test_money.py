"""Money and interruptions."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.estimate import money
from orchestrator.estimate.money import Interruptible, expected_s


def run(**changes) -> Interruptible:
    given = {
        "work_s": 36_000.0, "nodes": 1, "interruptions_per_hour": 0.05, "redo_s": 300.0, "restart_s": 180.0,
        "lockstep": True,
    } | changes  # fmt: skip
    return Interruptible(**given)


def test_an_hour_of_two_nodes():
    assert money.usd(3600.0, Decimal("0.35"), 2) == Decimal("0.700000")


def test_no_interruptions_add_nothing():
    assert expected_s(run(interruptions_per_hour=0.0)) == 36_000.0


def test_half_an_interruption_in_ten_hours():
    # 10 h x 0.05/h = 0.5 interruptions of 480 s each: 240 s, and a little for interrupted restarts.
    assert expected_s(run()) == pytest.approx(36_240, rel=0.001)


def test_training_stops_for_every_node_and_batch_for_its_own():
    assert expected_s(run(nodes=8)) > expected_s(run(nodes=8, lockstep=False)) == expected_s(run())


def test_no_progress_is_none_and_not_a_number():
    assert expected_s(run(interruptions_per_hour=10.0)) is None


@given(
    rate=st.floats(0, 5),
    redo=st.floats(0, 600),
    restart=st.floats(0, 100),
    work=st.floats(0, 1e6),
    nodes=st.integers(1, 8),
)
def test_expected_time_is_never_below_the_work(rate, redo, restart, work, nodes):
    found = expected_s(run(interruptions_per_hour=rate, redo_s=redo, restart_s=restart, work_s=work, nodes=nodes))
    assert found is None or work <= found < float("inf")


def test_a_checkpoint_costs_storage_and_requests():
    # 1 GB kept three times for a month: 3 x 0.023; written every hour in 16 parts: 730 x 15.6 x 5e-6.
    found = money.checkpoint_usd(1.0, 3, 3600.0, 730 * 3600.0)
    assert float(found) == pytest.approx(3 * 0.023 + 730 * 15.625 * 0.000005, abs=1e-6)


def test_egress_of_a_service():
    # 10 req/s x 200 tokens x 5 B = 26 GB a month at 0.09 USD.
    assert float(money.egress_usd_per_month(10.0, 200.0)) == pytest.approx(26.28 * 0.09, rel=0.001)


def test_a_new_node_boots_and_loads():
    assert money.load_s(16.0) == 150.0 + 32.0
