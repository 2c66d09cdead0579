"""`orchestrator advise` as a user calls it."""

import json
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOW = "2026-11-30T00:00:00Z"
CATALOG = """
version: 1
cluster: {provider: aws, region: us-east-1, storage: "s3://bucket/root"}
models:
  llm: {source: "s3://bucket/llm", params: 1.24e9, layers: 16, hidden: 2048, heads: 32, kv_heads: 8, head_dim: 64,
        context: 4096, dtype: bf16}
jobs:
  tune: {kind: train, model: llm, tokens: 10M, data: "s3://bucket/d", retrain: weekly}
  chat: {kind: serve, models: {only: llm}, traffic: {requests_per_second: 2, peak: 4, pattern: constant}}
"""


@pytest.fixture
def catalog(tmp_path):
    path = tmp_path / "catalog.yaml"
    path.write_text(CATALOG)
    return str(path)


@pytest.fixture
def traffic(tmp_path):
    def write(text: str) -> str:
        path = tmp_path / "traffic.csv"
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture
def run(run_command):
    return partial(run_command, "advise")


def test_the_shipped_catalog_is_advised(run):
    code, out, _ = run(str(ROOT / "jobs/catalog.yaml"), "--now", NOW)
    assert code == 0
    for said in ("ops-finetune\n", "cost-per-successful-run: Keep", "training-hardware: ", "buy-or-rent: "):
        assert said in out
    assert max(len(line) for line in out.splitlines()) <= 110


def test_json_and_the_same_bytes_twice(run, catalog):
    (code, first, _), (_, second, _) = (run(catalog, "--now", NOW, "--json") for _ in range(2))
    found = json.loads(first)
    assert code == 0 and first == second
    assert found["now"] == "2026-11-30T00:00:00.000000Z"
    assert {"cost-per-successful-run", "serving-tier", "serverless-or-own"} <= {
        each["topic"] for each in found["advice"]
    }


def test_prices_of_ones_own(run, catalog, tmp_path):
    prices = tmp_path / "prices.csv"
    prices.write_text(
        "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,SpotPrice,Region,AvailabilityZone\n"
        "g5.xlarge,A10G,1,4,16.0,1.0,,us-east-1,\n"
    )
    _, out, _ = run(catalog, "--now", NOW, "--offers", str(prices))
    assert "1 x g5.xlarge (A10G) on-demand" in out and "g6.xlarge" not in out


def test_measured_traffic_is_compared_with_the_catalog(run, catalog, traffic):
    rows = "".join(f"{hour},{9 if 9 <= hour % 24 < 12 else 1}\n" for hour in range(24 * 14))
    code, out, _ = run(catalog, "--now", NOW, "--traffic", traffic("hour,rps\n" + rows), "--column", "rps")
    assert code == 0 and "Traffic is spiky, not constant" in " ".join(out.split())


def test_a_request_log_is_added_up(run, catalog, traffic):
    path = traffic("time,tokens\n2026-11-01T00:00:00Z,5\n2026-11-01T00:00:01Z,7\n2026-11-01T02:00:00Z,1\n")
    code, out, _ = run(catalog, "--now", NOW, "--traffic", path, "--column", "tokens")
    assert code == 0 and "added up as events" in " ".join(out.split())


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("minute,rps\n0,1\n1,1\n", "qps", "traffic.csv:1: has no column 'qps'"),
        ("when,rps\n0,1\n1,1\n", "rps", "traffic.csv:1: has no column with the time"),
        ("minute,rps\n0,1\n1,many\n", "rps", "traffic.csv:3: rps: 'many' is not a number"),
        ("minute,rps\n0,1\n1\n", "rps", "traffic.csv:3: rps: None is not a number"),
        ("minute,rps\n0,1\n1,-2\n", "rps", "traffic.csv:3: rps: '-2' is negative"),
        ("minute,rps\n1,1\n0,1\n", "rps", "traffic.csv:3: minute: is earlier"),
        ("time,rps\nnoon,1\n", "rps", "traffic.csv:2: time: 'noon' is not an ISO 8601 time"),
        ("minute,rps\n0,1\n", "rps", "traffic.csv:2: holds fewer than two rows"),
        ('minute,rps\n0,"1"x\n', "rps", "traffic.csv:2: not CSV"),
        ("", "rps", "traffic.csv:1: has no column 'rps'"),
    ],
)
def test_bad_traffic_ends_with_2_and_names_the_line(run, catalog, traffic, text, column, message):
    code, out, err = run(catalog, "--traffic", traffic(text), "--column", column)
    assert code == 2 and message in err and "Traceback" not in err and not out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--traffic", "/does/not/exist.csv", "--column", "rps"], "/does/not/exist.csv: cannot be read"),
        (["--traffic", "t.csv"], "--traffic: is given without --column"),
        (["--column", "rps"], "--column: is given without --traffic"),
        (["--now", "yesterday"], "--now"),
        (["--ledger", "/does/not/exist.db"], "--ledger: /does/not/exist.db does not exist"),
        (["--offers", "/does/not/exist.csv"], "/does/not/exist.csv"),
    ],
)
def test_bad_arguments_end_with_2_and_one_line(run, catalog, arguments, message):
    code, out, err = run(catalog, *arguments)
    assert code == 2 and message in err and len(err.splitlines()) == 1 and not out


def test_traffic_that_is_not_text(run, catalog, tmp_path):
    path = tmp_path / "traffic.csv"
    path.write_bytes(b"minute,rps\n0,\xff\n")
    code, _, err = run(catalog, "--traffic", str(path), "--column", "rps")
    assert code == 2 and "is not UTF-8" in err


def test_a_bad_catalog_ends_with_2_and_its_faults(run, tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(CATALOG.replace("kind: train", "kind: trian"))
    code, _, err = run(str(path))
    assert code == 2 and "bad.yaml:" in err
