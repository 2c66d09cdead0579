"""Small services on one accelerator: when it is cheaper, within limits, and who pays what."""

import dataclasses
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.model.card import Dtype
from orchestrator.model.job import Engine, Lifecycle, Replicas, Slo
from orchestrator.model.plan import Status
from orchestrator.placement import explain, place
from orchestrator.placement.explain import summary

L4 = "g6.xlarge:on-demand:us-east-1:*"


@pytest.fixture
def small(make):
    """A service of a small model with little traffic, in need of a quarter of an L4 (or of `billions` for more)."""

    def build(name, billions=0.5, per_second=0.2, **changes):
        card = make.card(billions, layers=16, hidden_size=1024, heads=16, kv_heads=4, head_dim=64, context_tokens=2048)
        given = {
            "models": (("only", card),), "traffic": make.traffic(per_second), "accelerators": ("L4",),
            "engine": Engine(dtype=Dtype.FP16), "replicas": Replicas(min=1, max=4, warm=0),
        }  # fmt: skip
        return make.serve(name, **(given | changes))

    return build


def placed(make, *jobs, price="0.80", more=(), **cluster):
    plan = place(make.catalog(*jobs, **cluster), make.book(make.on_demand("g6.xlarge", price), *more), make.now)
    return plan, {job.name: job.placement.chosen for job in plan.jobs}


def test_two_small_services_share_one_accelerator_and_its_price(make, small):
    plan, chosen = placed(make, small("a"), small("b"))
    assert {(choice.offer, choice.share, choice.instances) for choice in chosen.values()} == {(L4, 0.25, 0.5)}
    assert all(choice.usd_per_hour == Decimal("0.40") for choice in chosen.values())
    assert plan.mode == "exact" and plan.objective_usd_per_month == sum(c.expected_usd for c in chosen.values())
    compute = sum(dict(choice.costs)["compute"] for choice in chosen.values())
    assert compute == Decimal("0.80") * 730


def test_a_small_service_alone_takes_a_whole_one(make, small):
    _, chosen = placed(make, small("a"))
    assert (chosen["a"].share, chosen["a"].instances) == (1.0, 1.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"sharing": False},
        {"lifecycle": Lifecycle.SPOT},
        {"replicas": Replicas(min=2, max=4, warm=0)},
        {"replicas": Replicas(min=1, max=4, warm=1)},
        {"per_second": 200.0, "replicas": Replicas(min=1, max=64, warm=0)},
        {"billions": 6.0},
    ],
    ids=["switched-off", "spot", "two-replicas", "one-warm", "much-traffic", "large"],
)
def test_who_does_not_share(make, small, changes):
    spot = make.offer("g6.xlarge", "0.35"), make.offer("g6.xlarge", "0.36", zone="use1-az2")
    _, chosen = placed(make, small("a", **changes), small("b"), more=spot)
    assert chosen["a"].share == 1.0 and chosen["b"].share == 1.0, "nobody to share with"


def test_memory_decides_how_large_a_share_is(make, small):
    _, chosen = placed(make, small("a"), small("b", billions=3.0))
    assert (chosen["a"].share, chosen["b"].share) == (0.25, 0.5)
    assert chosen["b"].instances == pytest.approx(2 * chosen["a"].instances)
    assert sum(choice.instances for choice in chosen.values()) == pytest.approx(1.0)


def test_latency_is_promised_at_the_share_of_the_rates(make, small):
    alone = small("a", slo=Slo(itl_p99_s=0.010))
    _, chosen = placed(make, alone, small("b"))
    assert chosen["a"].share > 0.25 or chosen["a"].share == 1.0


def test_five_quarters_take_two_instances(make, small):
    _, chosen = placed(make, *(small(name) for name in "abcde"))
    assert sum(choice.instances for choice in chosen.values()) == pytest.approx(2.0)
    assert sum(dict(choice.costs)["compute"] for choice in chosen.values()) == Decimal("0.80") * 730 * 2


def test_sharing_makes_room_where_whole_accelerators_do_not_fit(make, small):
    jobs = [small(name) for name in "abc"]
    _, chosen = placed(make, *jobs, max_workers=1)
    assert all(choice is not None and choice.share == 0.25 for choice in chosen.values())
    crowded, _ = placed(make, *(dataclasses.replace(job, sharing=False) for job in jobs), max_workers=1)
    assert sorted(job.placement.status for job in crowded.jobs) == [
        Status.PLACED, Status.UNPLACEABLE, Status.UNPLACEABLE,
    ]  # fmt: skip


def test_a_share_keeps_whole_accelerators_as_fallbacks_and_explains_itself(make, small):
    a10g = make.on_demand("g5.xlarge", "1.00")
    plan = place(
        make.catalog(*(small(name, accelerators=()) for name in "ab")),
        make.book(make.on_demand("g6.xlarge", "0.80"), a10g), make.now,
    )  # fmt: skip
    placement = plan.jobs[0].placement
    assert [choice.offer for choice in placement.candidates] == [L4, a10g.name] == list(placement.suitable)
    assert "chosen: 1/4 of an L4 (g6.xlarge) on-demand, shared" in explain(plan.jobs[0])
    assert "pays 50% of an instance" in explain(plan.jobs[0])
    assert summary(placement).startswith("next type: 1 x g5.xlarge (A10G) on-demand (+")


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_sharing_never_costs_more_and_never_breaks_a_limit(make, small, data):
    jobs = [
        small(
            f"s{index}", billions=data.draw(st.sampled_from([0.5, 3.0, 6.0])), per_second=data.draw(st.floats(0.05, 4))
        )
        for index in range(data.draw(st.integers(2, 6)))
    ]
    cluster = {
        "max_workers": data.draw(st.integers(1, 8)),
        "budget_usd_per_hour": data.draw(st.none() | st.decimals("0.5", "6", places=2)),
    }
    more = [make.on_demand("g6.12xlarge", "2.80")] if data.draw(st.booleans()) else []
    alone = [dataclasses.replace(job, sharing=False) for job in jobs]
    plan, chosen = placed(make, *jobs, more=more, **cluster)
    without, _ = placed(make, *alone, more=more, **cluster)
    count, before = (sum(job.placement.status is Status.PLACED for job in each.jobs) for each in (plan, without))
    assert count >= before
    if count == before == len(jobs):
        assert plan.objective_usd_per_month <= without.objective_usd_per_month + Decimal("0.001")
    found = [choice for choice in chosen.values() if choice]
    assert sum(choice.instances for choice in found) <= cluster["max_workers"] + 1e-9
    if cluster["budget_usd_per_hour"] is not None:
        assert sum(choice.usd_per_hour for choice in found) <= cluster["budget_usd_per_hour"] + Decimal("0.00001")
