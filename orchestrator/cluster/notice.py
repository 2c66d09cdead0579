"""Notices that watchers leave in Ray's key-value store, for the controller to turn into events."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

NAMESPACE = b"orchestrator"
_PREFIX = "notice/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """`kind` is "interruption-notice" or "rebalance-recommendation"; `at` is the time it speaks of, ISO 8601 UTC."""

    instance_id: str
    kind: str
    at: str


def notice_key(instance_id: str, kind: str) -> bytes:
    """Where the notice of that kind about that instance is kept."""
    return f"{_PREFIX}{instance_id}/{kind}".encode()


def read_notices(gcs: Any) -> tuple[Notice, ...]:
    """All notices of the cluster, by a `ray._raylet.GcsClient`, sorted by time."""
    keys: Iterable[bytes] = gcs.internal_kv_keys(_PREFIX.encode(), NAMESPACE)
    values = (gcs.internal_kv_get(key, NAMESPACE) for key in keys)
    notices = [Notice(**json.loads(value)) for value in values if value is not None]
    return tuple(sorted(notices, key=lambda notice: (notice.at, notice.instance_id, notice.kind)))
