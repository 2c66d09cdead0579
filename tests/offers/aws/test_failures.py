"""AWS's errors in one line: which call, why, and what to do."""

import pytest
from botocore import exceptions as aws

from orchestrator.model.error import OperationError
from orchestrator.offers.aws import calls
from orchestrator.offers.aws.client import connect
from orchestrator.offers.aws.failures import translated

pytestmark = pytest.mark.slow

CALL = "ec2:DescribeSpotPriceHistory"


def client_error(code: str) -> aws.ClientError:
    return aws.ClientError({"Error": {"Code": code, "Message": "You are\nnot welcome."}}, "DescribeSpotPriceHistory")


@pytest.mark.parametrize(
    ("error", "what", "fix"),
    [
        (client_error("UnauthorizedOperation"), f"denied {CALL}", f"IAM action {CALL}"),
        (client_error("AccessDeniedException"), f"denied {CALL}", "docs/prices.md"),
        (client_error("AccessDenied"), f"denied {CALL}", f"IAM action {CALL}"),
        (client_error("ExpiredToken"), "does not accept the credentials", "Log in again"),
        (client_error("AuthFailure"), "does not accept the credentials", "not enabled"),
        (client_error("UnrecognizedClientException"), "does not accept the credentials", "Log in again"),
        (client_error("OptInRequired"), "not enabled for this account", "--regions"),
        (client_error("RequestLimitExceeded"), f"throttled {CALL}", "fewer"),
        (client_error("ThrottlingException"), f"throttled {CALL}", "fewer"),
        (client_error("InternalError"), f"{CALL} in eu-west-1 failed", "again"),
        (aws.NoCredentialsError(), "no usable AWS credentials", "AWS_PROFILE"),
        (aws.PartialCredentialsError(provider="env", cred_var="aws_secret_access_key"), "no usable", "AWS_PROFILE"),
        (aws.ProfileNotFound(profile="ml"), r"no usable AWS credentials.*\(ml\)|no usable.*ml", "AWS_PROFILE"),
        (aws.SSOTokenLoadError(error_msg="stale"), "no usable AWS credentials", "sso login"),
        (aws.EndpointConnectionError(endpoint_url="https://x"), "could not be reached", "network"),
        (aws.ConnectTimeoutError(endpoint_url="https://x"), "could not be reached", "network"),
        (aws.ReadTimeoutError(endpoint_url="https://x"), "could not be reached", "network"),
        (aws.ProxyConnectionError(proxy_url="http://p"), "could not be reached", "proxy"),
        (aws.PaginationError(message="the same token twice"), f"{CALL} in eu-west-1 failed", "again"),
    ],
    ids=lambda value: "" if isinstance(value, str) else str(value).split("(")[-1][:24].split(")")[0],
)  # fmt: skip
def test_what_happened_why_and_what_to_do_in_one_line(error, what, fix):
    with pytest.raises(OperationError, match=what) as caught, translated(CALL, "eu-west-1"):
        raise error
    assert fix in caught.value.fix and "Nothing was written." in caught.value.what
    assert "\n" not in str(caught.value) and "eu-west-1" in str(caught.value)
    assert caught.value.exit_code == 1


def test_our_own_mistakes_are_not_dressed_up():
    with pytest.raises(KeyError), translated(CALL, "eu-west-1"):
        raise KeyError("SpotPriceHistory")


def test_without_credentials_the_first_call_says_so(no_aws_account):
    with pytest.raises(OperationError, match=r"no usable AWS credentials for ec2:DescribeAvailabilityZones"):
        calls.zones(connect("ec2", "us-east-1"), "us-east-1")


def test_a_profile_that_is_not_there_is_told_when_connecting(no_aws_account, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "absent")
    with pytest.raises(OperationError, match="absent"):
        connect("ec2", "us-east-1")
