"""Processes we started: recognised by pid and start time, or by a mark in their environment; never by name."""

import os
import signal
from collections.abc import Iterable, Mapping, Sequence
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
    """What was started with `name=value` in its environment and all that belongs to it, except us and our callers.

    The mark alone does not find all: Ray's workers and agents overwrite their environment with a process title. So
    the sessions of marked processes count (whatever we start leads a session of its own), and all descendants.
    """
    here = psutil.Process()
    spared = {here.pid, *(parent.pid for parent in here.parents())}
    processes = {process.pid: process for process in psutil.process_iter()}
    found = {pid for pid, process in processes.items() if _environment(process).get(name) == value} - spared
    sessions = {pid: _session(pid) for pid in processes}
    ours = {sessions[pid] for pid in found} - {_session(pid) for pid in spared} - {None}
    found |= {pid for pid, session in sessions.items() if session in ours}
    found |= _descendants(found, processes)
    return tuple(processes[pid] for pid in sorted(found - spared))


def marks(name: str, value: str, other: str) -> tuple[str, ...]:
    """The values of `other` in the environments of processes that were started with `name=value`, sorted."""
    environments = [_environment(process) for process in psutil.process_iter()]
    return tuple(sorted({each[other] for each in environments if each.get(name) == value and other in each}))


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


def roots(processes: Sequence[psutil.Process]) -> tuple[psutil.Process, ...]:
    """Those whose parent is not among them: the head and the controller of a cluster, and orphans."""
    parents = {process.pid: _parent(process) for process in processes}
    return tuple(process for process in processes if parents[process.pid] not in parents)


def argument(processes: Iterable[psutil.Process], option: str) -> str | None:
    """The value of `--option=value` in the first command line that has it."""
    words = (word for process in processes for word in _arguments(process))
    return next((word.removeprefix(f"{option}=") for word in words if word.startswith(f"{option}=")), None)


def end_marked(name: str, value: str, grace_s: float) -> tuple[psutil.Process, ...]:
    """Ends everything that carries the mark; looks again, because a process may fork while it is being ended."""
    left: tuple[psutil.Process, ...] = ()
    for _ in range(3):
        left = marked(name, value)
        if not left:
            break
        end(left, grace_s)
    return left


def _environment(process: psutil.Process) -> Mapping[str, str]:
    try:
        return process.environ()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return {}


def _parent(process: psutil.Process) -> int | None:
    try:
        return process.ppid()
    except psutil.NoSuchProcess:
        return None


def _arguments(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return []


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def _descendants(roots: Iterable[int], processes: Mapping[int, psutil.Process]) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid, process in processes.items():
        if (parent := _parent(process)) is not None:
            children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    frontier = list(roots)
    while frontier:
        fresh = [pid for pid in children.get(frontier.pop(), []) if pid not in found]
        found.update(fresh)
        frontier.extend(fresh)
    return found


def _signal(processes: Sequence[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue
