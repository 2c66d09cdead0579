"""Clients of AWS, with the retries that all calls of a refresh share."""

from collections.abc import Callable
from functools import cache
from typing import Any

import boto3
from botocore.config import Config

from orchestrator.offers.aws.failures import translated

PRICING_REGION = "us-east-1"
"""The Pricing API has few endpoints; this one serves the prices of all regions."""

Connect = Callable[[str, str], Any]
"""From a service ("ec2", "pricing") and a region to a boto3 client."""

_CONFIG = Config(
    # Waits between attempts are botocore's: exponential with jitter, up to 20 s. EC2's describe calls are throttled per
    # account, so other tools of the account can use up the rate for a while.
    retries={"mode": "standard", "total_max_attempts": 8},
    connect_timeout=10,
    read_timeout=60,
)


def connect(service: str, region: str) -> Any:
    """A client with the credentials that boto3 finds (environment, profile, instance role)."""
    with translated("the set-up of the AWS client", region):
        return boto3.Session().client(service, region_name=region, config=_CONFIG)


@cache
def known_regions() -> tuple[str, ...]:
    """Regions of AWS's commercial partition that this botocore knows, sorted; asks nobody."""
    return tuple(sorted(boto3.Session().get_available_regions("ec2")))
