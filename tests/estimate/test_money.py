"""Money and interruptions."""

import math

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
    assert money.node_usd(3600.0, 0.35, 2) == pytest.approx(0.7)


def test_no_interruptions_add_nothing():
    assert expected_s(run(interruptions_per_hour=0.0)) == 36_000.0


def test_half_an_interruption_in_ten_hours():
    # 10 h x 0.05/h = 0.5 interruptions of 480 s each: 240 s, and a little for interrupted restarts.
    assert expected_s(run()) == pytest.approx(36_240, rel=0.001)


def test_training_stops_for_every_node_and_batch_for_its_own():
    assert expected_s(run(nodes=8)) > expected_s(run(nodes=8, lockstep=False)) == expected_s(run())


def test_without_progress_there_is_no_number():
    assert math.isnan(expected_s(run(interruptions_per_hour=10.0)))


@given(
    rate=st.floats(0, 5),
    redo=st.floats(0, 600),
    restart=st.floats(0, 100),
    work=st.floats(0, 1e6),
    nodes=st.integers(1, 8),
)
def test_expected_time_is_never_below_the_work(rate, redo, restart, work, nodes):
    found = expected_s(run(interruptions_per_hour=rate, redo_s=redo, restart_s=restart, work_s=work, nodes=nodes))
    assert math.isnan(found) or work <= found < float("inf")


def test_a_checkpoint_costs_storage_and_requests():
    # 1 GB kept three times for a month: 3 x 0.023; written every hour in 16 parts: 730 x 15.6 x 5e-6.
    found = money.checkpoint_usd(1.0, 3, 3600.0, 730 * 3600.0)
    assert float(found) == pytest.approx(3 * 0.023 + 730 * 15.625 * 0.000005, abs=1e-6)


def test_egress_of_a_service():
    # 10 req/s x 200 tokens x 5 B = 26 GB a month at 0.09 USD.
    assert float(money.egress_usd_per_month(10.0, 200.0)) == pytest.approx(26.28 * 0.09, rel=0.001)


def test_a_new_node_boots_and_loads():
    assert money.start_s(16.0, False) == 90.0 + 60.0 + 32.0
    assert money.start_s(0.0, True) == 90.0 + 20.0


def test_a_load_balancer_costs_hours_and_what_it_carries():
    # 10 req/s x 500 tokens x 5 B = 90 MB an hour: requests count, 0.4 units.
    found = money.balancer_usd_per_month(10.0, 500.0, 0.5)
    assert found == pytest.approx(730 * (0.0225 * 0.5 + 0.008 * 0.4))
    # 10 req/s x 10,000 tokens x 5 B = 1.8 GB an hour.
    assert money.balancer_usd_per_month(10.0, 10_000.0, 0.0) == pytest.approx(730 * 0.008 * 1.8)


@pytest.mark.parametrize(
    ("same_zone", "same_region", "usd"), [(True, True, 0.0), (False, True, 2.0), (False, False, 2.0)]
)
def test_transfer_is_free_inside_a_zone(same_zone, same_region, usd):
    assert money.transfer_usd(100.0, same_zone, same_region) == pytest.approx(usd)


def test_an_image_is_stored_while_it_is_needed():
    assert money.image_usd(False, money.SECONDS_PER_MONTH) == pytest.approx(0.6)
    assert money.image_usd(True, money.SECONDS_PER_MONTH / 2) == pytest.approx(0.1)
