"""The verbs about a cluster, as far as they need none that runs."""

import json
from importlib.resources import files
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

import orchestrator.cli.up as up_verb
from orchestrator.cli.main import command_line
from orchestrator.cluster import lifecycle
from orchestrator.cluster.attach import aws_state
from orchestrator.cluster.state import StateDir
from orchestrator.model.error import InputError, OperationError, OrchestratorError
from orchestrator.offers.current import prices_path

REPOSITORY = Path(__file__).parents[2]
LOCAL_CATALOG = REPOSITORY / "jobs" / "catalog.yaml"
CATALOG = """
version: 1
cluster: {provider: PROVIDER, region: us-east-1, storage: ./storage}
models:
  tiny:
    {source: ./m, params: 3e6, layers: 4, hidden: 256, heads: 8, kv_heads: 4, head_dim: 32, context: 512, dtype: fp32}
jobs:
  tune: {kind: train, model: tiny, method: lora, data: ./data.parquet, tokens: 10k, precision: fp32, lifecycle: spot}
"""


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    path = tmp_path / "catalog.yaml"
    path.write_text(CATALOG.replace("PROVIDER", "aws"))
    return path


@pytest.fixture
def aws_head(state_dir: StateDir, tmp_path: Path) -> StateDir:
    """The state directory of a cluster on AWS, as its head has it."""
    state_dir.save(aws_state("prod", "us-east-1", state_dir, "10.0.0.7", tmp_path / "token", "2026-11-30T00:00:00Z"))
    return state_dir


def run(*arguments: object) -> Result:
    texts = [str(argument) for argument in arguments]
    return CliRunner().invoke(command_line(texts), texts)


def refused(*arguments: object) -> OrchestratorError:
    """The named error that ends the command; `main` prints it as one line."""
    error = run(*arguments).exception
    assert isinstance(error, OrchestratorError), error
    return error


def test_up_sends_other_providers_elsewhere(catalog: Path, state_dir: StateDir) -> None:
    error = refused("up", catalog, "--state-dir", state_dir.root)
    assert isinstance(error, InputError)
    assert "orchestrator cluster-yaml" in error.fix
    assert not state_dir.root.exists(), "nothing was started"


def test_up_starts_nothing_for_a_faulty_catalog(catalog: Path, state_dir: StateDir) -> None:
    catalog.write_text(catalog.read_text().replace("precision", "precison"))
    result = run("up", catalog, "--state-dir", state_dir.root)
    assert result.exit_code == 2
    assert f"{catalog}:8:" in result.output
    assert not state_dir.root.exists()


@pytest.mark.parametrize("seconds", ["inf", "nan", "2592001", "0", "-inf"])
def test_up_refuses_an_idle_timeout_that_never_comes(state_dir: StateDir, seconds: str) -> None:
    result = run("up", LOCAL_CATALOG, "--state-dir", state_dir.root, "--idle-timeout-seconds", seconds)
    assert result.exit_code == 2
    assert "--idle-timeout-seconds" in result.output
    assert not state_dir.root.exists()


def test_up_refuses_one_port_for_two_services(state_dir: StateDir) -> None:
    error = refused(
        "up", LOCAL_CATALOG, "--state-dir", state_dir.root, "--serve-port", 18990, "--dashboard-port", 18990
    )
    assert isinstance(error, InputError)
    assert "both 18990" in error.what


def test_up_names_the_state_directory_in_what_comes_next(
    monkeypatch: pytest.MonkeyPatch, state_dir: StateDir, tmp_path: Path
) -> None:
    cluster = aws_state("local-1", "", state_dir, "127.0.0.1", tmp_path / "token", "2026-11-30T00:00:00Z")
    monkeypatch.setattr(lifecycle, "up", lambda *_: cluster)
    monkeypatch.setattr(up_verb, "apply", lambda *_: None)
    monkeypatch.chdir(REPOSITORY)
    monkeypatch.delenv("ORCHESTRATOR_STATE_DIR", raising=False)
    elsewhere = tmp_path / "a b"
    for option, said in (
        ([], 'next: eval "$(orchestrator env)"'),
        (["--state-dir", ".orchestrator"], 'next: eval "$(orchestrator env)"'),
        (["--state-dir", elsewhere], f"next: eval \"$(orchestrator env --state-dir '{elsewhere}')\""),
    ):
        assert run("up", LOCAL_CATALOG, *option).output.splitlines()[-1] == said
    monkeypatch.setenv("ORCHESTRATOR_STATE_DIR", str(elsewhere))
    assert run("up", LOCAL_CATALOG).output.splitlines()[-1] == 'next: eval "$(orchestrator env)"'


