"""The JSON contract of a plan."""

import json
import re
from decimal import Decimal

import pytest

from orchestrator.placement import explain, place, plan_as_dict
from orchestrator.placement.explain import REASONS, duration, summary

CHOICE = {
    "offer", "instance_type", "accelerator", "accelerators_per_instance", "instances", "market", "zone", "pools",
    "parallelism", "usd_per_hour", "expected_usd", "expected_seconds", "costs", "basis",
}  # fmt: skip


@pytest.fixture
def plan(make):
    offers = [make.offer("g6.xlarge", f"0.{price}", zone=f"use1-az{price}") for price in range(30, 45)]
    jobs = [
        make.train(),
        make.train("huge", model=make.card(70.0)),
        make.serve(models=(("a", make.card(1.24)), ("b", make.card(1.24))), traffic_share=(("a", 0.5), ("b", 0.5))),
    ]
    book = make.book(*offers, make.offer("g6.xlarge", "0.2", region="eu-west-1", zone="euw1-az1"))
    return place(make.catalog(*jobs), book, make.now)


def test_the_contract(plan):
    found = plan_as_dict(plan, {"load_s": 0.1, "plan_s": 0.2})
    assert set(found) == {
        "now", "prices_as_of", "timings", "solver", "objective_usd_per_month", "warnings", "jobs",
    }  # fmt: skip
    assert set(found["solver"]) == {"mode", "lower_bound_usd", "gap"}
    tune = found["jobs"]["tune"]
    assert set(tune) == {"kind", "status", "expected_usd", "chosen", "candidates", "rejections"}
    assert (tune["kind"], tune["status"]) == ("train", "placed")
    assert set(tune["chosen"]) == CHOICE and tune["chosen"] == tune["candidates"][0]
    assert tune["chosen"]["instances"] == 1 and isinstance(tune["chosen"]["instances"], int)
    assert set(tune["chosen"]["pools"][0]) == {"offer", "market", "zone", "instances"}
    assert sum(tune["chosen"]["costs"].values()) == pytest.approx(tune["expected_usd"])
    assert set(tune["rejections"][0]) == {"reason", "needed", "available", "unit", "offers"}


def test_at_most_ten_candidates_are_kept_of_all_that_suit(plan):
    assert len(plan.job("tune").placement.suitable) == 15
    assert len(plan_as_dict(plan, {})["jobs"]["tune"]["candidates"]) == 10


def test_parts_stand_in_for_the_jobs_own_answer(plan):
    chat = plan_as_dict(plan, {})["jobs"]["chat"]
    assert chat["chosen"] is None and chat["candidates"] == [] and chat["rejections"] == []
    assert set(chat["parts"]) == {"a", "b"}
    assert set(chat["parts"]["a"]) == {"status", "chosen", "candidates", "rejections"}
    assert "parts" not in plan_as_dict(plan, {})["jobs"]["tune"]


def test_an_unplaceable_job_has_no_cost(plan):
    huge = plan_as_dict(plan, {})["jobs"]["huge"]
    assert (huge["status"], huge["expected_usd"], huge["chosen"], huge["candidates"]) == ("unplaceable", None, None, [])
    assert {group["reason"] for group in huge["rejections"]} == {"memory", "other-region"}


def test_the_same_plan_gives_the_same_bytes_of_valid_json(plan):
    first, second = (json.dumps(plan_as_dict(plan, {}), allow_nan=False) for _ in range(2))
    assert first == second


def test_an_explanation_says_what_why_and_why_not(plan):
    text = explain(plan.job("tune"))
    assert "chosen: 1 x g6.xlarge (L4) spot in use1-az30" in text
    assert "compute" in text and "in another region: needs us-east-1" in text
    assert "the same hardware elsewhere: use1-az31 +3%, use1-az32 +7%, use1-az33 +10%" in text
    assert "does not fit in memory: needs" in explain(plan.job("huge"))
    assert "  a: placed" in explain(plan.job("chat"))


def test_the_next_best_hardware_says_what_would_make_it_the_best(make):
    l4, a10g = make.offer("g6.xlarge", "0.30"), make.offer("g5.xlarge", "0.60")
    before = place(make.catalog(make.train()), make.book(l4, a10g), make.now).job("tune")
    line = next(line for line in explain(before).splitlines() if "A10G" in line)
    turning_point = Decimal(re.search(r"cheapest below \$([0-9.]+)/h \(now \$0.6/h\)", line).group(1))
    for factor, best in (("0.99", "A10G"), ("1.01", "L4")):
        priced = make.offer("g5.xlarge", str(turning_point * Decimal(factor)), on_demand_usd_per_hour=Decimal(2))
        after = place(make.catalog(make.train()), make.book(l4, priced), make.now).job("tune")
        assert after.placement.chosen.accelerator == best


def test_a_cheaper_offer_that_does_not_fit_beside_the_others_is_named(make):
    offers = make.offer("g6.xlarge", "0.30"), make.offer("p5.4xlarge", "6.00")
    catalog = make.catalog(make.train("one"), make.train("two"), quotas=(("G-spot", 4),))
    plan = place(catalog, make.book(*offers), make.now)
    moved = next(job for job in plan.jobs if job.placement.chosen.accelerator == "H100")
    assert "cheaper, but they do not fit beside the other jobs" in explain(moved)
    assert "does not fit beside the other jobs" in summary(moved.placement)


@pytest.mark.parametrize(("seconds", "text"), [(45, "45 s"), (720, "12 min"), (12_240, "3.4 h")])
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_reasons_are_written_in_words(plan):
    for job in plan.jobs:
        for rejection in job.placement.rejections:
            assert rejection.reason in REASONS


def test_without_a_choice_the_offers_that_got_furthest_say_why(make):
    """Sixty offers of other accelerators say nothing; that the one accelerator asked for lacks bf16 says it all."""
    others = [make.offer("g6.xlarge", "0.35", zone=f"use1-az{zone}") for zone in range(1, 9)]
    job = make.train(model=make.smollm2(), accelerators=("T4",))
    plan = place(make.catalog(job), make.book(*others, make.offer("g4dn.xlarge", "0.2")), make.now)
    assert summary(plan.jobs[0].placement).startswith("the hardware lacks the precision: needs bf16, has not on T4 (1)")
