"""All advice together: order, determinism, words and JSON."""

import json
from decimal import Decimal

import pytest

from orchestrator.advice import Advice, Figure, Threshold, Topic, advice_as_dict, advice_as_text, advise
from orchestrator.advice.words import more, number, params, percent, usd


@pytest.fixture
def given(make):
    jobs = [make.serve(), make.train(), make.batch()]
    offers = [make.offer("g6.xlarge", "0.35"), make.on_demand("g6.xlarge", "0.80")]
    return lambda order=1: advise(make.catalog(*jobs[::order]), make.book(*offers[::order]), make.now)


def test_by_job_and_topic_with_the_whole_catalog_last(given):
    topics = [(each.job, each.topic) for each in given()]
    assert topics == [
        ("chat", Topic.SERVING_TIER),
        ("chat", Topic.SERVERLESS),
        ("chat", Topic.IDLE),
        ("tune", Topic.COST_PER_RUN),
        ("tune", Topic.TRAINING_HARDWARE),
        ("", Topic.BUY),
        ("", Topic.OVERHEADS),
    ]


def test_the_same_input_gives_the_same_bytes(given, make):
    texts = {json.dumps(advice_as_dict(given(order), make.now)) + advice_as_text(given(order)) for order in (1, -1)}
    assert len(texts) == 1


def test_every_threshold_names_its_source_and_every_sentence_ends(given):
    for each in given():
        assert each.recommendation.endswith(".") and each.figures
        assert all(threshold.source for threshold in each.thresholds)


def test_a_catalog_of_which_nothing_is_placed(make):
    given = advise(make.catalog(make.train()), make.book(), make.now)
    assert advice_as_text(given) == "No advice: nothing of the catalog has hardware."


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
        "    measured against: at least 0.8 [reports]",
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
