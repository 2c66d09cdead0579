"""The placement benchmark at a small size: its form, that it repeats itself, and what must hold of any result."""

import argparse
import json
import random
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from benchmarks import examined, placement, quality
from benchmarks.catalogs import catalog_text, enlarged, offers_of
from benchmarks.skypilot_side import _machines
from orchestrator.catalog import load_text
from orchestrator.model.job import BatchJob
from orchestrator.offers import load_snapshot
from orchestrator.placement import place

pytestmark = pytest.mark.slow

JOBS, SEED = 30, 1
NOW = placement.NOW


@pytest.fixture(scope="module")
def report():
    given = argparse.Namespace(jobs=(JOBS,), seed=SEED, quality_jobs=JOBS, skypilot=None, prices=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement, "RUNS", {})
        patch.setattr(quality, "FURTHER_SEEDS", 1)
        return json.loads(json.dumps(placement.report(given)))


@pytest.fixture(scope="module")
def book():
    return enlarged(load_snapshot(), random.Random(SEED), placement.LEAST_OFFERS)


def read(text: str):
    return load_text(text, "generated.yaml", Path.cwd())


def test_every_size_is_measured_without_and_under_limits(report):
    measured = {each["limits"]: each for each in report["speed"]}
    assert set(measured) == {"unlimited", "binding", "scarce"}
    for each in measured.values():
        assert each["jobs"] == each["placed"] + each["unplaceable"] + each["partial"] == JOBS
        assert each["offers"] >= placement.LEAST_OFFERS
        assert 0 < each["load_s"]["min"] <= each["load_s"]["median"]
        assert 0 < each["plan_s"]["min"] <= each["plan_s"]["median"]
        assert 0 < each["before_mib"] <= each["peak_mib"]
        assert each["lower_bound_usd_per_month"] <= each["usd_per_month"]


def test_limits_bind_and_leave_nearly_everything_placed(report):
    unlimited, binding, _ = report["speed"]
    assert unlimited["placed"] == JOBS
    assert binding["placed"] >= 0.9 * JOBS
    assert binding["usd_per_month"] > unlimited["usd_per_month"]


def test_the_plan_is_not_dearer_than_the_alternatives(report):
    free = report["quality"]["unlimited"]
    assert free["ours"]["usd_per_month"] == pytest.approx(free["ours"]["plan_usd_per_month"], abs=0.01)
    assert free["ours_with_shared_accelerators"]["times_ours"] <= 1
    for name in quality.ALTERNATIVES:
        assert free[name]["placed"] == free["ours"]["placed"]
        assert free[name]["times_ours"] >= 1
        assert min(report["quality"]["times_ours_by_seed"][name]) >= 1
    assert all(other["times_ours"] >= 1 for other in free["one_accelerator_type"]["others"].values())


def test_the_comparison_is_repeated_without_the_favourite(report):
    without = report["quality"]["without_favourite"]
    assert without["accelerator"] in report["quality"]["unlimited"]["ours"]["accelerators"]
    assert without["accelerator"] not in without["ours"]["accelerators"]
    assert all(without[name]["times_ours"] >= 1 for name in quality.ALTERNATIVES)


def test_the_type_for_everything_suits_nearly_all(report):
    free = report["quality"]["unlimited"]
    assert free["one_accelerator_type"]["fell_back"] <= (1 - quality.NEARLY_ALL) * free["pieces_of_work"]


def test_the_plan_keeps_the_limits(report):
    for name in examined.SHARES:
        assert report["quality"][name]["ours"]["times_over_limits"] == {}
        assert report["quality"][name]["ours"]["placed"] > 0


def test_limits_hold_without_asking_placement(book):
    """Everything but scheduled batch jobs runs all the time, at its mean load at least."""
    free = read(catalog_text(JOBS, random.Random(SEED)))
    limits = examined.tight_limits(free, book, NOW)["binding"]
    plan = place(read(catalog_text(JOBS, random.Random(SEED), limits)), book, NOW)
    always = [
        placed.chosen
        for job in plan.jobs
        if not (isinstance(asked := free.job(job.name), BatchJob) and asked.schedule)
        for _, placed in (job.parts or ((None, job.placement),))
        if placed.chosen is not None
    ]
    assert sum(choice.usd_per_hour for choice in always) <= Decimal(repr(limits.budget_usd_per_hour))
    assert sum(choice.instances for choice in always) <= limits.max_workers


def test_a_seed_always_gives_the_same_catalog_and_prices(book):
    assert catalog_text(JOBS, random.Random(7)) == catalog_text(JOBS, random.Random(7))
    assert catalog_text(JOBS, random.Random(7)) != catalog_text(JOBS, random.Random(8))
    assert enlarged(load_snapshot(), random.Random(SEED), placement.LEAST_OFFERS) == book


def test_a_larger_catalog_starts_with_the_smaller_one():
    small, large = read(catalog_text(JOBS, random.Random(SEED))), read(catalog_text(2 * JOBS, random.Random(SEED)))
    assert [large.job(job.name) for job in small.jobs] == list(small.jobs)


def test_synthetic_offers_have_names_of_their_own_and_cost_less_than_on_demand(book):
    offers = offers_of(book)
    assert len({offer.name for offer in offers}) == len(offers) >= placement.LEAST_OFFERS
    synthetic = [offer for offer in offers if offer.source == "synthetic zone"]
    assert synthetic
    assert all(0 < offer.price_usd_per_hour < offer.on_demand_usd_per_hour for offer in synthetic)


def test_a_catalog_that_takes_too_long_is_reported(monkeypatch):
    monkeypatch.setattr(placement, "MOST_S", 0.05)
    assert placement._measured(1, SEED, "unlimited", None) == {"jobs": 1, "failed": "took more than 0.05 s"}


def test_skypilot_and_prices_go_together():
    command = [sys.executable, "-m", "benchmarks.placement", "--skypilot", "python"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--skypilot and --prices go together" in done.stderr


def test_on_demand_prices_reach_every_zone_of_skypilots_catalog():
    row = {
        "InstanceType": "g6.xlarge", "AcceleratorName": "L4", "AcceleratorCount": "1", "vCPUs": "4", "MemoryGiB": "16",
        "Price": "", "SpotPrice": "0.35", "Region": "us-east-1", "AvailabilityZone": "use1-az1",
    }  # fmt: skip
    regional = row | {"Price": "0.80", "SpotPrice": "", "AvailabilityZone": ""}
    alone = regional | {"InstanceType": "g6.2xlarge", "Price": "0.98"}
    found = [
        (each["InstanceType"], each["Price"], each["AvailabilityZone"]) for each in _machines([row, regional, alone])
    ]
    assert found == [("g6.xlarge", "0.80", "use1-az1"), ("g6.2xlarge", "0.98", "use1-az1")]
