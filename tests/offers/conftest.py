"""A stand-in for AWS: botocore's own clients with Stubber, which checks every request and answer against AWS's models.

    aws = fake_aws(region("us-east-1", types=[instance_type("g6.xlarge", ("L4", 1, 22888))], …))
    read_region(aws.connect, "us-east-1", ["g6"], WINDOW)

Retries happen below Stubber; tests that need them answer HTTP requests themselves (`http` of tests/offers/aws).
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.stub import ANY, Stubber

from orchestrator.offers.aws.region import Window

END = datetime(2026, 11, 30, 12, tzinfo=UTC)
ZONES = {
    "us-east-1": {"us-east-1a": "use1-az6", "us-east-1b": "use1-az1"},
    "us-west-2": {"us-west-2a": "usw2-az2", "us-west-2-lax-1a": "usw2-lax1-az1"},
    "eu-west-1": {"eu-west-1a": "euw1-az3"},
}
Page = list[Any]


def instance_type(name: str, gpu: tuple[str, int, int] | None = None, vcpus: int = 4, memory_mib: int = 16384) -> Any:
    """A type as DescribeInstanceTypes tells it; `gpu` is name, count and MiB of one."""
    told: dict[str, Any] = {
        "InstanceType": name,
        "VCpuInfo": {"DefaultVCpus": vcpus},
        "MemoryInfo": {"SizeInMiB": memory_mib},
        "NetworkInfo": {"NetworkPerformance": "Up to 10 Gigabit", "EfaSupported": False},
        "SupportedUsageClasses": ["on-demand", "spot"],
    }
    if gpu:
        told["GpuInfo"] = {"Gpus": [{"Name": gpu[0], "Count": gpu[1], "MemoryInfo": {"SizeInMiB": gpu[2]}}]}
    return told


def product(name: str, usd: str | None = "0.8048000000", region: str = "us-east-1", **other: Any) -> str:
    """An on-demand product as GetProducts tells it; `other` replaces attributes, `prices` or `unit`."""
    prices = other.pop("prices", {"USD": usd})
    unit = other.pop("unit", "Hrs")
    sku = other.pop("sku", f"SKU-{name}")
    attributes = {
        "instanceType": name,
        "regionCode": region,
        "locationType": "AWS Region",
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "capacitystatus": "Used",
        "preInstalledSw": "NA",
        "marketoption": "OnDemand",
        **other,
    }
    dimension = {"unit": unit, "beginRange": "0", "endRange": "Inf", "pricePerUnit": prices}
    term = {"effectiveDate": "2026-11-01T00:00:00Z", "priceDimensions": {f"{sku}.JRTC.6YS6": dimension}}
    return json.dumps(
        {
            "product": {"sku": sku, "productFamily": "Compute Instance", "attributes": attributes},
            "serviceCode": "AmazonEC2",
            "terms": {"OnDemand": {f"{sku}.JRTC": term}, "Reserved": {}},
            "publicationDate": "2026-11-20T16:41:00Z",
        }
    )


def spot(name: str, zone: str, usd: str, days_before: float = 30.0, system: str = "Linux/UNIX") -> Any:
    """A spot price change as DescribeSpotPriceHistory tells it; `zone` is a name."""
    return {
        "InstanceType": name,
        "AvailabilityZone": zone,
        "ProductDescription": system,
        "SpotPrice": usd,
        "Timestamp": END - timedelta(days=days_before),
    }


@dataclass
class Region:
    """What AWS answers for one region. `types`, `spot`, `products` are lists of pages; an exception's code in
    `fails_with` fails that call's last page."""

    name: str
    types: list[Page]
    spot: list[Page]
    products: list[Page]
    offered: list[tuple[str, str]]
    zones: dict[str, str]
    fails: dict[str, str] = field(default_factory=dict)


