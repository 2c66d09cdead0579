"""`orchestrator offers refresh` as a user calls it, and what the other verbs then read."""

import errno
import json
import os
import re
from pathlib import Path

import pytest

import orchestrator.cli.offers_refresh
import orchestrator.cluster.state
from orchestrator.offers import load_snapshot
from orchestrator.offers.aws import client
from orchestrator.offers.aws.calls import ACTIONS
from orchestrator.offers.hardware import families

pytestmark = pytest.mark.slow

L4 = ("L4", 1, 22888)
OLD = (
    "instance_type,region,zone,market,usd_per_hour,source,as_of\n"
    "g6.xlarge,us-east-1,*,on-demand,0.8048,test,2026-10-01\n"
    "g6.xlarge,us-east-1,use1-az6,spot,0.20,test,2026-10-01\n"
)
CATALOG = """
version: 1
cluster: {provider: aws, region: us-east-1, storage: "s3://bucket/root"}
models:
  llm: {source: "s3://bucket/llm", params: 1.24e9, layers: 16, hidden: 2048, heads: 32, kv_heads: 8, head_dim: 64,
        context: 4096, dtype: bf16}
jobs:
  tune: {kind: train, model: llm, tokens: 10M, data: "s3://bucket/d", accelerators: [L4]}
"""


@pytest.fixture
def run(run_command):
    return run_command


@pytest.fixture
def prices(tmp_path, monkeypatch) -> Path:
    """Where this user's list is; holds an old one."""
    path = tmp_path / "data" / "prices.csv"
    path.parent.mkdir()
    path.write_text(OLD)
    monkeypatch.setenv("ORCHESTRATOR_PRICES", str(path))
    return path


def region_of(make, name: str, zone: str, spot: str = "0.35", **other):
    return make.region(
        name,
        [make.instance_type("g6.xlarge", L4), make.instance_type("g6.2xlarge", L4, 8)],
        [make.spot("g6.xlarge", zone, spot), make.spot("g6.2xlarge", zone, "1.90")],
        [make.product("g6.xlarge", "0.8048", name), make.product("g6.2xlarge", "0.9776", name)],
        **other,
    )


@pytest.fixture
def aws(make, monkeypatch):
    """Puts fake regions in the place of AWS."""

    def answer(*regions):
        fake = make.aws(regions)
        monkeypatch.setattr(client, "connect", fake.connect)
        return fake

    return answer


@pytest.fixture
def two_regions(make, aws):
    return aws(region_of(make, "eu-west-1", "eu-west-1a"), region_of(make, "us-east-1", "us-east-1a"))


ARGUMENTS = ("offers", "refresh", "--families", "g6", "--regions", "us-east-1,eu-west-1")


def test_a_refresh_writes_a_list_and_says_what_it_did(run, prices, two_regions):
    code, out, err = run(*ARGUMENTS)
    assert code == 0, err
    two_regions.assert_all_asked()
    lines = out.splitlines()
    assert re.fullmatch(rf"6 prices of \d{{4}}-\d\d-\d\d written to {re.escape(str(prices))}", lines[0])
    assert [line.split() for line in lines[1:3]] == [
        ["eu-west-1", "2", "on-demand,", "1", "spot"], ["us-east-1", "2", "on-demand,", "1", "spot"],
    ]  # fmt: skip
    assert lines[3].startswith("refused: 2 x spot-not-cheaper, as g6.2xlarge:spot:eu-west-1:euw1-az3 (prices.csv:")
    assert lines[4] == f"biggest changes against {prices} (prices of 2026-10-01):"
    assert lines[5].split() == ["+75.0%", "g6.xlarge:spot:us-east-1:use1-az6", "0.20", "→", "0.35", "USD/h"]
    assert len(lines) == 6
    assert err.splitlines() == ["reading eu-west-1 …", "reading us-east-1 …"]
    assert [path.name for path in prices.parent.iterdir()] == ["prices.csv"], "no temporary file is left"


def test_the_same_as_json(run, prices, two_regions):
    code, out, _ = run(*ARGUMENTS, "--json")
    found = json.loads(out)
    assert code == 0 and found["written_to"] == str(prices)
    assert found["kept"] == {name: {"on-demand": 2, "spot": 1} for name in ("eu-west-1", "us-east-1")}
    assert [row["region"] for row in found["refused"]["spot-not-cheaper"]] == ["eu-west-1", "us-east-1"]
    assert found["compared_with"] == {"origin": str(prices), "prices_as_of": "2026-10-01"}
    assert found["biggest_changes"] == [
        {"name": "g6.xlarge:spot:us-east-1:use1-az6", "before_usd_per_hour": 0.20, "after_usd_per_hour": 0.35,
         "change": 0.75},
    ]  # fmt: skip


