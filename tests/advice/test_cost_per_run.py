"""What a successful run costs on planned and other hardware."""

from decimal import Decimal

import pytest

from orchestrator.advice.cost_per_run import cost_per_run, shown
from orchestrator.advice.run_costs import alternatives, engineer, way
from orchestrator.advice.situation import situation
from orchestrator.estimate.calibration import Experience, family
from orchestrator.model.job import CheckpointRule, Lifecycle


def only(found):
    (advice,) = cost_per_run(found)
    return advice


@pytest.fixture
def cards(make):
    """An A10G that is cheap by the hour, an L4, and an H100 that is many times as fast."""
    return (
        make.offer("g5.xlarge", "0.40"), make.on_demand("g5.xlarge", "1.006"), make.offer("g6.xlarge", "0.35"),
        make.offer("p5.48xlarge", "40"), make.on_demand("p5.48xlarge", "60"),
    )  # fmt: skip


def test_machines_people_and_the_sum_by_hand(make, cards, figure):
    found = make.situation([make.train()], cards[:1])
    choice = found.plan.job("tune").placement.chosen
    advice = only(found)
    hours = choice.expected_seconds / 3600
    people = hours * 0.1 * 180
    assert float(figure(advice, "machines, a run")) == pytest.approx(float(choice.expected_usd))
    assert float(figure(advice, "people, a run")) == pytest.approx(people, abs=1e-5)
    total = float(choice.expected_usd) + people
    assert float(figure(advice, "a successful run")) == pytest.approx(total, abs=1e-5)
    assert float(figure(advice, "a month")) == pytest.approx(total * 730 / 168, abs=1e-4)
    assert figure(advice, "expected attempts") == pytest.approx(1 + 0.05 * hours)
    assert [each.source for each in advice.thresholds][:2] == ["assumed; practitioner reports, 2024-2026", "assumption"]


def test_the_engineer_of_the_catalog_is_counted_once(make, cards, figure):
    found = make.situation([make.train()], cards[:1], engineer_usd_per_hour=Decimal(100), engineer_share=0.5)
    choice = found.plan.job("tune").placement.chosen
    advice = only(found)
    assert dict(choice.costs)["engineer"] > 0
    assert float(figure(advice, "a successful run")) == pytest.approx(float(choice.expected_usd), abs=1e-4)
    assert {each.source for each in advice.thresholds[:2]} == {"the catalog's cluster.engineer"}


def test_peoples_time_makes_the_faster_machine_the_better_one(make, cards):
    found = make.situation([make.train()], cards)
    advice = only(found)
    assert found.plan.job("tune").placement.chosen.accelerator == "L4"
    assert advice.recommendation.startswith("1 x p5.48xlarge (8 x H100) spot")
    assert advice.recommendation.endswith("name people's time in cluster.engineer, so that the plan counts it.")
    assert any(each.name.startswith("both cost the same") for each in advice.figures)


def test_what_the_job_rules_out_is_shown_and_said(make, cards):
    job = make.train(lifecycle=Lifecycle.ON_DEMAND, accelerators=("A10G",))
    advice = only(make.situation([job], cards))
    assert "the plan rules it out, as the job's lifecycle or latency objective rules this market out" in (
        advice.recommendation
    )
    assert {each.of for each in advice.figures if each.of} == {
        "1 x g5.xlarge (A10G) on-demand", "1 x g5.xlarge (A10G) spot in use1-az1",
    }  # fmt: skip


def test_the_best_hardware_is_kept(make, cards):
    advice = only(make.situation([make.train()], cards[:2]))
    assert advice.recommendation.startswith("Keep 1 x g5.xlarge (A10G) spot in use1-az1")


def test_one_on_demand_way_is_always_shown(make, cards):
    found = make.situation([make.train()], [*cards, make.offer("g6e.xlarge", "0.9"), make.offer("p4d.24xlarge", "9")])
    job = found.catalog.jobs[0]
    mine = way(found, job, found.plan.job("tune").placement.chosen)
    ways = shown(mine, alternatives(found, job))
    assert len(ways) == 4 and ways[0] is mine
    assert "on-demand" in {each.choice.market.value for each in ways}


def test_a_run_that_does_not_restart_pays_for_its_failures(make, cards, figure):
    rule = CheckpointRule(interval_s=600.0, keep=3, storage="/c", recovery="manual")
    advice = only(make.situation([make.train(checkpoint=rule)], cards[:1]))
    assert 0.0 < figure(advice, "probability of success") < 1.0
    assert figure(advice, "a successful run") > figure(advice, "machines, a run") + figure(advice, "people, a run")


def test_what_the_ledger_learnt_counts_as_in_the_plan(make, cards, figure):
    job = make.train()
    slow = [Experience(family=family(job.model), accelerator="A10G", task="train", speed_ratio=0.5)] * 30
    found = situation(make.catalog(job), make.book(*cards[:1]), make.now, slow)
    choice = found.plan.job("tune").placement.chosen
    assert choice.basis.value == "measured"
    (mine,) = alternatives(found, job)
    assert mine.cost.hours == choice.expected_seconds / 3600


def test_an_assumed_engineer_takes_a_tenth_at_180(make):
    cluster = engineer(make.catalog().cluster)
    assert (cluster.engineer_usd_per_hour, cluster.engineer_share) == (Decimal(180), 0.1)


def test_jobs_without_hardware_get_no_advice(make):
    assert list(cost_per_run(make.situation([make.train(model=make.card(70.0))], [make.offer("g6.xlarge", "1")]))) == []
