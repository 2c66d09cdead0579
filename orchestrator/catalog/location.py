"""Names and locations in a catalog: local paths (relative to the catalog's folder) and s3:// URIs."""

import os
import re
from pathlib import Path

from orchestrator.catalog.quantity import QuantityError, shown
from orchestrator.catalog.suggest import nearest

S3 = "s3://"
DATE = "{date}"
NAME_PATTERN = "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"
_NAME = re.compile(NAME_PATTERN)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_BUCKET = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/.*)?")
"""Bucket names as S3 allows them (docs.aws.amazon.com/AmazonS3, bucket naming rules, 2026)."""
_BRACES = re.compile(r"\{[^{}]*\}?|\}")


def name(value: object) -> str:
    """The name of a job, card or part: at most 63 letters, digits, `.`, `_` and `-`, as names become folder names."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise QuantityError(
            f"{shown(value)} must be 1 to 63 letters, digits, . _ or -, and begin with a letter or digit"
        )
    return value


def location(value: object) -> str:
    """A path or an s3:// URI."""
    if not isinstance(value, str) or not value.strip():
        raise QuantityError(f"must be a path or an s3:// URI, not {shown(value)}")
    if value != value.strip() or "\n" in value or "\0" in value:
        raise QuantityError("must not have spaces at its ends or line breaks")
    scheme = _SCHEME.match(value)
    if scheme and scheme[0] != S3:
        near = f"s3://{value[scheme.end() :]}" if nearest(scheme[1], ["s3", "s3a", "s3n"]) else None
        raise QuantityError(f"{scheme[0]} is not supported; give a path or an s3:// URI", near)
    if scheme and not _BUCKET.fullmatch(value):
        raise QuantityError("must be s3://BUCKET/KEY with a valid bucket name")
    return value


def dated(value: object) -> str:
    """A location that may hold `{date}`, the date of the run as YYYY-MM-DD."""
    text = location(value)
    for braces in _BRACES.findall(text):
        if braces != DATE:
            raise QuantityError(f"{braces} is unknown; the only placeholder is {DATE}", DATE)
    return text


def absolute(text: str, base_dir: Path) -> str:
    """The location as the rest of the product uses it: a URI as it is, a path absolute from `base_dir`."""
    if text.startswith(S3):
        return text
    return os.path.normpath(Path(base_dir).absolute() / os.path.expanduser(text))  # noqa: PTH111 (Path.expanduser raises for unknown users)


def within(root: str, *parts: str) -> str:
    """A location below another."""
    return "/".join([root.rstrip("/"), *parts])