@pytest.mark.parametrize("verb", ["env", "interrupt"])
def test_verbs_about_a_running_cluster_say_that_there_is_none(state_dir: StateDir, verb: str) -> None:
    error = refused(verb, "--state-dir", state_dir.root, *(["i-1"] if verb == "interrupt" else []))
    assert isinstance(error, OperationError)
    assert error.fix == "Start one with `orchestrator up`."


def test_down_without_a_cluster_is_fine(state_dir: StateDir) -> None:
    result = run("down", "--state-dir", state_dir.root)
    assert (result.exit_code, result.output) == (0, f"no cluster is running in {state_dir.root}\n")


def test_down_and_interrupt_leave_aws_alone(aws_head: StateDir) -> None:
    assert "ray down" in str(refused("down", "--state-dir", aws_head.root))
    assert "Only a local cluster" in str(refused("interrupt", "i-1", "--state-dir", aws_head.root))
    assert aws_head.load() is not None


@pytest.mark.parametrize(
    "arguments", [(), ("i-1", "--job", "tune")], ids=["neither", "both"]
)  # fmt: skip
def test_interrupt_wants_one_target(aws_head: StateDir, arguments: tuple[str, ...]) -> None:
    assert "Give NODE or --job" in str(refused("interrupt", *arguments, "--state-dir", aws_head.root))


def test_env_prints_what_a_shell_needs(aws_head: StateDir) -> None:
    as_json = json.loads(run("env", "--json", "--state-dir", aws_head.root).output)
    assert as_json.keys() == {
        "ORCHESTRATOR_API_URL",
        "ORCHESTRATOR_SERVE_URL",
        "ORCHESTRATOR_STATE_DIR",
        "ORCHESTRATOR_TOKEN_PATH",
        "RAY_ADDRESS",
        "RAY_API_SERVER_ADDRESS",
        "RAY_AUTH_MODE",
        "RAY_AUTH_TOKEN_PATH",
    }
    lines = run("env", "--state-dir", aws_head.root).output.splitlines()
    assert lines == [f"export {name}={value}" for name, value in as_json.items()]


def test_cluster_yaml_takes_subnets_and_tells_which_lack(catalog: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.yaml"
    result = run("cluster-yaml", catalog, "-o", target, "--subnet", "use1-az5=subnet-5", "--name", "prod")
    assert result.exit_code == 0, result.output
    written = yaml.safe_load(target.read_text())
    subnets = {s for each in written["available_node_types"].values() for s in each["node_config"].get("SubnetIds", [])}
    assert written["cluster_name"] == "prod"
    lacking = result.output.partition("no subnet given for ")[2].partition(":")[0].split(", ")
    assert subnets == {"subnet-5", *(f"subnet-of-{zone}" for zone in lacking)}


def test_cluster_yaml_gives_the_head_the_prices_that_its_node_types_come_from(
    catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mounts() -> dict[str, str]:
        return yaml.safe_load(run("cluster-yaml", catalog, "-o", "-").output)["file_mounts"]

    shipped = mounts()
    prices = tmp_path / "prices.csv"
    prices.write_text(files("orchestrator.offers").joinpath("prices.csv").read_text())
    monkeypatch.setenv("ORCHESTRATOR_PRICES", str(prices))
    on_head = prices_path({"HOME": "/home/ubuntu"})
    assert {name.replace("~", "/home/ubuntu"): here for name, here in mounts().items() - shipped.items()} == {
        str(on_head): str(prices)
    }


@pytest.mark.parametrize("pair", ["use1-az5", "=subnet", "use1-az5="])
def test_a_malformed_subnet_is_bad_input(catalog: Path, pair: str) -> None:
    assert isinstance(refused("cluster-yaml", catalog, "-o", "-", "--subnet", pair), InputError)


def test_the_committed_cluster_yaml_is_in_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    made = run("cluster-yaml", "jobs/catalog.yaml", "-o", "-").output
    assert made == Path("cluster.yaml").read_text(), "run `orchestrator cluster-yaml jobs/catalog.yaml`"