def region(name: str, types: Page, spot: Page, products: Page, **other: Any) -> Region:
    """A region with one page of each; offered is every type in every zone unless told otherwise."""
    zones = other.pop("zones", ZONES[name])
    offered = other.pop("offered", [(each["InstanceType"], zone) for each in types for zone in zones.values()])
    return Region(name=name, types=[types], spot=[spot], products=[products], offered=offered, zones=zones, **other)


class FakeAws:
    """Clients with queued answers; asking anything else, or in another order, fails."""

    def __init__(self, regions: Iterable[Region]) -> None:
        self.calls: list[str] = []
        self._stubs: list[Stubber] = []
        self._ec2 = {each.name: each for each in regions}
        self._pricing = list(self._ec2.values())

    def connect(self, service: str, region: str) -> Any:
        client = boto3.client(
            service, region_name=region, aws_access_key_id="test", aws_secret_access_key="test", config=None
        )
        stub = Stubber(client)
        client.meta.events.register("provide-client-params.*.*", self._note)
        if service == "ec2":
            self._answer_ec2(stub, self._ec2[region])
        else:
            told = self._pricing.pop(0)
            filters = [
                {"Type": "TERM_MATCH", "Field": field, "Value": value}
                for field, value in (
                    ("operatingSystem", "Linux"), ("tenancy", "Shared"), ("capacitystatus", "Used"),
                    ("preInstalledSw", "NA"), ("regionCode", told.name),
                )
            ]  # fmt: skip
            _queue(stub, told, "get_products", "PriceList", told.products, ServiceCode="AmazonEC2", Filters=filters)
        stub.activate()
        self._stubs.append(stub)
        return client

    def assert_all_asked(self) -> None:
        for stub in self._stubs:
            stub.assert_no_pending_responses()

    def _answer_ec2(self, stub: Stubber, told: Region) -> None:
        names = sorted(each["InstanceType"] for page in told.types for each in page)
        _queue(stub, told, "describe_instance_types", "InstanceTypes", told.types, Filters=ANY)
        zones = [{"ZoneName": name, "ZoneId": zone_id} for name, zone_id in told.zones.items()]
        if code := told.fails.get("describe_availability_zones"):
            stub.add_client_error("describe_availability_zones", code)
        stub.add_response("describe_availability_zones", {"AvailabilityZones": zones}, {})
        offered = [
            {"InstanceType": name, "LocationType": "availability-zone-id", "Location": zone}
            for name, zone in told.offered
        ]
        if names:
            _queue(
                stub, told, "describe_instance_type_offerings", "InstanceTypeOfferings", [offered],
                LocationType="availability-zone-id", Filters=[{"Name": "instance-type", "Values": names}],
            )  # fmt: skip
            _queue(
                stub, told, "describe_spot_price_history", "SpotPriceHistory", told.spot,
                StartTime=ANY, EndTime=ANY, InstanceTypes=names, ProductDescriptions=["Linux/UNIX"],
            )  # fmt: skip

    def _note(self, model: Any, **_: Any) -> None:
        service = "pricing" if model.name == "GetProducts" else "ec2"
        self.calls.append(f"{service}:{model.name}")


def _queue(stub: Stubber, told: Region, call: str, key: str, pages: Sequence[Page], **asked: Any) -> None:
    for number, page in enumerate(pages):
        token = {"NextToken": f"page {number}"} if number else {}
        if number == len(pages) - 1 and call in told.fails:
            stub.add_client_error(call, told.fails[call], "as the test wants", expected_params={**asked, **token})
            return
        more = {} if number == len(pages) - 1 else {"NextToken": f"page {number + 1}"}
        stub.add_response(call, {key: page, **more}, {**asked, **token})


@pytest.fixture
def no_aws_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """No credentials anywhere and no metadata service to ask."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no-credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def make() -> SimpleNamespace:
    """Builders of AWS's answers, and the window that they lie in."""
    window = Window(start=END - timedelta(days=7), end=END)
    return SimpleNamespace(
        instance_type=instance_type, product=product, spot=spot, region=region, aws=FakeAws, window=window, end=END
    )