def test_then_offers_list_and_plan_read_the_new_list_and_say_how_old_it_is(run, prices, two_regions, tmp_path):
    run(*ARGUMENTS)
    listed = json.loads(run("offers", "list", "--json")[1])
    today = listed["prices_as_of"]
    assert listed["price_list"]["origin"] == str(prices) and len(listed["offers"]) == 6
    assert {offer["as_of"] for offer in listed["offers"]} == {today}
    assert [offer["p90_usd_per_hour"] for offer in listed["offers"] if offer["market"] == "spot"] == [0.35, 0.35]
    shown = run("offers", "list")[1]
    assert f"price list: {prices}, prices of {today}, from: AWS Pricing API GetProducts, list of 2026-11-20; " in shown
    catalog = tmp_path / "catalog.yaml"
    catalog.write_text(CATALOG)
    plan = json.loads(run("plan", str(catalog), "--json", "--now", today)[1])
    assert plan["prices_as_of"] == today and not any("days old" in warning for warning in plan["warnings"])
    later = json.loads(run("plan", str(catalog), "--json", "--now", "2099-01-01")[1])
    assert any(f"days old (from {today})" in warning for warning in later["warnings"])


def test_the_shipped_list_is_named_as_such(run, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    out = run("offers", "list")[1]
    assert (
        "price list: the snapshot shipped with orchestrator, prices of 2026-07-20 to 2026-11-30, from: AWS EC2" in out
    )


def test_a_list_of_ones_own_is_named_as_such(run, tmp_path):
    path = tmp_path / "own.csv"
    path.write_text(
        "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,SpotPrice,Region,AvailabilityZone\n"
        + "".join(f"g6.xlarge,L4,1,4,16,0.8,0.3{n},us-east-1,use1-az{n}\n" for n in range(1, 7))
    )
    out = run("offers", "list", "--offers", str(path))[1]
    assert f"price list: {path}, prices of unknown, from: price list own.csv:2; " in out and "and 2 more" in out


def test_the_default_place_is_the_users_data_folder(run, monkeypatch, tmp_path, two_regions):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    code, out, _ = run(*ARGUMENTS, "--json")
    found = json.loads(out)
    assert code == 0 and found["written_to"] == str(tmp_path / "xdg" / "orchestrator" / "prices.csv")
    assert found["compared_with"]["origin"] == "the snapshot shipped with orchestrator"
    assert json.loads(run("offers", "list", "--json")[1])["price_list"]["origin"] == found["written_to"]


def test_out_writes_elsewhere_and_compares_with_the_list_in_force(run, prices, two_regions, tmp_path):
    other = tmp_path / "new" / "prices.csv"
    code, out, _ = run(*ARGUMENTS, "--out", str(other), "--json")
    assert code == 0 and other.exists() and prices.read_text() == OLD
    assert json.loads(out)["compared_with"]["origin"] == str(prices)


def test_by_default_all_known_families_and_the_regions_of_the_shipped_list_are_read(run, prices, monkeypatch):
    asked = {}

    def note(connect, regions, wanted, window, **_):
        asked.update(regions=regions, families=wanted, days=window.days)
        raise orchestrator.cli.offers_refresh.OperationError("enough.")

    monkeypatch.setattr(orchestrator.cli.offers_refresh, "refreshed", note)
    assert run("offers", "refresh")[0] == 1
    assert asked == {
        "regions": tuple(sorted({offer.region for offer in load_snapshot().offers})),
        "families": tuple(sorted(families())),
        "days": 7,
    }
    run("offers", "refresh", "--window-days", "30", "--regions", " us-west-2 ,us-west-2")
    assert (asked["regions"], asked["days"]) == (("us-west-2",), 30)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--regions", "us-east-9"], "--regions: 'us-east-9' is not known. Did you mean us-east-"),
        (["--regions", ","], "--regions: names nothing"),
        (["--families", "g7"], "--families: 'g7' is not known. Did you mean g"),
        (["--families", "g6.xlarge"], "--families: 'g6.xlarge' is not known. Did you mean g6"),
        (["--window-days", "0"], "window-days"),
        (["--window-days", "91"], "window-days"),
    ],
)
def test_bad_arguments_end_with_2_before_anything_is_asked(run, prices, aws, arguments, said):
    fake = aws()
    code, _, err = run("offers", "refresh", *arguments)
    assert code == 2 and said in re.sub(r"\x1b\[[0-9;]*m", "", err), err
    assert fake.calls == [] and prices.read_text() == OLD


def assert_failed_and_untouched(result, prices, *said):
    code, out, err = result
    told = [line for line in err.splitlines() if not line.startswith("reading ")]
    assert code == 1 and not out and len(told) == 1 and told[0].startswith("error: "), err
    assert all(word in told[0] for word in said) and "Traceback" not in err
    assert prices.read_bytes() == OLD.encode()
    assert [path.name for path in prices.parent.iterdir()] == ["prices.csv"]


