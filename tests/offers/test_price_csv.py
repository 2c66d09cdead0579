"""A price list that the user brings: what it becomes, what is refused, and how malformed lists are reported."""

from decimal import Decimal
from pathlib import Path

import pytest

from orchestrator.model.error import InputError
from orchestrator.model.offer import Market, PriceBook
from orchestrator.offers import read_price_csv

HEADER = (
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuMemMiBEach,"
    "Price,SpotPrice,Region,AvailabilityZone,Source"
)
L4 = "g6.xlarge,L4,1,4,16.0,22888,0.80,{spot},us-east-1,use1-az1,test 2026-10-01"


@pytest.fixture
def book(tmp_path: Path):
    def read(*rows: str) -> PriceBook:
        path = tmp_path / "prices.csv"
        path.write_text("\n".join((HEADER, *rows)) + "\n")
        return read_price_csv(path)

    return read


def by_name(book: PriceBook) -> dict[str, object]:
    return {offer.name: offer for offer in book.offers}


def refusals(book: PriceBook) -> dict[str, str]:
    return {row.name: row.reason for row in book.refused}


def test_a_row_is_an_on_demand_offer_of_the_region_and_a_spot_offer_of_the_zone(book):
    offers = by_name(book(L4.format(spot="0.35")))
    assert sorted(offers) == ["g6.xlarge:on-demand:us-east-1:*", "g6.xlarge:spot:us-east-1:use1-az1"]
    spot = offers["g6.xlarge:spot:us-east-1:use1-az1"]
    assert (spot.price_usd_per_hour, spot.on_demand_usd_per_hour) == (Decimal("0.35"), Decimal("0.80"))
    assert spot.market is Market.SPOT and spot.interruptions_per_hour > 0
    assert offers["g6.xlarge:on-demand:us-east-1:*"].interruptions_per_hour == 0
    assert spot.instance.accelerator.name == "L4" and spot.instance.quota_family == "G"


def test_the_same_on_demand_price_in_two_zones_is_one_offer(book):
    found = book(L4.format(spot="0.35"), L4.format(spot="0.36").replace("use1-az1", "use1-az2"))
    assert [offer.name for offer in found.offers].count("g6.xlarge:on-demand:us-east-1:*") == 1
    assert len(found.offers) == 3 and not found.refused


def test_of_two_prices_for_one_offer_the_dearer_is_kept_and_the_other_refused(book):
    found = book(L4.format(spot="0.35"), L4.format(spot="0.30"))
    assert by_name(found)["g6.xlarge:spot:us-east-1:use1-az1"].price_usd_per_hour == Decimal("0.35")
    assert list(refusals(found).values()) == ["duplicate"]


def test_a_blank_spot_price_means_no_spot_offer(book):
    found = book(L4.format(spot=""))
    assert [offer.market for offer in found.offers] == [Market.ON_DEMAND] and not found.refused


@pytest.mark.parametrize("spot", ["0.80", "0.8000", "1.10", "0.79999"], ids=["equal", "trailing", "above", "rounded"])
def test_spot_at_or_above_on_demand_is_refused(book, spot):
    assert refusals(book(L4.format(spot=spot))) == {"g6.xlarge:spot:us-east-1:use1-az1": "spot-not-cheaper"}


@pytest.mark.parametrize(
    ("price", "spot", "reason"),
    [
        ("0", "0.35", {"on-demand": "zero-price", "spot": "no-on-demand-price"}),
        ("0.80", "0", {"spot": "zero-price"}),
        ("0.80", "0.01", {"spot": "implausible-price"}),
        ("0.01", "", {"on-demand": "implausible-price"}),
        ("900", "", {"on-demand": "implausible-price"}),
        ("", "0.35", {"spot": "no-on-demand-price"}),
    ],
    ids=["zero-on-demand", "zero-spot", "spot-too-low", "on-demand-too-low", "on-demand-too-high", "spot-alone"],
)
def test_prices_that_cannot_be_right_are_refused(book, price, spot, reason):
    found = book(f"g6.xlarge,L4,1,4,16.0,22888,{price},{spot},us-east-1,use1-az1,test")
    assert {name.split(":")[1]: why for name, why in refusals(found).items()} == reason


def test_a_b200_for_a_cent_is_refused_and_measures_no_spot_price(book):
    found = book("p6-b200.48xlarge,B200,8,192,2048,183359,0.01,0.005,us-east-1,use1-az1,test")
    assert {name.split(":")[1]: why for name, why in refusals(found).items()} == {
        "on-demand": "implausible-price", "spot": "no-on-demand-price",
    }  # fmt: skip


