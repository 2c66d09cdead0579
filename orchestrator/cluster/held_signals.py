"""Stretches of work that a signal must not cut short. No handler is installed here: only the command line does that."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

CLEANING_UP = "cleaning up, a moment"


class Stopped(KeyboardInterrupt):
    """A signal asked the command to end; `number` says which one."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.number = number


@dataclass(slots=True)
class Hold:
    """What is under way: what each stretch says to whoever sends a signal ("" = nothing), and the signal that waits."""

    notices: list[str] = field(default_factory=list)
    waiting: int | None = None


HOLD = Hold()


@contextmanager
def held_back(notice: str = CLEANING_UP) -> Iterator[None]:
    """Signals that the command line listens to wait until the end of this stretch; then they stop the command."""
    HOLD.notices.append(notice)
    try:
        yield
    finally:
        HOLD.notices.pop()
    if HOLD.waiting is not None and not HOLD.notices:
        number, HOLD.waiting = HOLD.waiting, None
        raise Stopped(number)
