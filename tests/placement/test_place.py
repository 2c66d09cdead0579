"""The plan as a whole: ranking, parts, joint limits, determinism, and properties over generated catalogs."""

import dataclasses
import math
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.model.card import Dtype
from orchestrator.model.job import JobClass, Lifecycle, Method, Overflow, Replicas, Schedule, Slo, Task
from orchestrator.model.offer import RefusedOffer
from orchestrator.model.plan import Status
from orchestrator.offers import load_snapshot
from orchestrator.placement import place, plan_as_dict
from orchestrator.placement.work import works


def test_the_cost_of_the_job_ranks_and_not_the_price_of_the_hour(make):
    t4, l4 = make.offer("g4dn.xlarge", "0.20"), make.offer("g6.xlarge", "0.35")
    job = make.train(precision=Dtype.FP16, model=make.card(1.24))
    chosen = place(make.catalog(job), make.book(t4, l4), make.now).job("tune").placement.chosen
    # An L4 computes 1.86 times as fast for 1.75 times the price.
    assert chosen.accelerator == "L4"


def test_candidates_begin_with_the_chosen_one_and_get_dearer(make):
    offers = [make.offer("g6.xlarge", f"0.3{zone}", zone=f"use1-az{zone}") for zone in (5, 1, 3)]
    placement = place(make.catalog(make.train()), make.book(*offers), make.now).jobs[0].placement
    assert [choice.zone for choice in placement.candidates] == ["use1-az1", "use1-az3", "use1-az5"]
    assert placement.candidates[0] == placement.chosen


def test_equal_costs_are_ordered_by_name(make):
    offers = [make.offer("g6.xlarge", "0.35", zone=f"use1-az{zone}") for zone in (3, 1, 2)]
    placement = place(make.catalog(make.train()), make.book(*offers), make.now).jobs[0].placement
    assert [choice.zone for choice in placement.candidates] == ["use1-az1", "use1-az2", "use1-az3"]


def test_expected_interruptions_can_make_on_demand_cheaper(make):
    spot = make.offer("g6.xlarge", "0.79", on_demand_usd_per_hour=Decimal("0.80"), interruptions_per_hour=0.5)
    on_demand = make.on_demand("g6.xlarge", "0.80")
    placement = place(make.catalog(make.train()), make.book(spot, on_demand), make.now).jobs[0].placement
    assert placement.chosen.market.value == "on-demand"
    assert "interruptions" in dict(placement.candidates[1].costs)


def test_a_service_with_several_models_places_each_with_its_share(make):
    job = make.serve(
        models=(("large", make.card(8.03)), ("small", make.card(3.21, layers=28, hidden_size=3072, heads=24))),
        traffic_share=(("large", 0.6), ("small", 0.4)), traffic=make.traffic(16.0, 40.0), quantization=Dtype.INT8,
        lifecycle=Lifecycle.AUTO, slo=Slo(ttft_p99_s=0.8, itl_p99_s=0.06),
    )  # fmt: skip
    plan = place(make.catalog(job), make.book(make.on_demand("g6.xlarge", "0.80")), make.now).jobs[0]
    large, small = plan.part("large"), plan.part("small")
    assert plan.placement.status is Status.PLACED and plan.placement.chosen is None and not plan.placement.candidates
    assert large.chosen.instances > small.chosen.instances > 1
    assert plan.expected_usd == large.chosen.expected_usd + small.chosen.expected_usd


def test_a_service_of_which_one_model_does_not_fit_is_partial(make):
    job = make.serve(
        models=(("large", make.card(70.0, layers=80, hidden_size=8192, heads=64)), ("small", make.card(3.0))),
        traffic_share=(("large", 0.5), ("small", 0.5)),
    )
    plan = place(make.catalog(job), make.book(make.on_demand("g6.xlarge", "0.80")), make.now).jobs[0]
    assert plan.placement.status is Status.PARTIAL
    assert plan.part("large").status is Status.UNPLACEABLE and plan.part("large").rejections
    assert plan.expected_usd == plan.part("small").chosen.expected_usd


