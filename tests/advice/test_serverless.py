"""Own tokens and serverless ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.advice.serverless import break_even_millions, serverless, serverless_usd, tokens_per_month
from orchestrator.model.job import Task


def test_tokens_of_a_month_by_hand():
    assert tokens_per_month(2.0, 500.0) == pytest.approx(2_628.0)  # 2 x 2,628,000 s x 500 tokens


@given(own_usd=st.floats(0.01, 1e7), price=st.floats(0.01, 100.0))
def test_at_the_break_even_volume_both_bills_are_equal(own_usd, price):
    assert serverless_usd(break_even_millions(own_usd, price), price) == pytest.approx(own_usd)


@pytest.mark.parametrize(
    ("per_second", "price", "said"),
    [
        (0.01, "0.80", "Serverless would be at least"),
        (1.0, "0.80", "Keep it on the own cluster"),
        (1.0, "1.80", "Neither is clearly cheaper"),
    ],
)
def test_volume_decides(make, figure, per_second, price, said):
    job = make.serve(traffic=make.traffic(per_second))
    found = make.situation([job], [make.on_demand("g6.xlarge", price)])
    (advice,) = serverless(found)
    bill = float(found.plan.job("chat").expected_usd)
    assert advice.recommendation.startswith(said)
    assert figure(advice, "own") == pytest.approx(bill / (per_second * 2_628_000 * 500 / 1e6))
    assert [each.value for each in advice.figures if each.name == "break-even"] == pytest.approx(
        [bill / 1.2, bill / 0.8]
    )


def test_parts_are_advised_with_their_share(make, figure):
    job = make.serve(
        models=(("large", make.card(8.0)), ("small", make.card(0.5))), traffic_share=(("large", 0.25), ("small", 0.75))
    )
    large, small = serverless(make.situation([job], [make.on_demand("g6.xlarge", "0.80")]))
    assert (large.part, small.part) == ("large", "small")
    assert figure(small, "tokens a month") == pytest.approx(3 * figure(large, "tokens a month"))


def test_encoders_and_runs_are_left_out(make):
    jobs = [make.serve(task=Task.EMBED, card=make.card(0.5)), make.train()]
    assert list(serverless(make.situation(jobs, [make.on_demand("g6.xlarge", "0.80")]))) == []
