"""The class of hardware that size and frequency call for."""

import pytest

from orchestrator.advice.training_hardware import HardwareClass, belongs, rule, training_hardware
from orchestrator.placement.runs import retrain_per_month


@pytest.mark.parametrize(
    ("billions", "retrain", "wanted"),
    [
        (0.5, "daily", HardwareClass.SINGLE),
        (2.9, "weekly", HardwareClass.SINGLE),
        (3.0, "never", HardwareClass.PATIENT),
        (8.0, "monthly", HardwareClass.PATIENT),
        (70.0, "yearly", HardwareClass.PATIENT),
        (8.0, "weekly", HardwareClass.MIDDLE),
        (9.9, "weekly", HardwareClass.MIDDLE),
        (10.0, "weekly", HardwareClass.HIGH),
        (8.0, "daily", HardwareClass.HIGH),
        (70.0, "hourly", HardwareClass.HIGH),
    ],
)
def test_rule(billions, retrain, wanted):
    assert rule(billions * 1e9, retrain_per_month(retrain)).wanted is wanted


@pytest.mark.parametrize(
    ("instance_type", "market", "instances", "classes"),
    [
        ("g6.xlarge", "spot", 1, {HardwareClass.SINGLE, HardwareClass.PATIENT}),
        ("g6.xlarge", "on-demand", 1, {HardwareClass.SINGLE}),
        ("g6.xlarge", "spot", 8, {HardwareClass.PATIENT}),  # no EFA
        ("g5.48xlarge", "spot", 1, {HardwareClass.PATIENT, HardwareClass.MIDDLE}),
        ("g6.12xlarge", "spot", 1, {HardwareClass.PATIENT}),  # four L4
        ("g5.48xlarge", "on-demand", 1, set()),
        ("p5.48xlarge", "on-demand", 1, {HardwareClass.HIGH}),
    ],
)
def test_belongs(make, instance_type, market, instances, classes):
    offer = make.offer(instance_type, "1") if market == "spot" else make.on_demand(instance_type, "1")
    assert {each for each in HardwareClass if belongs(each, offer, instances)} == classes


def only(found):
    (advice,) = training_hardware(found)
    return advice


def test_a_plan_that_agrees(make):
    advice = only(make.situation([make.train(retrain="monthly")], [make.offer("g6.xlarge", "0.35")]))
    assert advice.recommendation.endswith("spot in use1-az1 is spot and patience already.")


def test_the_middle_is_compared_with_the_plan_and_with_the_high_end(make, figure):
    offers = [make.offer("g6.xlarge", "0.35"), make.offer("g5.48xlarge", "5.8"), make.offer("p5.48xlarge", "60")]
    advice = only(make.situation([make.train()], offers))
    planned = figure(advice, "a successful run", "g6.xlarge")
    middle = figure(advice, "a successful run", "g5.48xlarge")
    assert float(figure(advice, "difference over 3 months")) == pytest.approx(
        float(middle - planned) * 730 / 168 * 3, abs=1e-3
    )
    assert 0 < figure(advice, "speed against the high end") < 1
    assert ("less than on the planned" in advice.recommendation) is (middle < planned)


def test_a_rule_that_costs_more_is_not_followed(make):
    offers = [make.offer("g6.xlarge", "0.35"), make.offer("p5.48xlarge", "2000")]
    advice = only(make.situation([make.train(retrain="daily")], offers))
    assert "calls for high-end accelerators" in advice.recommendation
    assert advice.recommendation.endswith("keep 1 x g6.xlarge (L4) spot in use1-az1.")


def test_a_class_of_which_nothing_suits(make):
    advice = only(make.situation([make.train(retrain="daily")], [make.offer("g6.xlarge", "0.35")]))
    assert "no offer of that class suits" in advice.recommendation


def test_one_accelerator_is_called_for_though_the_job_asks_for_two_nodes(make):
    job = make.train(model=make.card(0.5), min_instances=2, max_instances=2)
    advice = only(make.situation([job], [make.offer("g6.xlarge", "0.35")]))
    assert "calls for a single accelerator (1 x g6.xlarge" in advice.recommendation