def test_the_more_important_job_gets_the_budget(make):
    offer = make.offer("g6.xlarge", "0.35")
    jobs = [
        make.train("a-batch", job_class=JobClass.BATCH),
        make.train("b-deadline", job_class=JobClass.DEADLINE),
        make.train("c-deadline-first", job_class=JobClass.DEADLINE, priority=9),
    ]
    plan = place(make.catalog(*jobs, budget_usd_per_hour=Decimal("0.75")), make.book(offer), make.now)
    placed = {job.name: job.placement.status for job in plan.jobs}
    assert placed == {"a-batch": Status.UNPLACEABLE, "b-deadline": Status.PLACED, "c-deadline-first": Status.PLACED}
    rejection = plan.job("a-batch").placement.rejections[0]
    assert (rejection.reason, rejection.needed, rejection.available) == ("budget", 0.35, 0.05)
    assert not plan.job("a-batch").placement.candidates


def test_a_joint_quota_moves_a_job_to_its_second_choice_rather_than_dropping_one(make):
    l4, a10g = make.offer("g6.xlarge", "0.30"), make.offer("p5.4xlarge", "6.00")
    jobs = [make.train("one"), make.train("two")]
    plan = place(make.catalog(*jobs, quotas=(("G-spot", 4),)), make.book(l4, a10g), make.now)
    assert plan.mode == "exact" and plan.gap == 0
    assert sorted(job.placement.chosen.accelerator for job in plan.jobs) == ["H100", "L4"]
    moved = next(job.placement for job in plan.jobs if job.placement.chosen.accelerator == "H100")
    assert moved.candidates[0] == moved.chosen and moved.candidates[1].accelerator == "L4"


def test_the_budget_counts_a_service_at_its_peak(make):
    offer = make.on_demand("g6.xlarge", "0.80")
    job = make.serve(traffic=make.traffic(0.5, peak=20.0), replicas=Replicas(min=1, max=64, warm=0))
    roomy = place(make.catalog(job), make.book(offer), make.now).jobs[0].placement
    assert roomy.chosen.instances == 1
    tight = place(make.catalog(job, budget_usd_per_hour=Decimal("1.60")), make.book(offer), make.now).jobs[0].placement
    assert [rejection.reason for rejection in tight.rejections] == ["budget"]


def test_the_objective_counts_runs_a_month(make):
    offer = make.offer("g6.xlarge", "0.35")
    weekly = place(make.catalog(make.train(retrain="weekly")), make.book(offer), make.now)
    run_usd = weekly.jobs[0].expected_usd
    assert float(weekly.objective_usd_per_month) == pytest.approx(float(run_usd) * 730 / 168)


def test_warnings_name_old_undated_and_missing_prices_and_assumed_sizes(make):
    jobs = [make.train(tokens=None), make.batch(rows=None)]
    offers = make.offer("g6.xlarge", "0.35", as_of="unknown"), make.offer("g5.xlarge", "0.4")
    plan = place(make.catalog(*jobs, region="us-west-2"), make.book(*offers), "2027-03-01T00:00:00Z")
    text = "\n".join(plan.warnings)
    for part in (
        "1 of 2 prices carry no date",
        "120 days old",
        "no price for region us-west-2",
        "nightly: rows",
        "tune: tokens",
    ):
        assert part in text, part
    fresh = place(make.catalog(make.train()), make.book(make.offer("g6.xlarge", "0.35")), make.now)
    assert fresh.warnings == ()


def test_warnings_name_what_is_planned_but_not_carried_out_yet(make):
    job = make.serve(
        quantization=Dtype.INT8, speculative_method="ngram", task=Task.EMBED,
        overflow=Overflow(to="https://api.example.com/v1", key_env="KEY", max_spend_usd_per_day=Decimal(20)),
    )  # fmt: skip
    found = place(make.catalog(job), make.book(make.on_demand("g6.xlarge", "0.80")), "2026-11-02").warnings
    for word in ("quantised weights", "overflow", "speculative", "task embed"):
        assert any(word in text and text.startswith("chat: ") for text in found), word


@pytest.mark.parametrize("now", ["2026-11-30T00:00:00Z", "2026-11-30T01:00:00+01:00", "2026-11-30"])
def test_now_is_normalised_to_utc(make, now):
    assert place(make.catalog(make.train()), make.book(), now).now == "2026-11-30T00:00:00.000000Z"


# --- the jobs of a typical catalog on the shipped prices ---


def shipped(make, job, **cluster):
    return place(make.catalog(job, **cluster), load_snapshot(), make.now).jobs[0].placement


