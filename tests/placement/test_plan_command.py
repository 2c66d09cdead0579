"""`orchestrator plan` and `orchestrator offers list` as a user calls them."""

import json

import pytest

CATALOG = """
version: 1
cluster: {provider: aws, region: us-east-1, storage: "s3://bucket/root", max_workers: 8}
models:
  llm: {source: "s3://bucket/llm", params: 1.24e9, layers: 16, hidden: 2048, heads: 32, kv_heads: 8, head_dim: 64,
        context: 4096, dtype: bf16}
  huge: {source: "s3://bucket/huge", params: 700e9, layers: 120, hidden: 16384, heads: 128, kv_heads: 8, head_dim: 128,
         context: 4096, dtype: bf16}
jobs:
  tune: {kind: train, model: llm, tokens: 10M, data: "s3://bucket/d", accelerators: [L4, A10G]}
  giant: {kind: train, model: huge, tokens: 10M, data: "s3://bucket/d"}
"""
HEADER = (
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuMemMiBEach,"
    "Price,SpotPrice,Region,AvailabilityZone,Source\n"
)


@pytest.fixture
def catalog(tmp_path):
    path = tmp_path / "catalog.yaml"
    path.write_text(CATALOG)
    return str(path)


@pytest.fixture
def run(run_command):
    return run_command


def test_json_follows_the_contract_and_an_unplaceable_job_is_no_failure(run, catalog):
    code, out, _ = run("plan", catalog, "--json", "--now", "2026-11-30T00:00:00Z")
    found = json.loads(out)
    assert code == 0
    assert found["jobs"]["tune"]["status"] == "placed" and found["jobs"]["giant"]["status"] == "unplaceable"
    assert found["timings"]["load_s"] > 0 and found["timings"]["plan_s"] > 0
    assert found["now"] == "2026-11-30T00:00:00.000000Z"


def test_the_same_time_gives_the_same_bytes_but_for_timings(run, catalog):
    texts = []
    for _ in range(2):
        found = json.loads(run("plan", catalog, "--json", "--now", "2026-11-30")[1])
        found["timings"] = {}
        texts.append(json.dumps(found))
    assert texts[0] == texts[1]


def test_the_table_names_hardware_and_reasons(run, catalog):
    code, out, _ = run("plan", catalog)
    assert (
        code == 0 and "g6.xlarge" in out and "unplaceable" in out and "does not fit in memory" in out.replace("\n", " ")
    )


def test_explain(run, catalog):
    code, out, _ = run("plan", catalog, "--explain", "tune")
    assert code == 0 and "chosen: 1 x" in out and "not possible:" in out


def test_a_price_list_of_ones_own(run, catalog, tmp_path):
    prices = tmp_path / "prices.csv"
    prices.write_text(HEADER + "g5.xlarge,A10G,1,4,16.0,22888,1.0,0.11,us-east-1,use1-az9,mine 2026-11-29\n")
    found = json.loads(run("plan", catalog, "--offers", str(prices), "--json")[1])
    assert found["jobs"]["tune"]["chosen"]["offer"] == "g5.xlarge:spot:us-east-1:use1-az9"
    assert found["prices_as_of"] == "2026-11-29"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--now", "yesterday"], "--now"),
        (["--now", "2026-02-30"], "--now"),
        (["--now", "0001-01-01"], "--now"),
        (["--now", "9999-12-31"], "--now"),
        (["--explain", "nobody"], "nobody"),
        (["--offers", "/does/not/exist.csv"], "/does/not/exist.csv"),
    ],
)
def test_bad_arguments_end_with_2_and_one_line(run, catalog, arguments, message):
    code, out, err = run("plan", catalog, *arguments)
    assert code == 2 and message in err and "Traceback" not in err and not out


def test_a_malformed_price_list_ends_with_2_and_names_the_line(run, catalog, tmp_path):
    prices = tmp_path / "prices.csv"
    prices.write_text(HEADER + "g5.xlarge,A10G,1,4,16.0,22888,free,,us-east-1,use1-az1,mine\n")
    code, _, err = run("plan", catalog, "--offers", str(prices))
    assert code == 2 and "prices.csv:2" in err and "Price" in err


