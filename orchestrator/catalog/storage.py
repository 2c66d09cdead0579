"""Reads small files and lists folders, of local paths and s3:// URIs alike."""

import fnmatch
import os
import re
from pathlib import Path
from typing import Any, BinaryIO, cast

from orchestrator.catalog.location import S3

_WILDCARD = re.compile(r"[*?\[]")
_CONNECT_S, _REQUEST_S = 3, 10
"""A wrong endpoint should be an error line soon, not a hang."""


class StorageError(Exception):
    """A file or folder that cannot be read; the message says which and why."""


def read_bytes(name: str, region: str) -> bytes:
    """The whole content of a file."""
    return _read(name, None, region)


def read_head(name: str, size: int, region: str) -> bytes:
    """At most the first `size` bytes of a file."""
    return _read(name, size, region)


def _read(name: str, size: int | None, region: str) -> bytes:
    with open_file(name, region) as file:
        try:
            return bytes(file.read() if size is None else file.read(size))
        except OSError as error:
            raise StorageError(f"{name} cannot be read: {_reason(error)}") from error


def open_file(name: str, region: str) -> BinaryIO:
    """A file opened for reading, with random access."""
    try:
        if not name.startswith(S3):
            return Path(name).open("rb")
        filesystem, path = _s3(name, region)
        return cast(BinaryIO, filesystem.open_input_file(path))
    except (OSError, ValueError) as error:
        raise StorageError(f"{name} cannot be read: {_reason(error)}") from error


def first_match(pattern: str, region: str) -> str | None:
    """The first file, in order of name, that a path or glob names (of a folder: the first file in it); None = none."""
    try:
        return _first_s3(pattern, region) if pattern.startswith(S3) else _first_local(pattern)
    except (OSError, ValueError) as error:
        raise StorageError(f"{pattern} cannot be listed: {_reason(error)}") from error


def _first_local(pattern: str) -> str | None:
    base, wild = _split(pattern)
    if not wild:
        found = Path(pattern)
        if not found.is_dir():
            return pattern if found.exists() else None
        inside = sorted(each for each in found.rglob("*") if each.is_file())
        return str(inside[0]) if inside else None
    matches = sorted(each for each in Path(base).glob(wild) if each.is_file()) if Path(base).is_dir() else []
    return str(matches[0]) if matches else None


def _first_s3(pattern: str, region: str) -> str | None:
    from pyarrow import fs

    filesystem, path = _s3(pattern, region)
    base, wild = _split(path)
    if not wild:
        info = filesystem.get_file_info(path)
        if info.type == fs.FileType.File:
            return pattern
    selector = fs.FileSelector(base.rstrip("/"), recursive=True, allow_not_found=True)
    files = sorted(info.path for info in filesystem.get_file_info(selector) if info.type == fs.FileType.File)
    match = next((name for name in files if not wild or fnmatch.fnmatchcase(name, path)), None)
    return f"{S3}{match}" if match else None


def _split(pattern: str) -> tuple[str, str]:
    """The folder before the first wildcard, and the rest; the rest is empty where there is no wildcard."""
    found = _WILDCARD.search(pattern)
    if found is None:
        return pattern, ""
    cut = pattern.rfind("/", 0, found.start()) + 1
    return pattern[:cut] or ".", pattern[cut:]


def _s3(name: str, region: str) -> tuple[Any, str]:
    """The filesystem and the path in it. AWS_ENDPOINT_URL in the environment points it at another S3 server."""
    from pyarrow import fs

    scheme, _, endpoint = os.environ.get("AWS_ENDPOINT_URL", "").rpartition("://")
    filesystem = fs.S3FileSystem(
        region=region,
        scheme=scheme or "https",
        endpoint_override=endpoint or None,
        connect_timeout=_CONNECT_S,
        request_timeout=_REQUEST_S,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=2),
    )
    return filesystem, name.removeprefix(S3).rstrip("/")


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return " ".join(str(error).split())[:200] or type(error).__name__
