"""The calls of a refresh and nothing else: every page of each, as AWS sends it. Least privilege is `ACTIONS`."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from orchestrator.offers.aws.failures import translated

ACTIONS = (
    "ec2:DescribeAvailabilityZones",
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeSpotPriceHistory",
    "pricing:GetProducts",
)
"""The IAM actions that a refresh needs, all of them reading; none supports narrower resources than "*"."""

ON_DEMAND_FILTERS = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "capacitystatus": "Used",
    "preInstalledSw": "NA",
}
LINUX = "Linux/UNIX"
MOST_TYPES = 100
"""Instance types named in one request: EC2 takes 200 values of a filter."""

Answer = dict[str, Any]


def zones(ec2: Any, region: str) -> list[Answer]:
    """The zones of a region that the account may use, local zones it opted into among them."""
    with translated("ec2:DescribeAvailabilityZones", region):
        return list(ec2.describe_availability_zones()["AvailabilityZones"])


def instance_types(ec2: Any, region: str, families: Sequence[str]) -> list[Answer]:
    """Hardware of every size of the families that the region knows."""
    with translated("ec2:DescribeInstanceTypes", region):
        wanted = [{"Name": "instance-type", "Values": [f"{family}.*" for family in families]}]
        return list(_items(ec2, "describe_instance_types", "InstanceTypes", {"Filters": wanted}))


def offerings(ec2: Any, region: str, types: Sequence[str]) -> list[Answer]:
    """Which of the types are offered in which zone, by zone id."""
    found: list[Answer] = []
    with translated("ec2:DescribeInstanceTypeOfferings", region):
        for some in _pieces(types):
            asked = {
                "LocationType": "availability-zone-id",
                "Filters": [{"Name": "instance-type", "Values": some}],
            }
            found += _items(ec2, "describe_instance_type_offerings", "InstanceTypeOfferings", asked)
    return found


def spot_history(ec2: Any, region: str, types: Sequence[str], start: datetime, end: datetime) -> list[Answer]:
    """Changes of Linux spot prices from `start` to `end`, and the price that each pool entered the window with."""
    found: list[Answer] = []
    with translated("ec2:DescribeSpotPriceHistory", region):
        for some in _pieces(types):
            asked = {
                "StartTime": start,
                "EndTime": end,
                "InstanceTypes": some,
                "ProductDescriptions": [LINUX],
            }
            found += _items(ec2, "describe_spot_price_history", "SpotPriceHistory", asked)
    return found


def products(pricing: Any, region: str) -> list[str]:
    """On-demand products of a region, each a JSON text: Linux, shared tenancy, used capacity, no paid software."""
    wanted = {**ON_DEMAND_FILTERS, "regionCode": region}
    asked = {
        "ServiceCode": "AmazonEC2",
        "Filters": [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()],
    }
    with translated("pricing:GetProducts", region):
        return list(_items(pricing, "get_products", "PriceList", asked))


def _items(client: Any, call: str, key: str, asked: dict[str, Any]) -> Iterator[Any]:
    for page in client.get_paginator(call).paginate(**asked):
        yield from page.get(key, ())


def _pieces(types: Sequence[str]) -> Iterator[list[str]]:
    for first in range(0, len(types), MOST_TYPES):
        yield list(types[first : first + MOST_TYPES])