def test_a_classifier_at_850_requests_a_second_runs_on_a_cpu_machine(make):
    job = make.serve(
        models=(("only", make.classifier()),), task=Task.CLASSIFY, slo=Slo(latency_p99_s=0.22),
        traffic=make.traffic(850.0, prompt_tokens=64.0, output_tokens=0.0), replicas=Replicas(min=1, max=8, warm=0),
    )  # fmt: skip
    chosen = shipped(make, job).chosen
    assert chosen.accelerator is None and chosen.pools[0].market.value == "on-demand"
    assert chosen.usd_per_hour < Decimal("0.75")  # one 16-vCPU machine or less


def test_an_8b_lora_runs_on_one_spot_card_of_24_gb_where_only_those_are_allowed(make):
    chosen = shipped(make, make.train(accelerators=("L4", "A10G"), lifecycle=Lifecycle.SPOT)).chosen
    assert chosen.instance_type == "g6.xlarge" and chosen.market.value == "spot"


def test_the_demo_model_finds_small_hardware_for_everything(make):
    model = make.smollm2()
    tune = make.train(model=model, precision=Dtype.BF16, tokens=1e6, sequence_tokens=512)
    nightly = make.batch(model=model, rows=2000.0, prompt_tokens=120.0)
    chat = make.serve(models=(("only", model),), traffic=make.traffic(1.0))
    for job in (tune, nightly, chat):
        chosen = shipped(make, job).chosen
        assert chosen.usd_per_hour < Decimal("0.5") and chosen.instances == 1, job.name


def test_a_70b_model_is_served_by_tensor_parallelism(make):
    card = make.card(70.6, layers=80, hidden_size=8192, heads=64)
    chosen = shipped(make, make.serve(models=(("only", card),), traffic=make.traffic(0.5))).chosen
    assert chosen.parallelism.tensor >= 4


# --- properties ---

TYPES = ("g4dn.xlarge", "g6.xlarge", "g5.12xlarge", "g6e.xlarge", "p4d.24xlarge", "c7i.2xlarge", "c6i.large")
prices = st.decimals("0.05", "20", places=4, allow_nan=False)


@st.composite
def offers(draw, make):
    found = []
    for index, name in enumerate(draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=6))):
        price = draw(prices)
        zone = f"use1-az{index}"
        region = draw(st.sampled_from(["us-east-1", "us-east-1", "us-east-1", "eu-west-1"]))
        spot = make.offer(
            name, str(price), zone=zone, region=region, local_zone=draw(st.booleans()),
            on_demand_usd_per_hour=draw(prices), interruptions_per_hour=draw(st.floats(0, 3)),
        )  # fmt: skip
        found.append(spot)
        if draw(st.booleans()):
            found.append(
                make.on_demand(name, str(draw(prices)), name=f"{name}:on-demand:{region}:{index}", region=region)
            )
    return tuple(found)


@st.composite
def jobs(draw, make):
    found = []
    cards = st.sampled_from([make.smollm2(), make.classifier(), make.card(1.24), make.card(8.03), make.card(70.0)])
    for index in range(draw(st.integers(1, 4))):
        common = {
            "job_class": draw(st.sampled_from(JobClass)), "priority": draw(st.integers(0, 2)),
            "lifecycle": draw(st.sampled_from(Lifecycle)),
            "max_price_usd_per_hour": draw(st.none() | prices),
            "accelerators": draw(st.sampled_from([(), (), ("L4",), ("cpu",), ("T4", "A100")])),
        }  # fmt: skip
        match draw(st.sampled_from(["train", "batch", "serve"])):
            case "train":
                found.append(make.train(
                    f"j{index}", model=draw(cards), method=draw(st.sampled_from(Method)),
                    max_instances=draw(st.integers(1, 4)),
                    precision=draw(st.sampled_from([Dtype.FP32, Dtype.BF16, Dtype.FP16])),
                    deadline_s=draw(st.none() | st.floats(600, 1e6)), tokens=draw(st.none() | st.floats(1, 1e9)),
                    **common,
                ))  # fmt: skip
            case "batch":
                found.append(make.batch(
                    f"j{index}", model=draw(cards), rows=draw(st.none() | st.floats(1, 1e7)),
                    window_s=draw(st.none() | st.floats(60, 1e5)), max_instances=draw(st.integers(1, 8)), **common,
                ))  # fmt: skip
            case _:
                names = draw(st.sampled_from([("only",), ("large", "small")]))
                found.append(make.serve(
                    f"j{index}", models=tuple((name, draw(cards)) for name in names),
                    traffic_share=tuple((name, 1 / len(names)) for name in names), task=draw(st.sampled_from(Task)),
                    traffic=make.traffic(draw(st.floats(0, 50))),
                    slo=Slo(itl_p99_s=draw(st.none() | st.floats(0.01, 1))),
                    replicas=Replicas(
                        min=draw(st.integers(0, 2)), max=draw(st.integers(2, 20)), warm=draw(st.integers(0, 2))
                    ),
                    **common,
                ))  # fmt: skip
    return tuple(found)


