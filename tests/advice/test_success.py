"""Cost per successful run, by hand, against reported figures, and as properties."""

import math
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from orchestrator.advice.success import (
    RunCost,
    even_engineer_hours,
    expected_attempts,
    success_probability,
    usd_per_run,
)

RATE = Decimal(180)


def run_cost(hardware: str, hours: float, machine_usd: str, engineer_hours: float, success: float = 1.0) -> RunCost:
    return RunCost(
        hardware=hardware, hours=hours, machine_usd=Decimal(machine_usd), engineer_hours=engineer_hours,
        engineer_usd_per_hour=RATE, success=success,
    )  # fmt: skip


# One fine-tune as practitioners report it, with a tenth of the fastest run's 6 hours spent by somebody: 0.6 h.
H100 = run_cost("8 x H100", 6.0, "980", 0.6)
A100 = run_cost("4 x A100", 14.0, "860", 1.4)
RTX4090 = run_cost("2 x 4090", 41.0, "470", 3.7 * 0.6)


def test_the_reported_runs_with_a_tenth_of_the_time_of_an_engineer():
    assert H100.usd_per_success == Decimal(1088)  # 980 + 0.6 x 180
    assert A100.usd_per_success == Decimal(1112)  # 860 + 1.4 x 180
    assert RTX4090.usd_per_success == Decimal("869.6")  # 470 + 2.22 x 180


def test_the_cheap_cards_lose_once_somebody_spends_an_hour_on_the_fast_run():
    even_h = even_engineer_hours(H100, RTX4090)
    assert even_h == pytest.approx(510 / (180 * 2.7))  # 1.05 h
    for hours, cheaper in ((1.0, True), (1.1, False)):
        fast, slow = run_cost("f", 6.0, "980", hours), run_cost("s", 41.0, "470", 3.7 * hours)
        assert (slow.usd_per_success < fast.usd_per_success) is cheaper


def test_the_reported_months_from_their_parts():
    assert usd_per_run((Decimal(34_600),), 3) == Decimal("11533.333333")
    assert usd_per_run((Decimal(40_000), Decimal(30_800)), 11) == Decimal("6436.363636")


def test_failed_runs_are_paid_as_well():
    assert run_cost("f", 6.0, "980", 0.6, success=0.8).usd_per_success == Decimal(1360)  # 1088 / 0.8


def test_every_interruption_begins_another_attempt():
    assert expected_attempts(0.05, 40.0) == 3.0
    assert expected_attempts(0.0, 40.0) == 1.0


@pytest.mark.parametrize(
    ("rate", "most_h", "restarts", "expected"),
    [
        pytest.param(0.1, None, True, 1.0, id="restarts without a limit"),
        pytest.param(0.1, None, False, math.exp(-1.0), id="does not restart"),
        pytest.param(0.1, 10.5, True, math.exp(-1.0), id="no room for an interruption"),
        pytest.param(0.1, 11.5, True, 2.0 * math.exp(-1.0), id="room for one"),
        pytest.param(0.1, 12.5, True, 2.5 * math.exp(-1.0), id="room for two"),
        pytest.param(0.0, 10.5, True, 1.0, id="never interrupted"),
    ],
)
def test_probability_of_success_of_ten_hours_of_work(rate, most_h, restarts, expected):
    found = success_probability(
        interruptions_per_hour=rate, work_h=10.0, start_h=0.0, lost_h=1.0, most_h=most_h, restarts=restarts
    )
    assert found == pytest.approx(expected)


@given(
    rate=st.floats(0.0, 2.0), more=st.floats(0.0, 2.0), work_h=st.floats(0.01, 200.0),
    spare_h=st.floats(0.0, 100.0), lost_h=st.floats(0.01, 5.0), restarts=st.booleans(),
)  # fmt: skip
def test_more_interruptions_never_make_success_likelier(rate, more, work_h, spare_h, lost_h, restarts):
    def probability(per_hour: float) -> float:
        return success_probability(
            interruptions_per_hour=per_hour, work_h=work_h, start_h=0.1, lost_h=lost_h, most_h=work_h + 0.1 + spare_h,
            restarts=restarts,
        )  # fmt: skip

    assert 0.0 < probability(rate + more) <= probability(rate) + 1e-9 <= 1.0 + 1e-9


@given(
    fast_usd=st.integers(2, 10_000), share=st.floats(0.05, 0.95), fast_h=st.floats(0.1, 50.0),
    multiple=st.floats(1.1, 20.0),
)  # fmt: skip
def test_at_the_even_hours_both_cost_the_same(fast_usd, share, fast_h, multiple):
    fast = run_cost("f", 1.0, str(fast_usd), fast_h)
    slow = run_cost("s", 2.0, str(round(fast_usd * share, 2)), fast_h * multiple)
    assume(slow.machine_usd < fast.machine_usd)
    even_h = even_engineer_hours(fast, slow)
    assert even_h is not None
    at_even = [
        run_cost("f", 1.0, str(fast.machine_usd), even_h), run_cost("s", 2.0, str(slow.machine_usd), even_h * multiple)
    ]  # fmt: skip
    assert float(at_even[0].usd_per_success) == pytest.approx(float(at_even[1].usd_per_success), rel=1e-6, abs=1e-4)


def test_there_are_no_even_hours_where_the_slower_run_takes_no_more_of_people_or_is_dearer():
    assert even_engineer_hours(H100, run_cost("s", 41.0, "470", 0.5)) is None
    assert even_engineer_hours(H100, run_cost("s", 41.0, "990", 2.0)) is None
