"""All advice together: order, determinism, words and JSON."""

import json
import math
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.advice import Advice, Figure, Threshold, Topic, advice_as_dict, advice_as_text, advise
from orchestrator.advice.words import more, number, params, percent, usd
from orchestrator.model.job import CheckpointRule


@pytest.fixture
def advised(make):
    jobs = [make.serve(), make.train(), make.batch()]
    offers = [make.offer("g6.xlarge", "0.35"), make.on_demand("g6.xlarge", "0.80")]
    return lambda order=1: advise(make.catalog(*jobs[::order]), make.book(*offers[::order]), make.now)


def test_by_job_and_topic_with_the_whole_catalog_last(advised):
    topics = [(each.job, each.topic) for each in advised()]
    assert topics == [
        ("chat", Topic.SERVING_TIER),
        ("chat", Topic.SERVERLESS),
        ("chat", Topic.IDLE),
        ("tune", Topic.COST_PER_RUN),
        ("tune", Topic.TRAINING_HARDWARE),
        ("", Topic.BUY),
        ("", Topic.OVERHEADS),
    ]


def test_the_same_input_gives_the_same_bytes(advised, make):
    texts = {json.dumps(advice_as_dict(advised(order), make.now)) + advice_as_text(advised(order)) for order in (1, -1)}
    assert len(texts) == 1


def test_every_threshold_names_its_source_and_every_sentence_ends(advised):
    for each in advised():
        assert each.recommendation.endswith(".") and each.figures
        assert all(threshold.source for threshold in each.thresholds)


def test_a_catalog_of_which_nothing_is_placed(make):
    found = advise(make.catalog(make.train()), make.book(), make.now)
    assert advice_as_text(found) == "No advice: nothing of the catalog has hardware."


ADVICE = Advice(
    topic=Topic.BUY, recommendation="Rent.", job="j", part="p", confidence="A guess.",
    figures=(
        Figure(name="price", value=Decimal("1234.5"), unit="USD", how="2 x 617.25", of="L4"),
        Figure(name="share", value=1 / 3), Figure(name="class", value="small", how="because"),
    ),
    thresholds=(Threshold(name="at least", value=0.8, unit="", source="reports"),),
)  # fmt: skip


def test_as_words():
    assert advice_as_text([ADVICE]).splitlines() == [
        "j",
        "  buy-or-rent (p): Rent.",
        "    L4",
        "      price: 1,234.50 USD = 2 x 617.25",
        "    share: 0.3333",
        "    class: small (because)",
        "    compare at least 0.8 (reports)",
        "    how sure: A guess.",
    ]


def test_as_json():
    (found,) = advice_as_dict([ADVICE], "2026")["advice"]
    assert list(found) == ["topic", "job", "part", "recommendation", "figures", "thresholds", "confidence"]
    assert found["figures"][0] == {"name": "price", "of": "L4", "value": 1234.5, "unit": "USD", "how": "2 x 617.25"}
    assert found["figures"][1]["value"] == 0.333333333
    assert found["thresholds"] == [{"name": "at least", "value": 0.8, "unit": "", "source": "reports"}]


def test_figures_in_words():
    assert [usd(value) for value in (Decimal("1234.5"), 0.25, 0.0123, 0)] == ["1,234.50", "0.25", "0.0123", "0.00"]
    assert [number(value) for value in (0.13451, 12.5, 1234567.0)] == ["0.1345", "12.5", "1,234,567"]
    assert number(0.00004) == "0.00004"
    assert [params(value) for value in (134.5e6, 8.03e9)] == ["134M", "8.03B"]
    assert [percent(value) for value in (0.123, 0.004, 0.0)] == ["12%", "0.4%", "0%"]
    assert [more(value) for value in (0.12, 2.5)] == ["12% more", "3.5 times as much"]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.lists(st.sampled_from([0.5, 8.0, 14.0, 70.0]), min_size=1, max_size=3),
    again=st.tuples(
        st.sampled_from(["never", "hourly", "daily", "weekly", "yearly"]), st.sampled_from(["auto-restart", "manual"])
    ),
    max_duration_s=st.none() | st.floats(60.0, 1e6),
    per_second=st.floats(1e-3, 50.0),
    peak=st.floats(1.0, 20.0),
    prices=st.lists(st.sampled_from(["0.05", "0.5", "5", "50"]), min_size=3, max_size=3),
    budget=st.none() | st.sampled_from([Decimal(1), Decimal(20)]),
)
def test_any_catalog_gets_finite_figures(make, sizes, again, max_duration_s, per_second, peak, prices, budget):
    rule = CheckpointRule(interval_s=600.0, keep=3, storage="/c", recovery=again[1])
    jobs = []
    for index, billions in enumerate(sizes):
        card = make.card(billions)
        given = {"model": card, "retrain": again[0], "checkpoint": rule, "max_duration_s": max_duration_s}
        jobs.append(make.train(f"t{index}", **given))
        jobs.append(make.serve(f"s{index}", card=card, traffic=make.traffic(per_second, per_second * peak)))
    offers = [make.offer("g6.xlarge", prices[0]), make.on_demand("g6.12xlarge", prices[1]),
              make.offer("p4d.24xlarge", prices[2])]  # fmt: skip
    found = advise(make.catalog(*jobs, budget_usd_per_hour=budget), make.book(*offers), make.now)
    for figure in (figure for each in found for figure in each.figures if not isinstance(figure.value, str)):
        assert math.isfinite(figure.value), figure
    assert advice_as_text(found) and json.dumps(advice_as_dict(found, make.now), allow_nan=False)