@pytest.mark.parametrize(
    ("call", "action"),
    [
        ("describe_spot_price_history", "ec2:DescribeSpotPriceHistory"),
        ("get_products", "pricing:GetProducts"),
        ("describe_instance_types", "ec2:DescribeInstanceTypes"),
    ],
)
def test_when_the_second_region_is_denied_nothing_is_written(run, prices, make, aws, call, action):
    aws(
        region_of(make, "eu-west-1", "eu-west-1a"),
        region_of(make, "us-east-1", "us-east-1a", fails={call: "AccessDenied"}),
    )
    assert_failed_and_untouched(run(*ARGUMENTS), prices, f"denied {action} in us-east-1", "docs/prices.md")


def test_when_a_later_page_fails_nothing_is_written(run, prices, make, aws):
    told = region_of(make, "us-east-1", "us-east-1a", fails={"describe_spot_price_history": "RequestLimitExceeded"})
    told.spot = [*told.spot, [make.spot("g6.xlarge", "us-east-1b", "0.4")]]
    aws(region_of(make, "eu-west-1", "eu-west-1a"), told)
    assert_failed_and_untouched(run(*ARGUMENTS), prices, "throttled ec2:DescribeSpotPriceHistory")


def test_when_a_region_answers_with_half_nothing_is_written(run, prices, make, aws):
    told = region_of(make, "us-east-1", "us-east-1a")
    told.products = [[]]
    aws(region_of(make, "eu-west-1", "eu-west-1a"), told)
    assert_failed_and_untouched(run(*ARGUMENTS), prices, "us-east-1 is incomplete")


def test_when_no_price_can_be_used_nothing_is_written(run, prices, make, aws):
    told = region_of(make, "us-east-1", "us-east-1a")
    told.products = [[make.product(name, "0.0000000000") for name in ("g6.xlarge", "g6.2xlarge")]]
    aws(told)
    result = run("offers", "refresh", "--families", "g6", "--regions", "us-east-1")
    assert_failed_and_untouched(result, prices, "not one", "no-on-demand-price", "zero-price")


def test_without_credentials_one_line_says_so(run, prices, no_aws_account):
    assert_failed_and_untouched(run(*ARGUMENTS), prices, "no usable AWS credentials", "AWS_PROFILE")


def test_a_full_disk_leaves_the_old_list(run, prices, two_regions, monkeypatch):
    def full(_handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(orchestrator.cluster.state.os, "fsync", full)
    assert_failed_and_untouched(run(*ARGUMENTS), prices, "No space left on device", "unchanged", str(prices))


def test_an_unwritable_place_is_told_and_leaves_the_old_list(run, prices, two_regions):
    inside_a_file = prices / "below" / "prices.csv"
    result = run(*ARGUMENTS, "--out", str(inside_a_file))
    assert_failed_and_untouched(result, prices, "could not be written", "--out")


def test_a_reader_sees_the_whole_old_list_or_the_whole_new_one(run, prices, two_regions, monkeypatch):
    """Reads the list before every step that writing consists of."""
    seen: list[bytes] = []

    def watched(owner, name):
        original = getattr(owner, name)

        def step(*arguments, **named):
            seen.append(prices.read_bytes())
            return original(*arguments, **named)

        monkeypatch.setattr(owner, name, step)

    watched(orchestrator.cluster.state.tempfile, "mkstemp")
    watched(orchestrator.cluster.state.os, "fsync")
    watched(Path, "replace")
    assert run(*ARGUMENTS)[0] == 0
    assert seen == [OLD.encode()] * 3 and prices.read_bytes() != OLD.encode()


def test_a_file_of_somebody_elses_is_not_overwritten(run, prices, two_regions, tmp_path):
    catalog = tmp_path / "catalog.yaml"
    catalog.write_text(CATALOG)
    code, _, err = run(*ARGUMENTS, "--out", str(catalog))
    assert code == 2 and "not a price list that can be replaced" in err and catalog.read_text() == CATALOG
    assert run(*ARGUMENTS, "--out", str(tmp_path))[0] == 2


def test_a_broken_list_of_our_own_is_replaced(run, prices, two_regions):
    prices.write_text("broken\n")
    code, out, err = run(*ARGUMENTS)
    assert code == 0 and "note: " in err and "It is replaced." in err and "6 prices" in out


def test_a_second_refresh_with_the_same_answers_changes_no_price(run, prices, make, aws):
    for _ in range(2):
        aws(region_of(make, "us-east-1", "us-east-1a"))
        _, out, _ = run("offers", "refresh", "--families", "g6", "--regions", "us-east-1")
    assert f"no price changed against {prices}" in out


def test_the_documented_iam_policy_allows_exactly_what_is_asked():
    text = (Path(__file__).parents[2] / "docs" / "prices.md").read_text()
    (policy,) = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL))
    (statement,) = policy["Statement"]
    assert sorted(statement["Action"]) == sorted(ACTIONS)
    assert (policy["Version"], statement["Effect"], statement["Resource"]) == ("2012-10-17", "Allow", "*")
