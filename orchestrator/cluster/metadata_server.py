"""Emulates the part of EC2's instance metadata service (IMDSv2) that a spot instance needs.

Paths and payloads follow the AWS documentation "Instance metadata categories" and "Spot Instance interruption notices".
"""

import json
import re
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from string import ascii_lowercase
from typing import Any

TOKEN_PATH = "/latest/api/token"
META_DATA = "/latest/meta-data/"
TOKEN_HEADER = "x-aws-ec2-metadata-token"
TTL_HEADER = "x-aws-ec2-metadata-token-ttl-seconds"
MAX_TTL_S = 21_600
"""AWS: "The maximum TTL is 21,600 seconds (six hours)"."""
_ZONE_NUMBER = re.compile(r"-az([1-9])$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What the instance would read about itself; times are ISO 8601 UTC, "" = not announced."""

    instance_id: str
    instance_type: str
    market: str
    region: str
    zone: str
    interruption_at: str = ""
    rebalance_at: str = ""

    def paths(self) -> Mapping[str, str]:
        """Path below `/latest/meta-data/` → body; a path that is missing here answers 404, as on EC2."""
        found = {
            "instance-id": self.instance_id,
            "instance-type": self.instance_type,
            "instance-life-cycle": "spot" if self.market == "spot" else "on-demand",
            "placement/availability-zone": zone_name(self.region, self.zone),
            "placement/availability-zone-id": self.zone,
            "placement/region": self.region,
            "autoscaling/target-lifecycle-state": "InService",
        }
        if self.interruption_at:
            found["spot/instance-action"] = json.dumps({"action": "terminate", "time": self.interruption_at})
            found["spot/termination-time"] = self.interruption_at
        if self.rebalance_at:
            found["events/recommendations/rebalance"] = json.dumps({"noticeTime": self.rebalance_at})
        return found


def zone_name(region: str, zone: str) -> str:
    """A zone name for a zone id ("use1-az2" → "us-east-1b"); real accounts map them differently, each its own way."""
    number = _ZONE_NUMBER.search(zone)
    return region + (ascii_lowercase[int(number[1]) - 1] if number else "a")


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer."""

    status: int
    body: str = ""
    ttl_s: int | None = None


class MetadataServer:
    """Serves one instance's metadata on a free loopback port, from a thread of the process that emulates it."""

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata
        self._expiries: dict[str, float] = {}
        handler = type("Handler", (_Handler,), {"metadata_server": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Begins to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread and closes the port."""
        self._server.shutdown()
        self._server.server_close()

    def announce(self, *, interruption_at: str = "", rebalance_at: str = "") -> None:
        """Makes a notice visible; what was announced before stays."""
        current = self._metadata
        self._metadata = replace(
            current,
            interruption_at=interruption_at or current.interruption_at,
            rebalance_at=rebalance_at or current.rebalance_at,
        )

    def put(self, path: str, ttl_text: str | None, now_s: float) -> Reply:
        """Issues a session token; 400 without a lifetime of 1 to 21,600 seconds."""
        if path != TOKEN_PATH:
            return Reply(405)
        if not (ttl_text or "").isdecimal() or not 1 <= int(ttl_text or 0) <= MAX_TTL_S:
            return Reply(400)
        token = secrets.token_urlsafe(32)
        self._expiries = {known: expiry for known, expiry in self._expiries.items() if expiry > now_s}
        self._expiries[token] = now_s + int(ttl_text or 0)
        return Reply(200, token, int(ttl_text or 0))

    def get(self, path: str, token: str | None, now_s: float) -> Reply:
        """Answers a metadata path; 401 without a token that is still valid, as IMDSv2 does."""
        if self._expiries.get(token or "", 0.0) <= now_s:
            return Reply(401)
        known = self._metadata.paths()
        body = known.get(path.removeprefix(META_DATA).rstrip("/")) if path.startswith(META_DATA) else None
        return Reply(404) if body is None else Reply(200, body)


class _Handler(BaseHTTPRequestHandler):
    metadata_server: MetadataServer

    def do_PUT(self) -> None:
        self._answer(self.metadata_server.put(self.path, self.headers.get(TTL_HEADER), time.monotonic()))

    def do_GET(self) -> None:
        self._answer(self.metadata_server.get(self.path, self.headers.get(TOKEN_HEADER), time.monotonic()))

    def log_message(self, format: str, *args: Any) -> None:
        """Polling every second is not worth a log line."""

    def _answer(self, reply: Reply) -> None:
        content = reply.body.encode()
        self.send_response(reply.status)
        if reply.ttl_s is not None:
            self.send_header(TTL_HEADER, str(reply.ttl_s))
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