@st.composite
def clusters(draw):
    return {
        "budget_usd_per_hour": draw(st.none() | prices),
        "max_workers": draw(st.integers(0, 12)),
        "quotas": draw(st.sampled_from([(), (("G-spot", 8),), (("G-on-demand", 16), ("Standard-spot", 8))])),
    }


property_settings = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def placements(plan):
    for job in plan.jobs:
        yield from dict(job.parts).values() if job.parts else (job.placement,)


@property_settings
@given(data=st.data())
def test_every_offer_is_a_candidate_or_in_one_rejection(make, reasons, data):
    refused = RefusedOffer(name="zz:spot:us-east-1:z", region="us-east-1", reason="unknown-hardware", detail="")
    book = make.book(*data.draw(offers(make)), refused=(refused,))
    catalog = make.catalog(*data.draw(jobs(make)), **data.draw(clusters()))
    plan = place(catalog, book, make.now)
    everything = sorted({offer.name for offer in book.offers} | {refused.name})
    assert [job.name for job in plan.jobs] == [job.name for job in catalog.jobs]
    for placement in placements(plan):
        candidates = [choice.offer for choice in placement.candidates]
        assert sorted([*placement.suitable, *reasons(placement)]) == everything
        assert candidates == list(placement.suitable[: len(candidates) - 1]) + candidates[-1:]
        assert (placement.chosen is not None) == bool(candidates) == (placement.status is Status.PLACED)
        keys = {(r.reason, r.needed, r.available, r.unit) for r in placement.rejections}
        assert len(keys) == len(placement.rejections)


@property_settings
@given(data=st.data())
def test_figures_are_finite_and_costs_add_up(make, data):
    catalog = make.catalog(*data.draw(jobs(make)), **data.draw(clusters()))
    plan = place(catalog, make.book(*data.draw(offers(make))), make.now)
    assert plan.gap >= 0 and math.isfinite(plan.gap) and plan.lower_bound_usd <= plan.objective_usd_per_month
    for placement in placements(plan):
        for choice in placement.candidates:
            assert sum(usd for _, usd in choice.costs) == choice.expected_usd >= 0
            assert all(usd > 0 for _, usd in choice.costs) and list(choice.costs) == sorted(choice.costs)
            assert 0 < choice.expected_seconds < math.inf and choice.usd_per_hour > 0
            assert sum(pool.instances for pool in choice.pools) == choice.instances
            assert choice.instances >= (1 if choice.share == 1 else choice.share / 8)
        for rejection in placement.rejections:
            for figure in (rejection.needed, rejection.available):
                assert not isinstance(figure, float) or (math.isfinite(figure) and figure >= 0)


@property_settings
@given(data=st.data())
def test_shared_limits_are_never_exceeded(make, data):
    cluster = data.draw(clusters())
    book = make.book(*data.draw(offers(make)))
    plan = place(make.catalog(*data.draw(jobs(make)), **cluster), book, make.now)
    by_name = {offer.name: offer for offer in book.offers}
    chosen = [placement.chosen for placement in placements(plan) if placement.chosen]
    if cluster["budget_usd_per_hour"] is not None:
        assert sum(choice.usd_per_hour for choice in chosen) <= cluster["budget_usd_per_hour"]
    assert sum(choice.instances for choice in chosen) <= cluster["max_workers"]
    for quota, vcpus in cluster["quotas"]:
        used = sum(
            by_name[choice.offer].instance.vcpus * choice.instances
            for choice in chosen
            if f"{by_name[choice.offer].instance.quota_family}-{choice.market}" == quota
        )
        assert used <= vcpus


