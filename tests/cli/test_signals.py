"""Signals end `up`, `down` and the demo in order: whatever was started is taken down first, and only once."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.cli.demo import command as demo
from orchestrator.cli.demo.story import Story
from orchestrator.cli.screen import wide_console
from orchestrator.cli.signals import Heard, listening
from orchestrator.cluster import lifecycle
from orchestrator.cluster.held_signals import Stopped, held_back
from orchestrator.cluster.process import CLUSTER_MARK, end_marked, marked
from orchestrator.cluster.state import StateDir

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def as_in_a_terminal() -> Iterator[None]:
    """`nohup` and background jobs of a shell ignore signals, which tests and their children would inherit."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


REPOSITORY = Path(__file__).parents[2]
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, lambda *_: print("asked to end", flush=True))
print("runs", flush=True)
time.sleep(300)
"""
PROGRAM = f"""
import sys
from orchestrator.cli.main import main
from orchestrator.cluster import lifecycle
lifecycle.head_command = lambda *_: (sys.executable, "-c", {STUBBORN!r})
main()
"""
"""The command line with a stand-in for Ray's head, which never answers and must be killed."""


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts the command; what it leaves is killed afterwards."""
    state = StateDir(tmp_path / "state")
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", PROGRAM, *arguments, "--state-dir", str(state.root)]
        started.append(
            subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()
    if cluster := state.load():
        end_marked(CLUSTER_MARK, cluster.name, grace_s=0)


def head_says(state: StateDir, words: str) -> bool:
    log = state.logs / "head.log"
    return log.exists() and words in log.read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_while_starting_leaves_nothing(
    begin: Callable[..., subprocess.Popen[str]], state_dir: StateDir, until: Callable[..., Any], number: signal.Signals
) -> None:
    up = begin("up")
    until(lambda: head_says(state_dir, "runs"), 60, "a started head")
    name = state_dir.load().name
    up.send_signal(number)
    until(lambda: head_says(state_dir, "asked to end"), 30, "the clean-up")
    up.send_signal(signal.SIGINT)
    _, errors = up.communicate(timeout=60)
    assert up.returncode == 128 + number, errors
    assert re.findall(r"cleaning up, a moment|stopped by \w+|Traceback", errors) == [
        "cleaning up, a moment",
        f"stopped by {number.name}",
    ]
    assert state_dir.load() is None
    assert marked(CLUSTER_MARK, name) == ()


def test_down_finishes_in_spite_of_signals(
    begin: Callable[..., subprocess.Popen[str]], state_dir: StateDir, until: Callable[..., Any]
) -> None:
    up = begin("up")
    until(lambda: head_says(state_dir, "runs"), 60, "a started head")
    up.kill()
    up.wait()
    name = state_dir.load().name
    assert marked(CLUSTER_MARK, name), "killed, `up` could take nothing down"
    down = begin("down")
    until(lambda: head_says(state_dir, "asked to end"), 30, "the end of the head")
    down.send_signal(signal.SIGHUP)
    output, errors = down.communicate(timeout=60)
    assert (down.returncode, output) == (128 + signal.SIGHUP, f"cluster of {state_dir.root} is down\n")
    assert errors == "cleaning up, a moment\nstopped by SIGHUP.\n"
    assert state_dir.load() is None
    assert marked(CLUSTER_MARK, name) == ()


def test_signals_wait_for_the_end_of_a_stretch(capfd: pytest.CaptureFixture[str]) -> None:
    heard, done = Heard(), []
    with listening(heard), pytest.raises(Stopped) as stopped:
        with held_back():
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGHUP)
            done.append("all of it")
        done.append("too much")
    assert done == ["all of it"]
    assert (stopped.value.number, heard.exit_code) == (signal.SIGTERM, 143)
    assert capfd.readouterr().err == "cleaning up, a moment\n" * 2


def test_a_second_signal_does_not_cut_off_the_way_to_the_clean_up(capfd: pytest.CaptureFixture[str]) -> None:
    with listening(Heard()), pytest.raises(Stopped):
        try:
            os.kill(os.getpid(), signal.SIGINT)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
    assert capfd.readouterr().err == "cleaning up, a moment\n"


def test_what_the_caller_ignores_stays_ignored() -> None:
    """As under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with listening(Heard()):
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_importing_the_library_installs_no_handler() -> None:
    program = (
        "import signal; before = [signal.getsignal(n) for n in (1, 2, 15)]\n"
        "import orchestrator.cluster.lifecycle, orchestrator.cluster.held_signals, orchestrator.cli.main\n"
        "assert before == [signal.getsignal(n) for n in (1, 2, 15)]"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_the_demo_takes_its_cluster_down_where_nobody_can_see_it(
    monkeypatch: pytest.MonkeyPatch, state_dir: StateDir
) -> None:
    """A closed terminal takes no output."""
    story, ended = Story(wide_console()), []

    class Gone:
        def start(self) -> None:
            raise OSError(5, "Input/output error")

        stop = start

    monkeypatch.setattr(story.console, "status", lambda _: Gone())
    monkeypatch.setattr(lifecycle, "down", ended.append)
    demo.end(story, state_dir)
    assert ended == [state_dir]


def test_a_signal_in_the_demo_takes_its_cluster_down(monkeypatch: pytest.MonkeyPatch, state_dir: StateDir) -> None:
    ended = []
    monkeypatch.setattr(lifecycle, "down", ended.append)

    def up(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(lifecycle, "up", up)
    planned: Any = SimpleNamespace(
        catalog=SimpleNamespace(cluster=SimpleNamespace(max_workers=1)), node_types=(), path=Path("catalog.yaml")
    )
    story = Story(wide_console())
    with listening(Heard()), pytest.raises(Stopped), demo.running(story, state_dir, planned, "", keep=False):
        pytest.fail("the story begins")
    assert ended == [state_dir]
