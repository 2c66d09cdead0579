"""The rules: for each, an offer that breaks only it, and the reason with its figures."""

from decimal import Decimal

import pytest

from orchestrator.estimate.calibration import learn
from orchestrator.model.card import Dtype
from orchestrator.model.job import Engine, Lifecycle, Method, Overflow, Replicas, Slo, Task
from orchestrator.model.offer import RefusedOffer
from orchestrator.model.plan import Status
from orchestrator.placement import micro_batch, place
from orchestrator.placement.hardware import Hardware
from orchestrator.placement.inference import engines
from orchestrator.placement.training import shards


@pytest.fixture
def only(make):
    """Places one job on a book with these offers and returns the placement."""

    def run(job, *offers, refused=(), **cluster):
        plan = place(make.catalog(job, **cluster), make.book(*offers, refused=refused), make.now)
        return plan.jobs[0].placement

    return run


def the_one(placement):
    assert placement.chosen is None and len(placement.rejections) == 1
    found = placement.rejections[0]
    return found.reason, found.needed, found.available, found.unit


def test_another_region_is_one_group_whatever_else_is_wrong(make, only):
    elsewhere = [make.offer(t, "0.3", region="eu-west-1", zone="euw1-az1") for t in ("g6.xlarge", "g4dn.xlarge")]
    refused = RefusedOffer(
        name="p3.2xlarge:spot:eu-west-1:euw1-az1", region="eu-west-1", reason="unknown-hardware", detail=""
    )
    placement = only(make.train(), *elsewhere, refused=(refused,))
    assert the_one(placement) == ("other-region", "us-east-1", None, "")
    assert len(placement.rejections[0].offers) == 3


def test_refused_rows_keep_their_reason(make, only, reasons):
    refused = RefusedOffer(name="p3.2xlarge:spot:us-east-1:x", region="us-east-1", reason="unknown-hardware", detail="")
    placement = only(make.train(), make.offer("g6.xlarge", "0.35"), refused=(refused,))
    assert reasons(placement) == {"p3.2xlarge:spot:us-east-1:x": "unknown-hardware"}


def test_local_zones_are_not_chosen_however_cheap(make, only, reasons):
    far = make.offer("g6.xlarge", "0.01", zone="use1-atl2-az1", local_zone=True)
    placement = only(make.train(), far, make.offer("g6.xlarge", "0.35"))
    assert placement.chosen.zone == "use1-az1"
    assert reasons(placement) == {far.name: "local-zone"}


@pytest.mark.parametrize("price", ["1.00", "1.20"], ids=["equal", "above"])
def test_spot_at_or_above_on_demand_is_never_chosen(make, only, price):
    offer = make.offer("g6.xlarge", price, on_demand_usd_per_hour=Decimal("1.00"))
    assert the_one(only(make.train(), offer))[:2] == ("spot-not-cheaper", "below 1.00")


@pytest.mark.parametrize(
    ("kind", "lifecycle", "slo", "markets"),
    [
        ("train", Lifecycle.SPOT, False, {"spot"}),
        ("train", Lifecycle.ON_DEMAND, False, {"on-demand"}),
        ("train", Lifecycle.AUTO, False, {"spot", "on-demand"}),
        ("batch", Lifecycle.AUTO, False, {"spot", "on-demand"}),
        ("serve", Lifecycle.AUTO, False, {"spot", "on-demand"}),
        ("serve", Lifecycle.AUTO, True, {"on-demand", "spot"}),
        ("serve", Lifecycle.SPOT, True, {"spot"}),
    ],
)
def test_markets_by_lifecycle(make, only, kind, lifecycle, slo, markets):
    job = getattr(make, kind)(lifecycle=lifecycle)
    if slo:
        job = make.replace(job, slo=Slo(itl_p99_s=1.0))
    if kind == "serve":
        job = make.replace(job, replicas=Replicas(min=3, max=64, warm=0))
    pools = [make.offer("g6.xlarge", "0.35", zone=f"use1-az{zone}") for zone in (1, 2)]
    placement = only(job, *pools, make.on_demand("g6.xlarge", "0.80"))
    assert {choice.market.value for choice in placement.candidates} == markets
    assert all(rejection.reason == "market" for rejection in placement.rejections)


