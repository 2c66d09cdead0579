"""Short notes on served models: fewer bits, smaller cards, distillation, idle hours."""

from decimal import Decimal

import pytest

from orchestrator.advice.card_size import card_size
from orchestrator.advice.distil import distil, once_usd, payback_months
from orchestrator.advice.idle import idle, idle_share
from orchestrator.advice.quantise import quantise
from orchestrator.model.card import Dtype
from orchestrator.model.job import Pattern


@pytest.fixture
def cards(make):
    return make.on_demand("g6.xlarge", "0.80"), make.on_demand("g6e.xlarge", "1.86")


def test_a_model_that_misses_the_small_card_is_quantised_before_a_larger_one_is_paid(make, cards, figure):
    found = make.situation([make.serve(card=make.card(14.0))], cards)
    (advice,) = quantise(found)
    assert found.plan.job("chat").placement.chosen.accelerator == "L40S"
    assert advice.recommendation.startswith("Quantise to int8 before paying for 1 x g6e.xlarge (L40S) on-demand")
    (refused,) = [each for each in found.plan.job("chat").placement.rejections if each.reason == "memory"]
    assert figure(advice, "unquantised it misses the nearest memory by") == pytest.approx(
        refused.needed - refused.available
    )
    saved = figure(advice, "a month") - figure(advice, "a month in int8")
    assert figure(advice, "saved") == saved > 0


def test_a_model_that_fits_nowhere_is_quantised(make, cards):
    (advice,) = quantise(make.situation([make.serve(card=make.card(14.0))], cards[:1]))
    assert advice.recommendation.startswith("Quantise to int8: unquantised nothing suits")


@pytest.mark.parametrize("changes", [{"quantization": Dtype.INT8}, {"traffic": None}])
def test_nothing_to_gain_from_fewer_bits(make, cards, changes):
    """Quantised already; or a load that one card of the smallest kind carries as it is."""
    job = make.serve(traffic=make.traffic(0.01)) if "traffic" in changes else make.serve(**changes)
    assert list(quantise(make.situation([job], cards[:1]))) == []


def test_a_large_card_for_a_small_model_is_compared_with_24_gb(make, cards, figure):
    large = make.on_demand("g6e.xlarge", "0.50")
    (advice,) = card_size(make.situation([make.serve()], (cards[0], large)))
    assert advice.recommendation.endswith("keep 1 x g6e.xlarge (L40S) on-demand.")
    assert figure(advice, "a month", "g6.xlarge") > figure(advice, "a month", "g6e.xlarge")
    (alone,) = card_size(make.situation([make.serve()], (large,)))
    assert "no L4 or A10G suits" in alone.recommendation
    assert list(card_size(make.situation([make.serve()], cards[:1]))) == []


def test_payback_by_hand():
    assert once_usd(Decimal(180)) == Decimal(14_900)  # 500 + 80 h x 180
    assert payback_months(10_000.0, 14_900.0) == pytest.approx(14_900 / 9_000)


def test_a_large_models_bill_pays_for_a_small_one(make, figure):
    job = make.serve(card=make.card(70.0))
    (advice,) = distil(make.situation([job], [make.on_demand("p4d.24xlarge", "22")]))
    bill = float(figure(advice, "the large model, a month"))
    assert figure(advice, "paid back after") == pytest.approx(14_900 / (bill * 0.9))
    assert list(distil(make.situation([job], [make.on_demand("p4d.24xlarge", "2")]))) == []
    assert list(distil(make.situation([make.serve()], [make.on_demand("p4d.24xlarge", "22")]))) == []


def test_idle_share_by_hand():
    assert idle_share(2.0, 5.0) == pytest.approx(0.68)
    assert idle_share(5.0, 5.0) == pytest.approx(0.2)


def test_idle_hours_and_the_runs_that_could_use_them(make, cards, figure):
    service = make.serve(traffic=make.traffic(0.2, 0.5, Pattern.PREDICTABLE))
    found = make.situation([service, make.batch(accelerators=("L4",), lifecycle="auto")], cards[:1])
    (advice,) = idle(found)
    run = found.plan.job("nightly").placement.chosen
    assert figure(advice, "sized for the peak") == 730.0
    assert figure(advice, "idle and paid") == pytest.approx(730 * 0.68)
    assert figure(advice, "runs on the same accelerator need") == pytest.approx(run.expected_seconds / 3600)
    assert "could use" in advice.recommendation


def test_scaling_gives_hours_back(make, cards, figure):
    service = make.serve(traffic=make.traffic(1.0, 20.0, Pattern.PREDICTABLE))
    found = make.situation([service], cards[:1])
    (advice,) = idle(found)
    mean = found.plan.job("chat").placement.chosen.instances
    assert figure(advice, "given back by scaling") == figure(advice, "sized for the peak") - mean * 730 > 0
