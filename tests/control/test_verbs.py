"""`apply`, `status`, `events` and `cost report` as users run them, with a controller and without."""

import errno
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from typer.testing import CliRunner

from orchestrator.cli import events
from orchestrator.cli.main import command_line
from orchestrator.cluster.state import ClusterState, StateDir, write_atomically
from orchestrator.control.api import create_app
from orchestrator.control.requests import begin_run, report_event
from orchestrator.ledger import nodes
from orchestrator.model.error import OrchestratorError
from orchestrator.model.node import NodeInterval
from orchestrator.model.offer import Market

Bench = Any
TOKEN = "t0ken"


class Shell:
    """Runs verbs on one state directory; named errors end as `main` ends them."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __call__(self, *args: str) -> tuple[int, str]:
        result = CliRunner().invoke(command_line(list(args)), [*args, "--state-dir", str(self.root)])
        if isinstance(result.exception, OrchestratorError):
            return result.exception.exit_code, str(result.exception)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.output


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """No cluster at all."""
    return Shell(tmp_path / "state")


@pytest.fixture
def served(bench: Bench, until: Callable[..., Any]) -> Iterator[Shell]:
    """A controller that answers on a port, recorded as a running cluster."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    state = StateDir(bench.folder)
    write_atomically(state.token_path, TOKEN.encode(), mode=0o600)
    url = f"http://127.0.0.1:{port}"
    state.save(
        ClusterState(
            name="local-test",
            provider="local",
            ray_address="127.0.0.1:1",
            dashboard_url="http://127.0.0.1:2",
            api_url=url,
            serve_url="http://127.0.0.1:8000",
            ray_temp_dir="",
            token_path=str(state.token_path),
            database_url=state.database_url,
            started_at="2026-11-30T12:00:00.000Z",
            ready=True,
        )
    )
    server = uvicorn.Server(uvicorn.Config(create_app(bench.controller, TOKEN), port=port, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    until(lambda: server.started, 20, "the server")
    yield Shell(bench.folder)
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def catalog_file(bench: Bench, catalog_text: str) -> Path:
    path: Path = bench.folder / "catalog.yaml"
    path.write_text(catalog_text)
    return path


@pytest.mark.parametrize("verb", [["status"], ["events"], ["cost", "report"]])
def test_without_a_cluster_one_line_says_so(shell: Shell, verb: list[str]) -> None:
    code, output = shell(*verb)
    assert code == 1
    assert output == f"no cluster is up in {shell.root}, and none was. Start one with `orchestrator up`."
    assert not shell.root.exists(), "asking creates nothing"


def test_apply_without_a_cluster_says_so(shell: Shell, catalog_file: Path) -> None:
    code, output = shell("apply", str(catalog_file))
    assert (code, output.startswith("no cluster is up")) == (1, True)


def test_a_faulty_catalog_is_refused_before_anybody_is_asked(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("version: 2\njobs: {x: {kind: trian}}\n")
    code, output = shell("apply", str(path))
    assert code == 2
    assert len(output.splitlines()) >= 3
    assert all(line.startswith(f"{path}:") for line in output.splitlines())
    code, output = shell("apply", str(path), "--json")
    assert (code, len(json.loads(output)["faults"]) >= 3) == (2, True)


def test_apply_prints_what_changes(served: Shell, catalog_file: Path) -> None:
    code, output = served("apply", str(catalog_file))
    assert code == 0
    assert "+ tune: train on " in output
    assert "nothing changes" in served("apply", str(catalog_file))[1]
    code, output = served("apply", str(catalog_file), "--json")
    assert json.loads(output)["jobs"]["tune"]["status"] == "placed"


def test_a_whole_run_in_the_words_of_the_verbs(served: Shell, bench: Bench, catalog_file: Path) -> None:
    served("apply", str(catalog_file))
    run_id = begin_run(bench.controller, "tune", bench.world.user_submits("raysubmit_1"), None).run_id
    report_event(bench.controller, run_id, "progress", "step 7, loss 0.9", {"step": 7})
    bench.tick()
    code, output = served("status")
    assert code == 0
    assert all(word in output for word in ("cluster local-test", "tune", "running", "step 7, loss 0.9", "nightly"))
    status = json.loads(served("status", "--json")[1])
    assert status["cluster"]["name"] == "local-test"
    assert {job["name"]: job["state"] for job in status["jobs"]} == {"nightly": "idle", "tune": "running"}
    report_event(bench.controller, run_id, "finished", "accuracy 0.93", {})
    lines = served("events", "--job", "tune")[1].splitlines()
    assert [line.split()[2] for line in lines] == ["began", "progress", "finished"]
    numbers = [json.loads(line)["id"] for line in served("events", "--json")[1].splitlines()]
    assert numbers == sorted(numbers)
    after = served("events", "--json", "--after", str(numbers[-2]))[1].splitlines()
    assert [json.loads(line)["message"] for line in after] == ["accuracy 0.93"]


BRACKETS = "FileNotFoundError: no such file [/data/x.parquet], [bold]not markup[/bold]"


def test_words_from_outside_are_shown_and_steer_nothing(served: Shell, bench: Bench, catalog_file: Path) -> None:
    """Brackets are no markup, control characters are no commands, and an event is one line."""
    served("apply", str(catalog_file))
    run_id = begin_run(bench.controller, "tune", bench.world.user_submits("raysubmit_1"), None).run_id
    report_event(bench.controller, run_id, "progress", BRACKETS, {})
    code, output = served("status")
    assert code == 0
    told = "".join(line.split("│")[-3].strip() + " " for line in output.splitlines() if line.startswith("│"))
    assert all(word in told for word in BRACKETS.split())
    assert BRACKETS in served("events")[1]
    report_event(bench.controller, run_id, "progress", "a\x1b[2J\x00b\r\nc\u202ed\x9be", {})
    code, output = served("events", "--job", "tune")
    assert code == 0
    assert output.splitlines()[-1].endswith(r"a\x1b[2J\x00b\r\nc\u202ed\x9be")
    code, output = served("status")
    assert (code, {"\x1b", "\x00", "\r", "\u202e", "\x9b"} & set(output)) == (0, set())


def test_the_bill_shows_brackets(bench: Bench) -> None:
    with bench.controller.database.write() as connection:
        nodes.record_intervals(connection, [paid_node()])
        for at in ("2026-11-30T10:00:00.000Z", "2026-11-30T10:30:00.000Z"):
            nodes.record_uses(connection, [("other", "other", "driver[/x]", "i-1")], at)
    code, output = Shell(bench.folder)("cost", "report")
    assert code == 0
    assert "driver[/x]" in output


def test_status_says_that_the_cluster_is_out_of_sight(served: Shell, bench: Bench) -> None:
    bench.tick()
    assert json.loads(served("status", "--json")[1])["note"] == ""
    bench.clock.forward(60)
    code, output = served("status")
    assert (code, output.splitlines()[0][:64]) == (
        0,
        "the controller has not seen the cluster since 12:00:00 UTC: what",
    )
    assert json.loads(served("status", "--json")[1])["note"] == output.splitlines()[0]


def test_apply_tells_why_the_controller_cannot(served: Shell, bench: Bench, catalog_file: Path) -> None:
    def fails(_plans: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/state/x.json")

    bench.world.offer_nodes = fails
    code, output = served("apply", str(catalog_file))
    assert code == 1
    assert output.startswith(
        f"the controller does not take {catalog_file}: the controller cannot use /state/x.json: No"
    )


def test_event_numbers_have_their_bounds(shell: Shell) -> None:
    assert shell("events", "--after", str(10**25))[0] == 2


def test_the_bill_says_that_a_service_served(bench: Bench) -> None:
    with bench.controller.database.write() as connection:
        nodes.record_intervals(connection, [paid_node()])
        for at in ("2026-11-30T10:00:00.000Z", "2026-11-30T10:30:00.000Z"):
            nodes.record_uses(connection, [("chat", "serve", "chat", "i-1")], at)
    output = Shell(bench.folder)("cost", "report")[1]
    (line,) = [line for line in output.splitlines() if "chat" in line]
    assert "served, emulated" in line


def test_following_prints_what_comes_later(served: Shell, bench: Bench, catalog_file: Path) -> None:
    """`--follow` goes on until interrupted: here after the event that the test waits for."""
    served("apply", str(catalog_file))
    stream = events._stream(StateDir(bench.folder), "", 0, True)
    assert next(stream)["kind"] == "applied"
    run_id = begin_run(bench.controller, "tune", "", None).run_id
    threading.Timer(0.2, report_event, (bench.controller, run_id, "progress", "later", {})).start()
    began = time.monotonic()
    assert [next(stream)["kind"], next(stream)["message"]] == ["began", "later"]
    assert time.monotonic() - began < 20


def test_after_down_the_ledger_still_answers(bench: Bench, catalog_file: Path) -> None:
    bench.world.intervals = []
    with bench.controller.database.write() as connection:
        nodes.record_intervals(connection, [paid_node()])
    shell = Shell(bench.folder)
    code, output = shell("status")
    assert code == 0
    assert output.splitlines()[0] == f"no cluster is up in {bench.folder}. Start one with `orchestrator up`."
    code, output = shell("cost", "report")
    assert code == 0
    assert "would have cost" in output
    assert "no money was spent" in output
    cost = json.loads(shell("cost", "report", "--json")[1])
    assert (cost["idle"]["usd"], cost["total"]["on_demand_usd"], cost["emulated"]) == (0.36, 0.9, True)
    assert shell("events") == (0, "")


@pytest.mark.parametrize("verb", [["status"], ["events"], ["cost", "report"]])
def test_a_damaged_ledger_ends_a_verb_with_one_line(bench: Bench, verb: list[str]) -> None:
    bench.controller.database.close()
    path = bench.folder / "ledger.db"
    path.write_bytes(path.read_bytes()[:4096] + b"\xa5" * 40_000)
    code, output = Shell(bench.folder)(*verb)
    assert code == 1
    assert output.startswith(f"the ledger {path} is damaged: ")
    assert "restore a copy of it" in output


def paid_node() -> NodeInterval:
    return NodeInterval(
        node_id="i-1", instance_type="g6.xlarge", accelerator="L4", market=Market.SPOT, zone="z",
        price_usd_per_hour=Decimal("0.36"), on_demand_usd_per_hour=Decimal("0.90"),
        started_at="2026-11-30T10:00:00.000Z", ended_at="2026-11-30T11:00:00.000Z", end_reason="idle", emulated=True,
    )  # fmt: skip


def test_a_controller_that_is_gone_is_named(bench: Bench) -> None:
    state = StateDir(bench.folder)
    write_atomically(state.token_path, b"x")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    state.save(
        ClusterState(
            name="gone",
            provider="local",
            ray_address="",
            dashboard_url="",
            api_url=f"http://127.0.0.1:{port}",
            serve_url="",
            ray_temp_dir="",
            token_path=str(state.token_path),
            database_url="",
            started_at="",
        )
    )
    code, output = Shell(bench.folder)("status")
    assert code == 0
    assert f"the controller at http://127.0.0.1:{port} does not answer" in output
    assert "orchestrator down" in output
