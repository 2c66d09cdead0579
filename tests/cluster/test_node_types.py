"""Node types from a plan: exactly the offers it may use, services apart."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from orchestrator.cluster.node_types import FALLBACKS, node_resources, node_types
from orchestrator.model.job import Kind
from orchestrator.model.node import ANY_ZONE, NodeType
from orchestrator.model.offer import InstanceType, Market, Offer, PriceBook
from orchestrator.model.plan import Basis, Choice, JobPlan, Parallelism, Placement, Plan, Pool, Status

NO_PLACEMENT = Placement(status=Status.UNPLACEABLE, chosen=None, candidates=(), suitable=(), rejections=())


def choice(offer: Offer, pools: tuple[Offer, ...] = ()) -> Choice:
    return Choice(
        offer=offer.name, instance_type=offer.instance.name, accelerator="L4", accelerators_per_instance=1, instances=1,
        market=offer.market, zone=offer.zone,
        pools=tuple(Pool(offer=o.name, market=o.market, zone=o.zone, instances=1) for o in pools or (offer,)),
        parallelism=Parallelism(tensor=1, data=1), usd_per_hour=Decimal(1), expected_usd=Decimal(1), expected_seconds=1,
        costs=(), basis=Basis.ROOFLINE,
    )  # fmt: skip


def placed(*choices: Choice) -> Placement:
    return Placement(status=Status.PLACED, chosen=choices[0], candidates=choices, suitable=(), rejections=())


def job(name: str, kind: Kind, placement: Placement, parts: tuple[tuple[str, Placement], ...] = ()) -> JobPlan:
    return JobPlan(name=name, kind=kind, placement=placement, parts=parts, expected_usd=Decimal(1))


def plan(*jobs: JobPlan) -> Plan:
    return Plan(
        now="2026-11-30T00:00:00Z", prices_as_of="2026-11-01", mode="greedy", lower_bound_usd=Decimal(0), gap=0.0,
        objective_usd_per_month=Decimal(0), warnings=(), jobs=jobs,
    )  # fmt: skip


@pytest.fixture
def offers(l4_machine: InstanceType, offer: Callable[..., Offer]) -> tuple[Offer, ...]:
    spot = [offer(l4_machine, Market.SPOT, f"use1-az{number}") for number in range(1, 8)]
    serverless = replace(spot[0], name="serverless", market=Market.SERVERLESS)
    return (*spot, offer(l4_machine, Market.ON_DEMAND, ANY_ZONE), serverless)


def names(found: tuple[NodeType, ...]) -> list[str]:
    return [node_type.name for node_type in found]


def build(offers: tuple[Offer, ...], *jobs: JobPlan) -> tuple[NodeType, ...]:
    prices = PriceBook(as_of="2026-11-01", offers=offers, refused=())
    return node_types(plan(*jobs), prices, emulated=True, max_workers=3)


def test_chosen_and_fallbacks_get_a_type_each(offers: tuple[Offer, ...]) -> None:
    found = build(offers, job("a", Kind.TRAIN, placed(choice(offers[1]), choice(offers[7]))))
    assert names(found) == ["g6-xlarge-on-demand", "g6-xlarge-spot-use1-az2"]
    assert all(node_type.emulated and node_type.max_workers == 3 and not node_type.serve for node_type in found)


def test_fallbacks_are_bounded(offers: tuple[Offer, ...]) -> None:
    found = build(offers, job("a", Kind.BATCH, placed(*(choice(each) for each in offers[:7]))))
    assert names(found) == [f"g6-xlarge-spot-use1-az{number}" for number in range(1, FALLBACKS + 1)]


def test_services_have_types_of_their_own(offers: tuple[Offer, ...]) -> None:
    both = placed(choice(offers[0]))
    serve = job("s", Kind.SERVE, NO_PLACEMENT, parts=(("small", both), ("large", placed(choice(offers[1])))))
    found = build(offers, job("a", Kind.TRAIN, both), serve)
    assert names(found) == ["g6-xlarge-spot-use1-az1", "g6-xlarge-spot-use1-az1-serve", "g6-xlarge-spot-use1-az2-serve"]
    assert [dict(t.labels).get("ray-subcluster") for t in found] == [None, "serve", "serve"]


def test_every_pool_of_a_choice_gets_a_type(offers: tuple[Offer, ...]) -> None:
    found = build(offers, job("s", Kind.SERVE, placed(choice(offers[0], pools=(offers[0], offers[7])))))
    assert names(found) == ["g6-xlarge-on-demand-serve", "g6-xlarge-spot-use1-az1-serve"]


@pytest.mark.parametrize("kind", list(Kind), ids=str)
def test_unplaceable_and_serverless_have_no_nodes(offers: tuple[Offer, ...], kind: Kind) -> None:
    assert build(offers, job("a", kind, NO_PLACEMENT), job("b", kind, placed(choice(offers[8])))) == ()


def test_resources_are_what_ray_counts(emulated_node_types: tuple[NodeType, ...]) -> None:
    by_name = {node_type.name: node_resources(node_type) for node_type in emulated_node_types}
    assert by_name["g6-xlarge-spot-use1-az1"] == {
        "CPU": 4,
        "GPU": 1,
        "accelerator_type:L4": 1,
        "memory": 16 * 1024**3 * 7 // 10,
    }
    assert by_name["c7i-xlarge-on-demand"].keys() == {"CPU", "memory"}
