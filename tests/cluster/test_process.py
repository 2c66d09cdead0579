"""Processes are recognised by what cannot be reused, and ended with their children."""

import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace

import psutil
import pytest

from orchestrator.cluster.process import argument, end, end_marked, find, marked, marks, record, roots

pytestmark = pytest.mark.slow

SLEEP = [sys.executable, "-c", "import time; time.sleep(300)"]
ORPHAN_MAKER = [
    sys.executable,
    "-c",
    "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'], "
    "start_new_session=True)",
]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on', flush=True); time.sleep(300)",
]


@pytest.fixture
def mark() -> str:
    return uuid.uuid4().hex


@pytest.fixture
def spawn(mark: str) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    started = []

    def start(command: list[str] = SLEEP) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(command, env={**os.environ, "TEST_MARK": mark}, stdout=subprocess.PIPE)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()
    end_marked("TEST_MARK", mark, grace_s=0)


def test_a_recorded_process_is_found_until_it_ends(spawn: Callable[..., subprocess.Popen[bytes]]) -> None:
    process = spawn()
    recorded = record(process.pid)
    assert find(recorded).pid == process.pid
    assert find(replace(recorded, create_time=recorded.create_time - 5)) is None, "another process had this pid"
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert find(recorded) is None, "a zombie has ended"
    process.wait()
    assert find(recorded) is None


def test_ending_kills_what_ignores_the_request(spawn: Callable[..., subprocess.Popen[bytes]]) -> None:
    process = spawn(STUBBORN)
    assert process.stdout.readline() == b"on\n"
    assert end((find(record(process.pid)),), grace_s=0.3) == ()
    assert not psutil.pid_exists(process.pid)


def test_the_mark_finds_children_without_parent_or_group(
    spawn: Callable[..., subprocess.Popen[bytes]], mark: str
) -> None:
    spawn(ORPHAN_MAKER).wait()
    orphans = marked("TEST_MARK", mark)
    assert len(orphans) == 1
    assert end_marked("TEST_MARK", mark, grace_s=0) == ()
    assert marked("TEST_MARK", mark) == ()


def test_command_lines_tell_an_option(spawn: Callable[..., subprocess.Popen[bytes]]) -> None:
    started = spawn([*STUBBORN, "--temp-dir=/tmp/x"])
    assert started.stdout.readline() == b"on\n", "before its program begins, a process has no command line"
    process = find(record(started.pid))
    assert argument((process,), "--temp-dir") == "/tmp/x"
    assert argument((process,), "--temp") is None


def test_roots_have_their_parent_elsewhere(spawn: Callable[..., subprocess.Popen[bytes]]) -> None:
    child = find(record(spawn().pid))
    assert roots((child, psutil.Process())) == (psutil.Process(),)


def test_marks_lists_other_values(spawn: Callable[..., subprocess.Popen[bytes]], mark: str) -> None:
    assert spawn(STUBBORN).stdout.readline() == b"on\n"
    assert marks("TEST_MARK", mark, "PATH") == (os.environ["PATH"],)
    assert marks("TEST_MARK", mark, "NOT_SET_ANYWHERE") == ()


PARENT_OF_TITLED = """
import subprocess, sys, time
title = "import time; from setproctitle import setproctitle; setproctitle('x' * 9000); time.sleep(300)"
subprocess.Popen([sys.executable, "-c", title])
time.sleep(300)
"""


def test_the_mark_finds_a_child_that_overwrote_its_environment(mark: str, until: Callable[..., object]) -> None:
    """As Ray's workers and agents do when they set their title."""
    environment = {**os.environ, "TEST_MARK": mark}
    leader = subprocess.Popen([sys.executable, "-c", PARENT_OF_TITLED], env=environment, start_new_session=True)
    try:
        parent = psutil.Process(leader.pid)
        until(lambda: [child for child in parent.children() if "TEST_MARK" not in child.environ()], 15, "the new title")
        child = parent.children()[0]
        assert {process.pid for process in marked("TEST_MARK", mark)} == {leader.pid, child.pid}
        assert end_marked("TEST_MARK", mark, grace_s=0) == ()
        assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    finally:
        end((psutil.Process(leader.pid),) if psutil.pid_exists(leader.pid) else (), grace_s=0)
        leader.wait()


def test_the_caller_is_spared(mark: str) -> None:
    script = f"from orchestrator.cluster.process import marked; print(len(marked('TEST_MARK', '{mark}')))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "TEST_MARK": mark},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "0"