def test_local_zones_are_marked_also_on_demand(book):
    found = by_name(
        book(
            "g4dn.xlarge,T4,1,4,16.0,16384,0.526,0.24,us-west-2,usw2-az1,test",
            "g4dn.xlarge,T4,1,4,16.0,16384,0.60,0.0631,us-west-2,usw2-lax1-az1,test",
        )
    )
    assert {name: offer.local_zone for name, offer in found.items()} == {
        "g4dn.xlarge:on-demand:us-west-2:*": False,
        "g4dn.xlarge:spot:us-west-2:usw2-az1": False,
        "g4dn.xlarge:on-demand:us-west-2:usw2-lax1-az1": True,
        "g4dn.xlarge:spot:us-west-2:usw2-lax1-az1": True,
    }


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("p3.2xlarge,,,,,,3.06,0.40,us-east-1,use1-az1,test", "unknown-hardware"),
        ("zz9.large,,,4,16.0,,0.20,,us-east-1,use1-az1,test", "unknown-hardware"),
        ("zz9.large,NoSuchGpu,1,4,16.0,20000,0.90,,us-east-1,use1-az1,test", "unknown-hardware"),
        ("g6f.large,L4,0.25,2,8.0,5722,0.20,,us-east-1,use1-az1,test", "fractional-accelerator"),
        ("g6.xlarge,A10G,1,4,16.0,22888,0.80,,us-east-1,use1-az1,test", "hardware-mismatch"),
        ("g6.xlarge,L4,4,4,16.0,22888,0.80,,us-east-1,use1-az1,test", "hardware-mismatch"),
    ],
    ids=["blank-gpu", "unknown-family-is-not-cpu", "unknown-gpu", "fraction", "other-gpu", "other-count"],
)
def test_hardware_that_is_not_known_is_refused_and_never_a_cpu(book, row, reason):
    found = book(row)
    assert set(refusals(found).values()) == {reason} and not found.offers


def test_a_size_missing_from_the_table_is_read_from_the_list(book):
    found = book("g6.32xlarge,L4,4,128,512.0,22888,9.00,3.00,us-east-1,use1-az1,test")
    instance = found.offers[0].instance
    assert (instance.accelerators, instance.vcpus, instance.accelerator.name) == (4, 128, "L4")
    assert instance.interconnect == "pcie"


def test_a_cpu_family_that_the_table_knows_is_a_cpu_machine(book):
    found = book("m5.4xlarge,,,16,64.0,,0.768,,us-east-1,use1-az1,test")
    instance = found.offers[0].instance
    assert instance.accelerator is None and instance.cpu_fp32_tflops > 1 and instance.quota_family == "Standard"


@pytest.mark.parametrize(("mib", "gib"), [("20480", 20.0), ("24576", 22888 / 1024)], ids=["smaller", "the-box"])
def test_accelerator_memory_is_the_smaller_of_list_and_table(book, mib, gib):
    found = book(f"g6.xlarge,L4,1,4,16.0,{mib},0.80,,us-east-1,use1-az1,test")
    assert found.offers[0].instance.accelerator.memory_gib == pytest.approx(gib)


def test_the_date_of_a_price_is_the_one_in_its_source(book):
    found = book(
        L4.format(spot="0.35"), L4.format(spot="0.36").replace("use1-az1", "use1-az2").replace("2026-10-01", "")
    )
    assert found.as_of == "2026-10-01"
    assert by_name(found)["g6.xlarge:spot:us-east-1:use1-az2"].as_of == "unknown"


def test_sources_and_names(book):
    found = book(L4.format(spot="0.35"), "g6.xlarge,L4,1,4,16.0,22888,0.90,0.40,eu-west-1,euw1-az1,")
    assert all(offer.source for offer in found.offers)
    assert len({offer.name for offer in found.offers}) == len(found.offers) == 4


@pytest.mark.parametrize(
    ("text", "place", "field"),
    [
        (f"{HEADER}\n{L4.format(spot='cheap')}\n", ":2:", "SpotPrice"),
        (f"{HEADER}\n{L4.format(spot='0.3')}\n{L4.format(spot='nan')}\n", ":3:", "SpotPrice"),
        (f"{HEADER}\n{L4.format(spot='-1')}\n", ":2:", "SpotPrice"),
        (f"{HEADER}\n{L4.format(spot='').replace(',4,16.0', ',many,16.0')}\n", ":2:", "vCPUs"),
        (f"{HEADER}\n{L4.format(spot='').replace(',4,16.0', ',4.5,16.0')}\n", ":2:", "vCPUs"),
        (f"{HEADER}\n{L4.format(spot='').replace('us-east-1', '')}\n", ":2:", "Region"),
        (f"{HEADER}\n,L4,1,4,16.0,22888,0.8,,us-east-1,use1-az1,test\n", ":2:", "InstanceType"),
        (f"{HEADER}\ng6.xlarge,L4\n", ":2:", "number of fields"),
        (f"{HEADER}\n{L4.format(spot='0.3')},extra\n", ":2:", "number of fields"),
        ("InstanceType,Price\ng6.xlarge,1\n", ":1:", "Region"),
        ("", ":1:", "InstanceType"),
        (f"{HEADER}\n", "", "no price"),
    ],
    ids=[
        "text-price", "nan", "negative", "text-vcpus", "half-vcpu", "no-region", "no-type", "short", "long", "columns",
        "empty", "no-rows",
    ],
)  # fmt: skip
def test_a_malformed_list_is_bad_input_with_file_line_and_field(tmp_path, text, place, field):
    path = tmp_path / "prices.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_price_csv(path)
    assert f"{path}{place}" in str(caught.value) and field in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_list_that_refresh_wrote_is_read_too(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text(
        "instance_type,region,zone,market,usd_per_hour,source,as_of\ng6.xlarge,us-east-1,*,on-demand,0.8,t,2026-11-29\n"
    )
    found = read_price_csv(path)
    assert (found.as_of, [offer.name for offer in found.offers]) == ("2026-11-29", ["g6.xlarge:on-demand:us-east-1:*"])
    path.write_text(path.read_text().replace("0.8", "cheap"))
    with pytest.raises(InputError, match=r"new\.csv:2: usd_per_hour"):
        read_price_csv(path)


def test_an_unreadable_list_is_bad_input(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_price_csv(tmp_path / "absent.csv")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(InputError, match="UTF-8"):
        read_price_csv(tmp_path / "binary.csv")