def test_max_price_is_per_instance_and_one_group_with_the_nearest_price(make, only):
    job = make.train(max_price_usd_per_hour=Decimal("0.30"))
    offers = [make.offer("g6.xlarge", price, zone=f"use1-az{price[-1]}") for price in ("0.35", "0.36", "0.34")]
    placement = only(job, *offers)
    assert the_one(placement) == ("max-price", 0.3, 0.34, "USD/h") and len(placement.rejections[0].offers) == 3
    at_the_bound = only(make.train(max_price_usd_per_hour=Decimal("0.35")), offers[0])
    assert at_the_bound.status is Status.PLACED


def test_accelerators_are_alternatives(make, only, reasons):
    job = make.train(accelerators=("L4", "A10G"))
    a10g, l4 = make.offer("g5.xlarge", "0.4"), make.offer("g6.xlarge", "0.35")
    l40s, cpu = make.offer("g6e.xlarge", "0.1"), make.offer("c7i.xlarge", "0.1")
    placement = only(job, a10g, l4, l40s, cpu)
    assert {choice.accelerator for choice in placement.candidates} == {"A10G", "L4"}
    assert reasons(placement) == {l40s.name: "accelerator", cpu.name: "accelerator"}


@pytest.mark.parametrize(
    ("job", "allowed"),
    [
        (lambda make: make.serve(models=(("only", make.smollm2()),)), True),
        (lambda make: make.serve(models=(("only", make.card(1.24, context_tokens=1024)),)), False),
        (lambda make: make.serve(models=(("only", make.card(1.24)),), task=Task.EMBED), True),
        (lambda make: make.serve(models=(("only", make.classifier()),), task=Task.CLASSIFY), True),
        (
            lambda make: make.serve(models=(("only", make.card(1.24, context_tokens=1024)),), accelerators=("cpu",)),
            True,
        ),
        (lambda make: make.serve(models=(("only", make.smollm2()),), accelerators=("L4",)), False),
        (lambda make: make.train(model=make.smollm2(), precision=Dtype.FP32), True),
    ],
    ids=["small", "large", "embedding", "classifier", "asked-for", "excluded", "small-training"],
)
def test_who_may_run_on_cpu(make, only, job, allowed):
    placement = only(make.replace(job(make)), make.on_demand("c7i.16xlarge", "2.856"))
    assert (placement.status is Status.PLACED) is allowed


def test_bf16_training_is_refused_where_the_hardware_has_none(make, only):
    offers = make.offer("g4dn.xlarge", "0.2"), make.offer("c6i.4xlarge", "0.2")
    placement = only(make.train(model=make.smollm2(), precision=Dtype.BF16), *offers)
    assert [(r.reason, r.needed) for r in placement.rejections] == [("precision", "bf16"), ("precision", "bf16")]
    assert {r.available for r in placement.rejections} == {"not on T4", "not on this CPU"}


def test_bf16_weights_are_served_in_fp16_on_a_t4_unless_the_engine_is_told_otherwise(make, only):
    job = make.batch(rows=1e4)
    assert only(job, make.offer("g4dn.xlarge", "0.2")).status is Status.PLACED
    strict = make.replace(job, engine=Engine(dtype=Dtype.BF16))
    assert the_one(only(strict, make.offer("g4dn.xlarge", "0.2")))[0] == "precision"


