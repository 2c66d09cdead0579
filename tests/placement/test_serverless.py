"""Serverless endpoints: for whom, at what cost, and what the cluster makes of them."""

import dataclasses
from decimal import Decimal

import pytest

from orchestrator.control.planning import choices
from orchestrator.model.job import Lifecycle, Pattern, Slo, Task
from orchestrator.model.offer import Market
from orchestrator.offers.serverless import load_serverless
from orchestrator.placement import explain, place, plan_as_dict

TOKENS, FUNCTION = "tokens:serverless:*:*", "lambda-10gib:serverless:*:*"


@pytest.fixture
def planned(make):
    def run(*jobs, price="0.80", **cluster):
        book = make.book(make.on_demand("g6.xlarge", price))
        return place(make.catalog(*jobs, **cluster), dataclasses.replace(book, serverless=load_serverless()), make.now)

    return run


def rare(make, pattern=Pattern.SPIKY, per_second=0.01, **changes):
    traffic = make.traffic(per_second, prompt_tokens=350.0, output_tokens=150.0, pattern=pattern)
    return make.serve(traffic=traffic, **changes)


def test_rare_spiky_requests_are_cheapest_by_the_token(make, planned):
    chosen = planned(rare(make)).jobs[0].placement.chosen
    assert (chosen.offer, chosen.market, chosen.instances) == (TOKENS, Market.SERVERLESS, 0.0)
    # 0.01 requests/s x 2,628,000 s x 500 tokens at $1 a million.
    assert dict(chosen.costs)["tokens"] == Decimal("13.14")
    assert sum(usd for _, usd in chosen.costs) == chosen.expected_usd


def test_many_requests_are_cheaper_on_own_machines(make, planned):
    chosen = planned(rare(make, per_second=2.0)).jobs[0].placement.chosen
    assert chosen.market is Market.ON_DEMAND


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"pattern": Pattern.CONSTANT}, "serverless"),
        ({"pattern": Pattern.PREDICTABLE}, "serverless"),
        ({"lifecycle": Lifecycle.ON_DEMAND}, "market"),
        ({"accelerators": ("L4",)}, "market"),
        ({"task": Task.EMBED}, "task"),
        ({"slo": Slo(ttft_p99_s=0.8)}, "cold-start"),
    ],
    ids=["constant", "predictable", "on-demand", "accelerator", "task", "latency"],
)
def test_who_may_not(make, planned, reasons, changes, reason):
    placement = planned(rare(make, **changes)).jobs[0].placement
    assert reasons(placement)[TOKENS] == reason
    assert placement.chosen is None or placement.chosen.offer != TOKENS


def test_other_kinds_of_work_say_so_once(make, planned, reasons):
    plan = planned(make.train(), make.batch())
    for job in plan.jobs:
        assert {reasons(job.placement)[name] for name in (TOKENS, FUNCTION)} == {"serverless"}


def test_a_function_is_paid_for_its_memory_while_it_computes(make, planned):
    job = rare(make, per_second=0.5, models=(("only", make.classifier()),), task=Task.CLASSIFY)
    chosen = planned(job, price="80").jobs[0].placement.chosen
    costs = dict(chosen.costs)
    assert chosen.offer == FUNCTION
    assert float(costs["requests"]) == pytest.approx(0.5 * 2_628_000 / 1e6 * 0.20)
    assert costs["gb-seconds"] > costs["requests"]


def test_it_takes_nothing_of_the_clusters_limits(make, planned):
    plan = planned(rare(make), max_workers=0, budget_usd_per_hour=Decimal("0.01"))
    assert plan.jobs[0].placement.chosen.offer == TOKENS


def test_the_cluster_runs_the_best_of_its_own_instead(make, planned):
    placement = planned(rare(make)).jobs[0].placement
    assert [choice.offer for choice in choices(placement)] == ["g6.xlarge:on-demand:us-east-1:*"]
    assert "cannot deploy this and uses the next candidate" in explain(planned(rare(make)).jobs[0])


def test_the_contract_holds(make, planned):
    chosen = plan_as_dict(planned(rare(make)), {})["jobs"]["chat"]["chosen"]
    assert (chosen["market"], chosen["accelerator"], chosen["zone"]) == ("serverless", None, "*")


def test_every_row_has_a_source_and_a_date():
    assert all(offer.source and offer.as_of and offer.cold_start_s > 0 for offer in load_serverless())
