"""Endpoints outside, and the environment variables that hold their keys."""

import re
from urllib.parse import urlsplit

from orchestrator.catalog.quantity import QuantityError, shown

_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def url(value: object) -> str:
    """An absolute http or https URL without a password."""
    if not isinstance(value, str):
        raise QuantityError(f"must be a URL such as https://api.example.com/v1, not {shown(value)}")
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise QuantityError(f"is not a valid URL: {error}") from error
    if not usable or any(letter.isspace() for letter in value):
        raise QuantityError(f"must be a URL such as https://api.example.com/v1, not {shown(value)}")
    if parts.password:
        raise QuantityError("must not hold a password; put the key into the environment variable that `key_env` names")
    return value


def environment_name(value: object) -> str:
    """The name of an environment variable."""
    if not isinstance(value, str) or not _ENVIRONMENT_NAME.fullmatch(value):
        raise QuantityError("must be the name of an environment variable such as OVERFLOW_KEY, not a key itself")
    return value
