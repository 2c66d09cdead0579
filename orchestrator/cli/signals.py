"""Makes SIGTERM and SIGHUP end a command as Ctrl-C does, so that it takes down what it started."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType

from orchestrator.cluster.held_signals import CLEANING_UP, HOLD, Stopped

HEEDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
UNWIND_S = 5.0
"""A second signal this soon after the first must not cut off the way to the clean-up."""


@dataclass(slots=True)
class Heard:
    """The first signal that came while a command listened, and when it stopped the command (monotonic seconds)."""

    first: int | None = None
    stopped_at_s: float | None = None

    @property
    def exit_code(self) -> int:
        """What a shell reports for a process that this signal ended."""
        return 128 + (self.first or signal.SIGINT)

    def take(self, number: int, _frame: FrameType | None) -> None:
        """The handler: stops the command, or lets the signal wait while something must be finished."""
        self.first = self.first or number
        now_s = time.monotonic()
        if HOLD.notices:
            HOLD.waiting = HOLD.waiting or number
            tell(HOLD.notices[-1])
        elif self.stopped_at_s is not None and now_s - self.stopped_at_s < UNWIND_S:
            tell(CLEANING_UP)
        else:
            self.stopped_at_s = now_s
            raise Stopped(number)


@contextmanager
def listening(heard: Heard) -> Iterator[None]:
    """Handles the signals until the end of the block; one that our caller ignores (`nohup`) stays ignored."""
    HOLD.waiting = None
    before = {number: signal.getsignal(number) for number in HEEDED}
    replaced = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in replaced:
        signal.signal(number, heard.take)
    try:
        yield
    finally:
        for number, handler in replaced.items():
            signal.signal(number, handler)


def tell(line: str) -> None:
    """One line on standard error, past Python's buffers: a handler may interrupt a write. The terminal may be gone."""
    if line:
        with suppress(OSError):
            os.write(2, f"{chr(10) if os.isatty(2) else ''}{line}\n".encode())