def test_a_bad_catalog_ends_with_2_and_all_its_faults(run, tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(
        CATALOG.replace("kind: train, model: llm", "kind: trian, model: llm").replace(
            "max_workers: 8", "max_workers: x"
        )
    )
    code, _, err = run("plan", str(path))
    assert code == 2 and err.count("bad.yaml:") == 2


def test_offers_are_listed_and_filtered(run):
    found = json.loads(run("offers", "list", "--json", "--region", "us-east-1", "--accelerator", "l4")[1])
    assert {offer["accelerator"] for offer in found["offers"]} == {"L4"}
    assert {offer["region"] for offer in found["offers"]} == {"us-east-1"}
    assert all(offer["source"] and offer["as_of"] for offer in found["offers"])
    cpu = json.loads(run("offers", "list", "--json", "--accelerator", "cpu")[1])
    assert cpu["offers"] and {offer["accelerator"] for offer in cpu["offers"]} == {None}


def test_offers_as_a_table_end_with_the_refused_rows(run):
    code, out, _ = run("offers", "list", "--region", "us-east-1")
    assert code == 0 and "g6.xlarge" in out and "refused: p5.48xlarge:spot:us-east-1:use1-az1: spot-not-cheaper" in out


def test_what_if_without_and_deadline_change_the_plan(run, catalog):
    def chosen(*options: str):
        return json.loads(run("plan", catalog, "--json", "--now", "2026-11-30", *options)[1])["jobs"]["tune"]["chosen"]

    plain = chosen()
    assert chosen("--what-if", f"{plain['instance_type']}.{plain['market']}=0.001")["usd_per_hour"] == 0.001
    assert chosen("--without", plain["accelerator"])["accelerator"] != plain["accelerator"]
    slower = plain["expected_seconds"]
    assert chosen("--deadline", f"tune={slower + 60:.0f}s") == plain
    assert chosen("--without", "L4", "--without", "A10G") is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--what-if", "g6.xlarge=1"], "TYPE.MARKET=USD"),
        (["--what-if", "g6.xlarge.spot=0"], "TYPE.MARKET=USD"),
        (["--what-if", "g6.xlrge.spot=1"], "Did you mean g6.xlarge?"),
        (["--without", "p99"], "no p99"),
        (["--deadline", "tune"], "--deadline"),
        (["--deadline", "tune=4"], "must be a duration"),
        (["--deadline", "nobody=4h"], "tune"),
        (["--diff", "/does/not/exist.json"], "cannot be read"),
        (["--ledger", "/does/not/exist.db"], "does not exist"),
    ],
)
def test_bad_variations_end_with_2_and_one_line(run, catalog, arguments, message):
    code, out, err = run("plan", catalog, *arguments)
    assert code == 2 and message in err and "Traceback" not in err and not out


def test_the_difference_to_a_saved_plan(run, catalog, tmp_path):
    old = tmp_path / "old.json"
    old.write_text(run("plan", catalog, "--json", "--now", "2026-11-30")[1])
    assert "0 changed" in run("plan", catalog, "--now", "2026-11-30", "--diff", str(old))[1]
    code, out, _ = run("plan", catalog, "--now", "2026-11-30", "--without", "L4", "--diff", str(old))
    assert code == 0 and "  - 1 x g6" in out and "  + 1 x g5" in out
    found = json.loads(run("plan", catalog, "--now", "2026-11-30", "--without", "L4", "--diff", str(old), "--json")[1])
    assert set(found["changes"]) == {"tune"}
    for text in ("[]", "{}", '{"jobs": {}}', '{"jobs": {"a": 1}}', "nonsense"):
        old.write_text(text)
        code, out, err = run("plan", catalog, "--diff", str(old))
        assert code == 2 and "--diff" in err and "Traceback" not in err
