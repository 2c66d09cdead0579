"""The emulated metadata service, seen by our client and by AWS's own."""

import json
from collections.abc import Iterator

import httpx
import pytest
from botocore.utils import InstanceMetadataRegionFetcher

from orchestrator.cluster.metadata_client import MetadataClient, MetadataError
from orchestrator.cluster.metadata_server import META_DATA, TOKEN_PATH, Metadata, MetadataServer

TOKEN, TTL = "X-aws-ec2-metadata-token", "X-aws-ec2-metadata-token-ttl-seconds"


@pytest.fixture
def server() -> Iterator[MetadataServer]:
    started = MetadataServer(
        Metadata(instance_id="i-1", instance_type="g6.xlarge", market="spot", region="us-east-1", zone="use1-az1")
    )
    started.start()
    yield started
    started.stop()


@pytest.fixture
def http(server: MetadataServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False) as client:
        yield client


@pytest.fixture
def token(http: httpx.Client) -> str:
    return http.put(TOKEN_PATH, headers={TTL: "60"}).text


@pytest.mark.parametrize(
    ("ttl", "status"),
    [("1", 200), ("21600", 200), ("21601", 400), ("0", 400), ("-1", 400), ("soon", 400), (None, 400)],
)
def test_a_token_needs_a_lifetime(http: httpx.Client, ttl: str | None, status: int) -> None:
    reply = http.put(TOKEN_PATH, headers={TTL: ttl} if ttl else {})
    assert reply.status_code == status
    assert reply.headers.get(TTL) == (ttl if status == 200 else None)


@pytest.mark.parametrize("headers", [{}, {TOKEN: "guessed"}], ids=["none", "wrong"])
def test_no_metadata_without_a_token(http: httpx.Client, headers: dict[str, str]) -> None:
    assert http.get(META_DATA + "instance-id", headers=headers).status_code == 401


def test_a_token_expires(server: MetadataServer) -> None:
    token = server.put(TOKEN_PATH, "10", now_s=100.0).body
    assert server.get(META_DATA + "instance-id", token, now_s=109.0).body == "i-1"
    assert server.get(META_DATA + "instance-id", token, now_s=110.0).status == 401


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("instance-id", "i-1"),
        ("instance-type", "g6.xlarge"),
        ("instance-life-cycle", "spot"),
        ("placement/availability-zone", "us-east-1a"),
        ("placement/availability-zone-id", "use1-az1"),
        ("placement/region", "us-east-1"),
        ("autoscaling/target-lifecycle-state", "InService"),
        ("spot/instance-action", None),
        ("spot/termination-time", None),
        ("events/recommendations/rebalance", None),
        ("iam/security-credentials/", None),
    ],
)
def test_paths_before_a_notice(http: httpx.Client, token: str, path: str, body: str | None) -> None:
    reply = http.get(META_DATA + path, headers={TOKEN: token})
    assert (reply.status_code, reply.text) == ((200, body) if body else (404, ""))


def test_notices_appear_once_announced(server: MetadataServer, http: httpx.Client, token: str) -> None:
    server.announce(rebalance_at="2026-11-30T12:00:00Z")
    server.announce(interruption_at="2026-11-30T12:02:00Z")
    action = http.get(META_DATA + "spot/instance-action", headers={TOKEN: token}).text
    rebalance = http.get(META_DATA + "events/recommendations/rebalance", headers={TOKEN: token}).text
    assert json.loads(action) == {"action": "terminate", "time": "2026-11-30T12:02:00Z"}
    assert json.loads(rebalance) == {"noticeTime": "2026-11-30T12:00:00Z"}


def test_our_client_reads_it_and_renews_a_refused_token(server: MetadataServer) -> None:
    client = MetadataClient(f"http://127.0.0.1:{server.port}")
    assert (client.instance_id(), client.interruption_at(), client.rebalance_at()) == ("i-1", None, None)
    server._expiries.clear()
    server.announce(interruption_at="2026-11-30T12:02:00Z")
    assert client.interruption_at() == "2026-11-30T12:02:00Z"


def test_the_aws_sdk_reads_it(server: MetadataServer) -> None:
    fetcher = InstanceMetadataRegionFetcher(base_url=f"http://127.0.0.1:{server.port}/")
    assert fetcher.retrieve_region() == "us-east-1"


def test_a_silent_service_is_an_error(server: MetadataServer) -> None:
    client = MetadataClient(f"http://127.0.0.1:{server.port}")
    server.stop()
    with pytest.raises(MetadataError, match="metadata service at"):
        client.interruption_at()
