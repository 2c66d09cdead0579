"""Reads EC2's instance metadata service with IMDSv2 session tokens."""

import json
from collections.abc import Mapping
from typing import Any

import httpx

from orchestrator.cluster.metadata_server import META_DATA, TOKEN_HEADER, TOKEN_PATH, TTL_HEADER

EC2_ENDPOINT = "http://169.254.169.254"
ENDPOINT_VARIABLE = "AWS_EC2_METADATA_SERVICE_ENDPOINT"
TOKEN_TTL_S = 21_600
TIMEOUT_S = 2.0


class MetadataError(Exception):
    """The service did not answer, or not as documented."""


class MetadataClient:
    """One instance's view of its metadata. The token is fetched when needed and again when it expires."""

    def __init__(self, endpoint: str) -> None:
        self._http = httpx.Client(base_url=endpoint, timeout=TIMEOUT_S, trust_env=False)
        self._token: str | None = None
        self._instance_id: str | None = None

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> "MetadataClient":
        """At AWS_EC2_METADATA_SERVICE_ENDPOINT, the variable that AWS's own SDKs read, else EC2's address."""
        return cls(environ.get(ENDPOINT_VARIABLE) or EC2_ENDPOINT)

    def instance_id(self) -> str:
        """The id of this instance; it never changes, so it is asked for once."""
        if self._instance_id is None:
            self._instance_id = self._get("instance-id")
        if self._instance_id is None:
            raise MetadataError("the metadata service does not know this instance's id")
        return self._instance_id

    def interruption_at(self) -> str | None:
        """ISO time at which AWS will stop or end this instance, or None."""
        return self._time("spot/instance-action", "time")

    def rebalance_at(self) -> str | None:
        """ISO time at which AWS recommended to rebalance, or None."""
        return self._time("events/recommendations/rebalance", "noticeTime")

    def _time(self, path: str, field: str) -> str | None:
        body = self._get(path)
        if body is None:
            return None
        try:
            found: Any = json.loads(body)[field]
        except (ValueError, KeyError, TypeError) as error:
            raise MetadataError(f"{path} answered {body!r}, which has no {field}") from error
        return str(found)

    def _get(self, path: str) -> str | None:
        """Body of a metadata path, None for 404; one new token when the old one is refused."""
        try:
            reply = self._http.get(META_DATA + path, headers={TOKEN_HEADER: self._token or self._new_token()})
            if reply.status_code == httpx.codes.UNAUTHORIZED:
                reply = self._http.get(META_DATA + path, headers={TOKEN_HEADER: self._new_token()})
            if reply.status_code == httpx.codes.NOT_FOUND:
                return None
            return reply.raise_for_status().text
        except httpx.HTTPError as error:
            raise MetadataError(f"metadata service at {self._http.base_url}: {error}") from error

    def _new_token(self) -> str:
        reply = self._http.put(TOKEN_PATH, headers={TTL_HEADER: str(TOKEN_TTL_S)})
        self._token = reply.raise_for_status().text
        return self._token
