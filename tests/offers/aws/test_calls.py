"""The calls themselves: moto's EC2 where moto has the call, botocore's Stubber for pages, raw HTTP for retries."""

import json
import time

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from moto import mock_aws

from orchestrator.model.error import OperationError
from orchestrator.offers.aws import calls, client

pytestmark = pytest.mark.slow


@pytest.fixture
def ec2():
    with mock_aws():
        yield boto3.client("ec2", "us-east-1", aws_access_key_id="test", aws_secret_access_key="test")


def test_zones_have_ids_and_names(ec2):
    told = {each["ZoneName"]: each["ZoneId"] for each in calls.zones(ec2, "us-east-1")}
    assert told["us-east-1a"].startswith("use1-az") and len(told) == 6


def test_types_are_those_of_the_families(ec2):
    names = {each["InstanceType"] for each in calls.instance_types(ec2, "us-east-1", ["g6", "p4d"])}
    assert "g6.xlarge" in names and "p4d.24xlarge" in names
    assert {name.split(".")[0] for name in names} == {"g6", "p4d"}


def test_offerings_are_by_zone_id(ec2):
    told = calls.offerings(ec2, "us-east-1", ["g6.xlarge", "c7i.large"])
    assert {each["InstanceType"] for each in told} == {"g6.xlarge", "c7i.large"}
    assert all(each["Location"].startswith("use1-az") for each in told)


def test_many_types_are_asked_for_in_pieces(ec2):
    names = sorted(each["InstanceType"] for each in calls.instance_types(ec2, "us-east-1", ["c5", "m5", "c6i", "g6",
                   "g5", "g4dn", "m6i", "r6i", "c7i", "m7i", "g6e", "p5"]))  # fmt: skip
    assert len(names) > calls.MOST_TYPES
    assert {each["InstanceType"] for each in calls.offerings(ec2, "us-east-1", names)} <= set(names)


def test_nothing_is_asked_about_no_types(make):
    aws = make.aws([make.region("us-east-1", [], [], [])])
    stubbed = aws.connect("ec2", "us-east-1")
    assert calls.offerings(stubbed, "us-east-1", []) == []
    assert calls.spot_history(stubbed, "us-east-1", [], make.window.start, make.window.end) == []


def test_all_pages_are_read(make):
    told = make.region("us-east-1", [], [], [])
    told.types = [[make.instance_type("g6.xlarge")], [make.instance_type("g6.2xlarge")]]
    told.spot = [[make.spot("g6.xlarge", "us-east-1a", "0.3")], [make.spot("g6.2xlarge", "us-east-1a", "0.5")]]
    told.products = [[make.product("g6.xlarge")], [], [make.product("g6.2xlarge")]]
    told.offered = [("g6.xlarge", "use1-az6"), ("g6.2xlarge", "use1-az6")]
    aws = make.aws([told])
    ec2 = aws.connect("ec2", "us-east-1")
    names = sorted(each["InstanceType"] for each in calls.instance_types(ec2, "us-east-1", ["g6"]))
    assert names == ["g6.2xlarge", "g6.xlarge"]
    calls.zones(ec2, "us-east-1")
    assert len(calls.offerings(ec2, "us-east-1", names)) == 2
    assert len(calls.spot_history(ec2, "us-east-1", names, make.window.start, make.window.end)) == 2
    assert len(calls.products(aws.connect("pricing", client.PRICING_REGION), "us-east-1")) == 2
    aws.assert_all_asked()


class Http:
    """Answers HTTP requests of a client one after another: (status, body); repeats the last."""

    def __init__(self, *answers: tuple[int, str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, request, **_):
        self.asked.append(request.url)
        status, body = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return AWSResponse(request.url, status, {"content-type": "text/xml"}, _Raw(body.encode()))


class _Raw:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self, **_):
        yield self._content


EC2_THROTTLED = (
    "<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>slow</Message></Error></Errors></Response>"
)
EC2_ZONES = (
    '<DescribeAvailabilityZonesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><availabilityZoneInfo><item>'
    "<zoneName>us-east-1a</zoneName><zoneId>use1-az6</zoneId></item></availabilityZoneInfo>"
    "</DescribeAvailabilityZonesResponse>"
)


@pytest.fixture
def answered(monkeypatch):
    """Connects the product's own client, with its retry settings, to given HTTP answers; waits become a list."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)

    def connect(service: str, *answers: tuple[int, str]):
        http = Http(*answers)
        connected = client.connect(service, "us-east-1")
        connected.meta.events.register("before-send.*.*", http)
        return connected, http, waits

    return connect


def test_a_throttled_call_is_repeated_and_succeeds(answered):
    ec2, http, waits = answered("ec2", (503, EC2_THROTTLED), (503, EC2_THROTTLED), (200, EC2_ZONES))
    assert calls.zones(ec2, "us-east-1") == [{"ZoneName": "us-east-1a", "ZoneId": "use1-az6"}]
    assert len(http.asked) == 3 and len(waits) == 2 and all(0 <= wait_s <= 20 for wait_s in waits)


def test_a_call_that_stays_throttled_is_an_error_that_says_so(answered):
    ec2, http, _ = answered("ec2", (503, EC2_THROTTLED))
    with pytest.raises(OperationError, match=r"throttled ec2:DescribeAvailabilityZones in us-east-1 .*RequestLimit"):
        calls.zones(ec2, "us-east-1")
    assert len(http.asked) == 8


def test_prices_are_asked_for_over_the_wire_and_repeated_when_throttled(answered, make):
    page = json.dumps({"FormatVersion": "aws_v1", "PriceList": [make.product("g6.xlarge")]})
    throttled = json.dumps({"__type": "ThrottlingException", "message": "Rate exceeded"})
    pricing, http, _ = answered("pricing", (400, throttled), (200, page))
    assert calls.products(pricing, "us-east-1") == [make.product("g6.xlarge")]
    assert http.asked == ["https://api.pricing.us-east-1.amazonaws.com/"] * 2


def test_a_network_that_is_not_there_is_an_error_that_says_so(answered):
    ec2, _, _ = answered("ec2")

    def fail(request, **_):
        from botocore.exceptions import EndpointConnectionError

        raise EndpointConnectionError(endpoint_url=request.url)

    ec2.meta.events.register_first("before-send.*.*", fail)
    with pytest.raises(OperationError, match="could not be reached for ec2:DescribeAvailabilityZones"):
        calls.zones(ec2, "us-east-1")


def test_regions_are_known_without_asking():
    assert {"us-east-1", "us-west-2", "eu-west-1"} <= set(client.known_regions())
    assert not any(name.startswith(("cn-", "us-gov-")) for name in client.known_regions())
