"""What AWS's errors mean to a user: one line that names the call, the cause and the remedy."""

from collections.abc import Iterator
from contextlib import contextmanager

from botocore import exceptions as aws

from orchestrator.model.error import OperationError

_DENIED = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError"}
_BAD_CREDENTIALS = {
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "RequestExpired",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}
_THROTTLED = {
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
}
_NO_CREDENTIALS = (
    aws.NoCredentialsError,
    aws.PartialCredentialsError,
    aws.CredentialRetrievalError,
    aws.ProfileNotFound,
    aws.SSOError,
    aws.TokenRetrievalError,
    aws.ConfigNotFound,
    aws.ConfigParseError,
)
_NO_NETWORK = (aws.HTTPClientError, aws.ConnectionError)

UNTOUCHED = "Nothing was written."


@contextmanager
def translated(action: str, region: str) -> Iterator[None]:
    """Turns botocore's errors into an OperationError; `action` is as in an IAM policy: "ec2:DescribeInstanceTypes"."""
    try:
        yield
    except _NO_CREDENTIALS as error:
        raise OperationError(
            f"no usable AWS credentials for {action} in {region} ({_line(error)}). {UNTOUCHED}",
            "Set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or log in with `aws sso login`.",
        ) from error
    except aws.ClientError as error:
        raise _refused(error, action, region) from error
    except _NO_NETWORK as error:
        raise OperationError(
            f"AWS could not be reached for {action} in {region} ({_line(error)}). {UNTOUCHED}",
            "Check network and proxy, then run it again.",
        ) from error
    except aws.BotoCoreError as error:
        raise OperationError(f"{action} in {region} failed ({_line(error)}). {UNTOUCHED}", "Run it again.") from error


def _refused(error: aws.ClientError, action: str, region: str) -> OperationError:
    code = str(error.response.get("Error", {}).get("Code", "unknown"))
    if code in _DENIED:
        return OperationError(
            f"AWS denied {action} in {region} ({code}). {UNTOUCHED}",
            f"Allow the IAM action {action} to this identity; docs/prices.md has the whole policy.",
        )
    if code in _BAD_CREDENTIALS:
        return OperationError(
            f"AWS does not accept the credentials for {action} in {region} ({code}). {UNTOUCHED}",
            "Log in again, or correct keys and clock; a region that is not enabled for the account answers the same.",
        )
    if code == "OptInRequired":
        return OperationError(
            f"{region} is not enabled for this account ({action}: {code}). {UNTOUCHED}",
            "Enable the region, or leave it out of --regions.",
        )
    if code in _THROTTLED:
        return OperationError(
            f"AWS throttled {action} in {region} through all attempts ({code}). {UNTOUCHED}",
            "Run it again in some minutes, or with fewer --regions or --families.",
        )
    return OperationError(f"{action} in {region} failed ({_line(error)}). {UNTOUCHED}", "Run it again.")


def _line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