def test_training_that_does_not_fit_says_how_much_it_needs(make, only):
    job = make.train(method=Method.FULL)
    placement = only(job, make.offer("g6.xlarge", "0.35"), make.offer("g6.12xlarge", "1.7"))
    assert {(rejection.reason, rejection.unit) for rejection in placement.rejections} == {("memory", "GiB")}
    alone, of_four = sorted(placement.rejections, key=lambda rejection: -rejection.needed)
    assert alone.needed > 120 and 30 < of_four.needed < 40  # a whole copy; a quarter and what is gathered
    assert alone.available == of_four.available < 24


def test_full_training_is_sharded_where_a_whole_copy_does_not_fit(make, only):
    job, offer = make.train(method=Method.FULL, batch_size=64), make.offer("p4d.24xlarge", "8")
    assert only(job, offer).status is Status.PLACED
    assert shards(job, offer.instance, 1) == 8 and shards(job, offer.instance, 2) == 16
    assert shards(make.train(), offer.instance, 1) == 1  # an adapter's copy fits
    assert micro_batch(job, offer.instance, 1) > 1


def test_full_training_of_large_models_over_instances_needs_a_fabric(make, only, reasons):
    job = make.train(method=Method.FULL, model=make.card(13.0), min_instances=2, max_instances=2)
    slow, fast = make.offer("g6e.12xlarge", "5"), make.offer("p4d.24xlarge", "8")
    slow = make.replace(slow, instance=make.replace(slow.instance, efa=False))
    placement = only(job, slow, fast)
    assert placement.chosen.offer == fast.name and reasons(placement) == {slow.name: "interconnect"}
    smaller = make.train(method=Method.FULL, model=make.card(8.03), min_instances=2, max_instances=2)
    assert reasons(only(smaller, slow, fast)) == {}


@pytest.mark.parametrize(("instance_type", "batch_size", "at_once"), [("g6.xlarge", 32, 2), ("p4de.24xlarge", 8, 8)])
def test_a_step_is_computed_in_pieces_that_fit(make, instance_type, batch_size, at_once):
    assert micro_batch(make.train(batch_size=batch_size), make.offer(instance_type, "1").instance) == at_once


def test_serving_splits_a_model_inside_one_instance_only(make, only, reasons):
    job = make.serve(models=(("only", make.card(8.03)),))
    small, four = make.on_demand("g4dn.xlarge", "0.526"), make.on_demand("g4dn.12xlarge", "3.912")
    placement = only(job, small, four)
    assert placement.chosen.instance_type == "g4dn.12xlarge" and placement.chosen.parallelism.tensor in (2, 4)
    assert reasons(placement) == {small.name: "memory"}


@pytest.mark.parametrize(
    ("heads", "kv_heads", "degrees"),
    [(32, 8, {1, 2, 4, 8}), (24, 6, {1, 2}), (9, 3, {1}), (32, 4, {1, 2, 4})],
)
def test_tensor_degrees_divide_the_heads(make, heads, kv_heads, degrees):
    card = make.card(1.0, heads=heads, kv_heads=kv_heads)
    instance = make.offer("g5.48xlarge", "5").instance
    found = engines(card, Engine(), None, Hardware((instance,)), 1000, learn(()))
    assert set(found.generator.device.tensor[found.degrees]) == degrees


def test_a_wanted_degree_that_cannot_be_had_is_a_reason(make, only):
    job = make.serve(engine=Engine(tensor_parallel_size=4))
    assert the_one(only(job, make.on_demand("g6.xlarge", "0.8"))) == (
        "tensor-parallel", 4, 1, "accelerators of one instance",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("slo", "reason"),
    [
        (Slo(itl_p99_s=0.005), "slo-itl"),
        (Slo(ttft_p99_s=0.01), "slo-ttft"),
        (Slo(latency_p99_s=0.5), "slo-latency"),
    ],
)
def test_a_latency_that_cannot_be_met_says_what_can(make, only, slo, reason):
    found = the_one(only(make.serve(slo=slo), make.on_demand("g6.xlarge", "0.8")))
    assert found[0] == reason and found[3] == "ms" and found[2] > found[1]