@property_settings
@given(data=st.data())
def test_the_order_of_jobs_and_offers_changes_nothing(make, data):
    catalog = make.catalog(*data.draw(jobs(make)), **data.draw(clusters()))
    book = make.book(*data.draw(offers(make)))
    shuffled = dataclasses.replace(catalog, jobs=tuple(data.draw(st.permutations(catalog.jobs))))
    mixed = dataclasses.replace(book, offers=tuple(data.draw(st.permutations(book.offers))))
    assert plan_as_dict(place(shuffled, mixed, make.now), {}) == plan_as_dict(place(catalog, book, make.now), {})


@property_settings
@given(data=st.data())
def test_a_cheaper_price_never_makes_a_job_dearer(make, data):
    job = data.draw(jobs(make))[0]
    found = data.draw(offers(make))
    index = data.draw(st.integers(0, len(found) - 1))
    factor = data.draw(st.decimals("0.1", "0.99", places=3))
    cheaper = dataclasses.replace(found[index], price_usd_per_hour=found[index].price_usd_per_hour * factor)
    after_offers = (*found[:index], cheaper, *found[index + 1 :])
    before = place(make.catalog(job), make.book(*found), make.now)
    after = place(make.catalog(job), make.book(*after_offers), make.now)
    old, new = before.jobs[0], after.jobs[0]
    if old.placement.status is Status.PLACED:
        assert new.placement.status is Status.PLACED and new.expected_usd <= old.expected_usd
    assert before.jobs[0].placement.status is not Status.PARTIAL or new.placement.status is not Status.UNPLACEABLE


@property_settings
@given(data=st.data())
def test_an_added_offer_never_makes_the_plan_dearer_without_shared_limits(make, data):
    catalog = make.catalog(*data.draw(jobs(make)), max_workers=1000)
    found = data.draw(offers(make))
    fewer = place(catalog, make.book(*found[:-1]), make.now)
    more = place(catalog, make.book(*found), make.now)
    for old, new in zip(placements(fewer), placements(more), strict=True):
        if old.chosen is not None:
            assert new.chosen is not None and new.chosen.expected_usd <= old.chosen.expected_usd


def lexicographic(plan, catalog):
    """The objective of the joint plan: placed pieces by importance, then USD a month."""
    levels = {}
    for work in works(catalog):
        placement = plan.job(work.job.name).part(work.part)
        levels.setdefault(work.level, []).append(placement.chosen is not None)
    return [-sum(levels[level]) for level in sorted(levels)], plan.objective_usd_per_month


@property_settings
@given(data=st.data())
def test_under_limits_a_cheaper_price_or_an_added_offer_never_makes_an_exact_plan_worse(make, data):
    catalog = make.catalog(*data.draw(jobs(make)), **data.draw(clusters()))
    found = data.draw(offers(make))
    before = place(catalog, make.book(*found[:-1]), make.now)
    more = place(catalog, make.book(*found), make.now)
    last = found[-1]
    cheaper = dataclasses.replace(last, price_usd_per_hour=last.price_usd_per_hour * Decimal("0.7"))
    after = place(catalog, make.book(*found[:-1], cheaper), make.now)
    assert before.mode == more.mode == after.mode == "exact"
    tolerance = Decimal("0.01")
    for worse, better in ((before, more), (more, after)):
        old, new = lexicographic(worse, catalog), lexicographic(better, catalog)
        assert new[0] < old[0] or (new[0] == old[0] and new[1] <= old[1] + tolerance)


def test_a_run_longer_than_its_interval_is_warned_of(make):
    schedule = Schedule(cron="*/5 * * * *", timezone="UTC", done_by=None, overlap="skip")
    found = place(make.catalog(make.batch(schedule=schedule)), make.book(make.offer("g6.xlarge", "0.35")), make.now)
    (warning,) = [text for text in found.warnings if "longer than the time between its starts" in text]
    most = 730 * 3600 / found.jobs[0].placement.chosen.expected_seconds
    assert warning.startswith("nightly: a run takes") and f"of which {most:.4g} can run" in warning
    daily = dataclasses.replace(schedule, cron="0 2 * * *")
    usual = place(make.catalog(make.batch(schedule=daily)), make.book(make.offer("g6.xlarge", "0.35")), make.now)
    assert not any("longer than" in text for text in usual.warnings)
