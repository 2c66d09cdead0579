"""One region: AWS's answers become rows, are refused, or are found incomplete."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from orchestrator.model.error import OperationError
from orchestrator.model.offer import Market, PriceBook
from orchestrator.offers.aws.calls import ACTIONS
from orchestrator.offers.aws.region import read_region, region_rows
from orchestrator.offers.book import build_book
from orchestrator.offers.snapshot_csv import quotes_of, text_of

pytestmark = pytest.mark.slow

L4 = ("L4", 1, 22888)
FAMILIES = ("g4dn", "g6", "p5e", "p6-b200")


@pytest.fixture
def rows(make):
    """Reads one fake region and returns its RegionRows."""

    def read(told):
        aws = make.aws([told])
        found = region_rows(read_region(aws.connect, told.name, FAMILIES, make.window), FAMILIES, make.window)
        aws.assert_all_asked()
        assert sorted(set(aws.calls)) == sorted(ACTIONS), "what is asked is what the IAM policy allows"
        return found

    return read


def book_of(found) -> PriceBook:
    return build_book(quotes_of(text_of(found.rows), "new.csv"))


def reasons(refused) -> dict[str, str]:
    return {row.name: row.reason for row in refused}


def test_prices_hardware_dates_and_sources_are_put_together(rows, make):
    found = rows(
        make.region(
            "us-east-1",
            [make.instance_type("g6.xlarge", L4)],
            [make.spot("g6.xlarge", "us-east-1a", "0.35"), make.spot("g6.xlarge", "us-east-1a", "0.60", 0.9)],
            [make.product("g6.xlarge", "0.8048")],
        )
    )
    assert not found.refused
    on_demand, spot = sorted(found.rows, key=lambda row: row.market)
    assert (on_demand.market, on_demand.zone, on_demand.usd_per_hour) == (Market.ON_DEMAND, "*", Decimal("0.8048"))
    assert (spot.market, spot.zone) == (Market.SPOT, "use1-az6"), "zone ids, which mean the same in every account"
    assert (spot.usd_per_hour, spot.p90_usd_per_hour) == (Decimal("0.35"), Decimal("0.60"))
    assert on_demand.source == "AWS Pricing API GetProducts, list of 2026-11-20"
    assert spot.source == "EC2 DescribeSpotPriceHistory, time-weighted median of 7 days"
    assert {row.as_of for row in found.rows} == {"2026-11-30"}
    offers = {offer.name: offer for offer in book_of(found).offers}
    assert offers["g6.xlarge:spot:us-east-1:use1-az6"].p90_usd_per_hour == Decimal("0.60")
    assert offers["g6.xlarge:spot:us-east-1:use1-az6"].on_demand_usd_per_hour == Decimal("0.8048")


def test_a_local_zone_under_the_region_is_marked_and_keeps_its_own_price(rows, make):
    found = rows(
        make.region(
            "us-west-2",
            [make.instance_type("g4dn.xlarge", ("T4", 1, 16384))],
            [make.spot("g4dn.xlarge", "us-west-2a", "0.24"), make.spot("g4dn.xlarge", "us-west-2-lax-1a", "0.063")],
            [
                make.product("g4dn.xlarge", "0.526", "us-west-2"),
                make.product("g4dn.xlarge", "0.631", "us-west-2", locationType="AWS Local Zone"),
            ],
        )
    )
    assert {(offer.zone, offer.local_zone, str(offer.price_usd_per_hour)) for offer in book_of(found).offers} == {
        ("*", False, "0.526"), ("usw2-az2", False, "0.24"), ("usw2-lax1-az1", True, "0.063"),
    }  # fmt: skip


def test_a_type_that_only_a_local_zone_offers_has_no_price_of_the_region(rows, make):
    types = [make.instance_type("g4dn.xlarge", ("T4", 1, 16384)), make.instance_type("g6.xlarge", L4)]
    found = rows(
        make.region(
            "us-west-2", types, [make.spot("g6.xlarge", "us-west-2a", "0.3")],
            [make.product("g4dn.xlarge", "0.526", "us-west-2"), make.product("g6.xlarge", "0.8", "us-west-2")],
            offered=[("g4dn.xlarge", "usw2-lax1-az1"), ("g6.xlarge", "usw2-az2")],
        )
    )  # fmt: skip
    assert reasons(found.refused) == {"g4dn.xlarge:on-demand:us-west-2:*": "not-offered"}


def test_pools_that_are_not_offered_or_lie_in_unknown_zones_are_not_listed(rows, make):
    found = rows(
        make.region(
            "us-east-1",
            [make.instance_type("g6.xlarge", L4)],
            [make.spot("g6.xlarge", zone, "0.35") for zone in ("us-east-1a", "us-east-1b", "us-east-1z")],
            [make.product("g6.xlarge"), make.product("g6.7xlarge", "0.9")],
            offered=[("g6.xlarge", "use1-az6")],
        )
    )
    assert {row.zone for row in found.rows} == {"*", "use1-az6"}
    assert reasons(found.refused) == {
        "g6.xlarge:spot:us-east-1:use1-az1": "not-offered",
        "g6.xlarge:spot:us-east-1:us-east-1z": "unknown-zone",
        "g6.7xlarge:on-demand:us-east-1:*": "not-offered",
    }


@pytest.mark.parametrize(
    ("on_demand", "spot", "refused"),
    [
        ("0.80", "0.80", {"spot": "spot-not-cheaper"}),
        ("0.80", "1.20", {"spot": "spot-not-cheaper"}),
        ("0.80", "0.01", {"spot": "implausible-price"}),
        ("0.80", "0.000000", {"spot": "zero-price"}),
        ("0.0000000000", "0.35", {"on-demand": "zero-price", "spot": "no-on-demand-price"}),
        ("0.80", "", {}),
    ],
    ids=["spot-equal", "spot-above", "spot-too-low", "spot-zero", "on-demand-zero", "spot-blank"],
)
def test_implausible_prices_are_refused_by_the_price_book(rows, make, on_demand, spot, refused):
    found = rows(
        make.region(
            "us-east-1",
            [make.instance_type("g6.xlarge", L4)],
            [make.spot("g6.xlarge", "us-east-1a", spot), make.spot("g6.xlarge", "us-east-1b", "0.40")],
            [make.product("g6.xlarge", on_demand)],
        )
    )
    told = {row.name: row.reason for row in book_of(found).refused if not row.name.endswith("use1-az1")}
    assert {name.split(":")[1]: why for name, why in told.items()} == refused
    if not spot:
        assert "use1-az6" not in {row.zone for row in found.rows}


def test_a_b200_for_a_cent_is_refused(rows, make):
    found = rows(
        make.region(
            "us-east-1",
            [make.instance_type("p6-b200.48xlarge", ("B200", 8, 183359), 192, 2097152)],
            [make.spot("p6-b200.48xlarge", "us-east-1a", "0.01"), make.spot("p6-b200.48xlarge", "us-east-1b", "40")],
            [make.product("p6-b200.48xlarge", "113.9")],
        )
    )
    assert reasons(book_of(found).refused) == {"p6-b200.48xlarge:spot:us-east-1:use1-az6": "implausible-price"}


def test_spot_without_an_on_demand_price_is_refused(rows, make):
    types = [make.instance_type("p5e.48xlarge", ("H200", 8, 144384), 192, 2097152), make.instance_type("g6.xlarge", L4)]
    found = rows(
        make.region("us-east-1", types, [make.spot("p5e.48xlarge", "us-east-1a", "14.5")], [make.product("g6.xlarge")])
    )
    assert reasons(book_of(found).refused) == {"p5e.48xlarge:spot:us-east-1:use1-az6": "no-on-demand-price"}


def test_a_gpu_machine_whose_gpu_is_not_told_is_refused_and_never_a_cpu(rows, make):
    types = [make.instance_type("g6.32xlarge", None, vcpus=128), make.instance_type("g6.xlarge", L4)]
    products = [make.product("g6.32xlarge", "9"), make.product("g6.xlarge")]
    found = rows(make.region("us-east-1", types, [make.spot("g6.xlarge", "us-east-1a", "0.3")], products))
    assert reasons(book_of(found).refused) == {"g6.32xlarge:on-demand:us-east-1:*": "unknown-hardware"}


def test_a_size_that_the_table_lacks_is_still_known_when_the_list_is_read_again(rows, make):
    types = [make.instance_type("g6.32xlarge", ("L4", 4, 22000), vcpus=128, memory_mib=524288)]
    found = rows(
        make.region(
            "us-east-1", types, [make.spot("g6.32xlarge", "us-east-1a", "3")], [make.product("g6.32xlarge", "9")]
        )
    )
    hardware = book_of(found).offers[0].instance
    assert (hardware.vcpus, hardware.memory_gib, hardware.accelerators) == (128, 512.0, 4)
    assert hardware.accelerator.memory_gib == pytest.approx(22000 / 1024)


def test_other_currencies_are_refused_with_their_sku(rows, make):
    types = [make.instance_type("g6.xlarge", L4), make.instance_type("g6.2xlarge", L4, 8)]
    products = [make.product("g6.2xlarge", prices={"CNY": "6"}), make.product("g6.xlarge")]
    found = rows(make.region("us-east-1", types, [make.spot("g6.xlarge", "us-east-1a", "0.3")], products))
    (refused,) = found.refused
    assert refused.reason == "other-currency" and "SKU-g6.2xlarge" in refused.detail and refused.region == "us-east-1"


def test_of_two_products_for_one_type_the_dearer_is_kept(rows, make):
    products = [make.product("g6.xlarge", "0.80", sku="A"), make.product("g6.xlarge", "0.95", sku="B")]
    types = [make.instance_type("g6.xlarge", L4)]
    book = book_of(rows(make.region("us-east-1", types, [make.spot("g6.xlarge", "us-east-1a", "0.3")], products)))
    assert {str(offer.on_demand_usd_per_hour) for offer in book.offers} == {"0.95"}
    assert [row.reason for row in book.refused] == ["duplicate"]


def test_the_day_of_a_list_is_that_of_the_end_of_its_window_in_utc(rows, make):
    assert make.window.days == 7
    shorter = replace(make.window, start=make.end - timedelta(days=1))
    assert shorter.days == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"types": [[]]}, "offers none of the families"),
        ({"offered": []}, "offers none of the families"),
        ({"offered": [("g6.xlarge", "usw2-lax1-az1")]}, "offers none of the families"),
        ({"products": [[]]}, "has on-demand prices for only 0 of 3 instance types"),
        ({"spot": [[]]}, "has no spot price in the window"),
        ({"zones": {}}, "names no zone"),
    ],
    ids=["no-types", "no-offerings", "only-local", "no-on-demand", "no-spot", "no-zones"],
)
def test_an_answer_that_is_cut_short_is_an_error(make, change, said):
    names = ("g6.xlarge", "g6.2xlarge", "g6.4xlarge")
    whole = make.region(
        "us-east-1",
        [make.instance_type(name, L4) for name in names],
        [make.spot("g6.xlarge", "us-east-1a", "0.3")],
        [make.product(name) for name in names],
    )
    told = replace(whole, **change)
    with pytest.raises(OperationError, match=rf"us-east-1 is incomplete: it {said}\. Nothing was written"):
        region_rows(read_region(make.aws([told]).connect, "us-east-1", FAMILIES, make.window), FAMILIES, make.window)


def test_a_record_without_its_name_is_an_error(make):
    told = make.region("us-east-1", [make.instance_type("g6.xlarge", L4)], [], [make.product("g6.xlarge")])
    answers = read_region(make.aws([told]).connect, "us-east-1", FAMILIES, make.window)
    with pytest.raises(OperationError, match=r"a record without ZoneId: \['ZoneName'\]"):
        region_rows(replace(answers, zones=[{"ZoneName": "us-east-1a"}]), FAMILIES, make.window)


def test_types_that_are_not_sold_as_spot_need_no_spot_price(rows, make):
    block = {**make.instance_type("p5e.48xlarge", ("H200", 8, 144384), 192), "SupportedUsageClasses": ["on-demand"]}
    found = rows(make.region("us-east-1", [block], [], [make.product("p5e.48xlarge", "60")]))
    assert [row.market for row in found.rows] == [Market.ON_DEMAND]


@pytest.mark.parametrize(
    ("call", "action"),
    [
        ("describe_availability_zones", "ec2:DescribeAvailabilityZones"),
        ("describe_instance_types", "ec2:DescribeInstanceTypes"),
        ("describe_instance_type_offerings", "ec2:DescribeInstanceTypeOfferings"),
        ("describe_spot_price_history", "ec2:DescribeSpotPriceHistory"),
        ("get_products", "pricing:GetProducts"),
    ],
)
def test_whichever_call_is_denied_the_error_names_its_iam_action(make, call, action):
    told = make.region(
        "us-east-1",
        [make.instance_type("g6.xlarge", L4)],
        [make.spot("g6.xlarge", "us-east-1a", "0.3")],
        [make.product("g6.xlarge")],
        fails={call: "UnauthorizedOperation"},
    )
    with pytest.raises(OperationError, match=f"denied {action} in us-east-1.*IAM action {action}"):
        read_region(make.aws([told]).connect, "us-east-1", FAMILIES, make.window)
