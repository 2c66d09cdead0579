"""Integrity of the data shipped here: prices and hardware."""

from collections import Counter
from datetime import date

import pytest

from orchestrator.model.offer import Interconnect, Market
from orchestrator.offers import load_snapshot
from orchestrator.offers.hardware import accelerators, families, instance_types
from orchestrator.offers.zones import is_local_zone

REGIONS = {"us-east-1", "us-west-2", "eu-west-1"}
FAMILIES = {"g4dn", "g5", "g6", "g6e", "p4d", "p4de", "p5", "c7i"}


def test_names_are_unique_and_say_what_they_are():
    offers = load_snapshot().offers
    assert len({offer.name for offer in offers}) == len(offers) > 250
    for offer in offers:
        assert offer.name == f"{offer.instance.name}:{offer.market.value}:{offer.region}:{offer.zone}"


def test_no_zero_price_and_spot_is_below_on_demand():
    for offer in load_snapshot().offers:
        assert offer.price_usd_per_hour > 0, offer.name
        if offer.market is Market.SPOT:
            assert offer.price_usd_per_hour < offer.on_demand_usd_per_hour, offer.name
        else:
            assert offer.price_usd_per_hour == offer.on_demand_usd_per_hour and offer.zone == "*", offer.name


def test_what_is_refused_is_spot_that_saves_nothing():
    assert {row.reason for row in load_snapshot().refused} == {"spot-not-cheaper"}


def test_every_price_has_a_source_and_a_date():
    book = load_snapshot()
    for offer in book.offers:
        assert offer.source and date.fromisoformat(offer.as_of)
    assert book.as_of == min(offer.as_of for offer in book.offers)


def test_local_zones_are_marked():
    marked = {offer.zone for offer in load_snapshot().offers if offer.local_zone}
    assert marked == {"usw2-lax1-az1", "usw2-lax1-az2", "use1-atl2-az1"}


def test_every_family_and_region_that_is_promised_is_there():
    offers = load_snapshot().offers
    assert {offer.region for offer in offers} == REGIONS
    assert {offer.instance.name.split(".")[0] for offer in offers} >= FAMILIES
    markets = Counter((offer.region, offer.market) for offer in offers)
    assert all(markets[(region, market)] >= 5 for region in REGIONS for market in (Market.SPOT, Market.ON_DEMAND))


def test_a_region_charges_one_on_demand_price_and_spot_zones_lie_in_it():
    prefix = {"us-east-1": "use1-", "us-west-2": "usw2-", "eu-west-1": "euw1-"}
    for offer in load_snapshot().offers:
        if offer.market is Market.SPOT:
            assert offer.zone.startswith(prefix[offer.region]), offer.name


@pytest.mark.parametrize("name", sorted(accelerators()))
def test_an_accelerator_is_complete_and_plausible(name):
    found = accelerators()[name]
    assert 8 < found.memory_gib < 200 and found.source
    assert 0 < found.fp32_tflops < found.fp16_tflops < 3000
    assert found.bf16_tflops in (0.0, found.fp16_tflops)
    assert 200 <= found.memory_bandwidth_gb_per_s <= 8000


def test_bf16_is_missing_only_where_the_hardware_has_none():
    assert {name for name, found in accelerators().items() if found.bf16_tflops == 0} == {"T4", "V100", "V100-32GB"}


def test_memory_is_what_the_driver_reports_and_not_the_name_on_the_box():
    assert accelerators()["L4"].memory_gib < 24 and accelerators()["A10G"].memory_gib < 24
    assert accelerators()["T4"].memory_gib < 16


@pytest.mark.parametrize("name", sorted(instance_types()))
def test_an_instance_type_is_complete(name):
    found = instance_types()[name]
    assert found.source and found.vcpus >= 2 and found.memory_gib >= 4 and found.network_gbit_per_s > 0
    assert (found.accelerator is None) == (found.accelerators == 0)
    assert (found.interconnect is Interconnect.NONE) == (found.accelerators <= 1)
    assert found.quota_family in ("G", "P", "Standard")
    assert found.cpu_fp32_tflops > 0 and found.memory_bandwidth_gb_per_s > 0


def test_families_of_accelerated_types_name_a_known_accelerator():
    for name, family in families().items():
        assert family.accelerator in {"", *accelerators()}, name


@pytest.mark.parametrize(
    ("zone", "local"),
    [
        ("use1-az1", False), ("us-east-1a", False), ("apse2-az3", False), ("usgw1-az1", False), ("*", False),
        ("usw2-lax1-az1", True), ("us-west-2-lax-1a", True), ("use1-atl2-az1", True), ("use1-wl1-bos-wlz1", True),
        ("us-east-1-wl1-bos-wlz-1", True),
    ],
)  # fmt: skip
def test_which_zones_are_local(zone, local):
    assert is_local_zone(zone) is local