def test_a_deadline_that_cannot_be_met_says_how_long_it_takes(make, only):
    found = the_one(only(make.train(deadline_s=3600.0), make.offer("g6.xlarge", "0.35")))
    assert found[:2] == ("deadline", 3600.0) and found[2] > 3600 and found[3] == "s"
    found = the_one(only(make.train(max_duration_s=3600.0), make.offer("g6.xlarge", "0.35")))
    assert found[0] == "max-duration"


def test_more_instances_meet_a_deadline_that_one_misses(make, only):
    offer = make.offer("g6.xlarge", "0.35")
    alone = only(make.train(), offer).chosen
    job = make.train(deadline_s=alone.expected_seconds * 0.7, max_instances=4)
    placement = only(job, offer)
    assert placement.chosen.instances == 2 and placement.chosen.parallelism.data == 2
    assert placement.chosen.expected_seconds <= job.deadline_s
    assert placement.chosen.expected_usd > alone.expected_usd


def test_a_window_takes_as_few_nodes_as_it_needs(make, only):
    offer = make.offer("g6.xlarge", "0.35")
    free = only(make.batch(), offer).chosen
    assert free.instances == 1
    held = only(make.batch(window_s=free.expected_seconds / 3.5), offer).chosen
    assert held.instances == 4 and held.expected_seconds <= free.expected_seconds / 3.5
    found = the_one(only(make.batch(window_s=free.expected_seconds / 3.5, max_instances=2), offer))
    assert found[0] == "window" and found[2] > found[1]


def test_a_window_shorter_than_the_start_of_a_node(make, only):
    assert the_one(only(make.batch(window_s=60.0), make.offer("g6.xlarge", "0.35")))[0] == "window"


def test_replicas_are_bounded(make, only):
    offer = make.on_demand("g6.xlarge", "0.8")
    job = make.serve(traffic=make.traffic(20.0), replicas=Replicas(min=1, max=3, warm=0))
    found = the_one(only(job, offer))
    assert found[0] == "max-replicas" and found[1] > 3 and found[2] == 3
    wide = make.replace(job, replicas=Replicas(min=1, max=500, warm=0))
    assert only(wide, offer).chosen.instances == found[1]
    least = make.serve(traffic=make.traffic(0.01), replicas=Replicas(min=2, max=3, warm=1))
    assert only(least, offer).chosen.instances == 3  # two at least and one warm


def test_a_peak_beyond_all_replicas_needs_an_overflow(make, only):
    job = make.serve(traffic=make.traffic(0.2, peak=50.0), replicas=Replicas(min=1, max=2, warm=0))
    offer = make.on_demand("g6.xlarge", "0.8")
    assert the_one(only(job, offer))[3] == "replicas at the peak"
    overflow = Overflow(to="https://api.example.com/v1", key_env="KEY", max_spend_usd_per_day=Decimal(20))
    assert only(make.replace(job, overflow=overflow), offer).status is Status.PLACED


@pytest.mark.parametrize(
    ("cluster", "reason", "needed", "available"),
    [
        ({"quotas": (("G-spot", 2),)}, "quota", 4.0, 2.0),
        ({"quotas": (("g-spot", 2),)}, "quota", 4.0, 2.0),
        ({"budget_usd_per_hour": Decimal("0.30")}, "budget", 0.35, 0.3),
        ({"max_workers": 0}, "max-workers", 1.0, 0.0),
    ],
)
def test_what_breaks_a_cluster_limit_alone(make, only, cluster, reason, needed, available):
    found = the_one(only(make.train(), make.offer("g6.xlarge", "0.35"), **cluster))
    assert found[:3] == (reason, needed, available)


def test_absent_quotas_are_unlimited(make, only):
    quotas = (("G-on-demand", 0), ("P-spot", 0))
    assert only(make.train(), make.offer("g6.xlarge", "0.35"), quotas=quotas).status is Status.PLACED
