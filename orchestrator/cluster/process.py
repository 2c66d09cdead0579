"""Processes we started: recognised by pid and start time, or by a mark in their environment; never by name."""

import os
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import psutil

CLUSTER_MARK = "ORCHESTRATOR_CLUSTER"
INSTANCE_MARK = "ORCHESTRATOR_INSTANCE"
_SAME_START_S = 0.05
"""psutil reads start times in clock ticks (10 ms); a reused pid starts seconds later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedProcess:
    """A process as a file names it. `create_time` (seconds since the epoch) tells it from a later one with its pid."""

    pid: int
    create_time: float


def record(pid: int) -> RecordedProcess:
    """The identity of a process that is running now."""
    return RecordedProcess(pid=pid, create_time=psutil.Process(pid).create_time())


def find(recorded: RecordedProcess) -> psutil.Process | None:
    """The very process that was recorded, or None when it ended or became a zombie."""
    try:
        process = psutil.Process(recorded.pid)
        same = abs(process.create_time() - recorded.create_time) < _SAME_START_S
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return None


def marked(name: str, value: str) -> tuple[psutil.Process, ...]:
    """Our user's processes whose environment has `name=value`, except this one and those that called it.

    Children inherit the mark, also those that changed their process group or lost their parent, so this finds
    what a process tree would miss.
    """
    spared = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    found = []
    for process in psutil.process_iter():
        if process.pid in spared:
            continue
        try:
            if process.environ().get(name) == value:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return tuple(found)


def end(processes: Iterable[psutil.Process], grace_s: float) -> tuple[psutil.Process, ...]:
    """Asks with SIGTERM, kills after `grace_s` seconds (0 = at once); returns those that are still there."""
    remaining: Sequence[psutil.Process] = [process for process in processes if process.is_running()]
    if grace_s > 0:
        _signal(remaining, signal.SIGTERM)
        _, remaining = psutil.wait_procs(remaining, timeout=grace_s)
    # Stopped first, so that none sees another one die and reports it: a machine without power has no last words.
    _signal(remaining, signal.SIGSTOP)
    _signal(remaining, signal.SIGKILL)
    _, remaining = psutil.wait_procs(remaining, timeout=5.0)
    return tuple(process for process in remaining if process.is_running() and process.status() != psutil.STATUS_ZOMBIE)


def end_marked(name: str, value: str, grace_s: float) -> tuple[psutil.Process, ...]:
    """Ends everything that carries the mark; looks again, because a process may fork while it is being ended."""
    left: tuple[psutil.Process, ...] = ()
    for _ in range(3):
        left = marked(name, value)
        if not left:
            break
        end(left, grace_s)
    return left


def _signal(processes: Sequence[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue
