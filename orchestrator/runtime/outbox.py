"""Sends messages in the background, in order, and keeps those that cannot be delivered yet."""

import atexit
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Message = TypeVar("Message")
logger = logging.getLogger(__name__)

CAPACITY = 1000
FIRST_WAIT_S, LONGEST_WAIT_S = 0.2, 5.0
AT_EXIT_S = 10.0


class Undelivered(Exception):  # noqa: N818  it names a state of a message, not a fault of the program
    """A message could not be delivered now; it may be later."""


class Outbox(Generic[Message]):
    """A bounded queue with one sending thread. When it is full, the oldest message is dropped.

    What is still queued when the program ends is sent then, for at most `AT_EXIT_S`.
    """

    def __init__(self, send: Callable[[Message], None], capacity: int = CAPACITY) -> None:
        self._send = send
        self._waiting: deque[Message] = deque()
        self._capacity = capacity
        self._changed = threading.Condition()
        self._closing_at_s: float | None = None
        self._thread: threading.Thread | None = None
        self.dropped = 0

    def put(self, message: Message) -> None:
        """Queues a message; never blocks on the network and never fails."""
        with self._changed:
            if len(self._waiting) >= self._capacity:
                self._waiting.popleft()
                self.dropped += 1
            self._waiting.append(message)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="outbox", daemon=True)
                self._thread.start()
                atexit.register(self.close, AT_EXIT_S)
            self._changed.notify_all()

    def close(self, timeout_s: float) -> None:
        """Sends what is left for at most `timeout_s`, then gives up with a warning."""
        with self._changed:
            if self._closing_at_s is not None:
                return
            self._closing_at_s = time.monotonic() + timeout_s
            self._changed.notify_all()
        atexit.unregister(self.close)
        if self._thread is not None:
            self._thread.join(timeout_s + 1.0)
        lost = self.dropped + len(self._waiting)
        if lost:
            logger.warning("%d events could not be delivered to the controller", lost)

    def _run(self) -> None:
        wait_s = FIRST_WAIT_S
        while (message := self._next()) is not None:
            try:
                self._send(message)
            except Undelivered as error:
                logger.debug("not delivered, trying again in %.1f s: %s", wait_s, error)
                if self._pause(wait_s):
                    return
                wait_s = min(2 * wait_s, LONGEST_WAIT_S)
                continue
            wait_s = FIRST_WAIT_S
            with self._changed:
                if self._waiting and self._waiting[0] is message:
                    self._waiting.popleft()

    def _next(self) -> Message | None:
        """The oldest message, which stays queued until it is sent; None = closed, nothing left to do."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing_at_s is not None)
            return self._waiting[0] if self._waiting else None

    def _pause(self, wait_s: float) -> bool:
        """Waits before the next try; True = time is up, stop trying."""
        with self._changed:
            closing = self._closing_at_s
            if closing is not None:
                wait_s = min(wait_s, max(0.0, closing - time.monotonic()))
            self._changed.wait_for(lambda: self._closing_at_s != closing, timeout=wait_s)
            return self._closing_at_s is not None and time.monotonic() >= self._closing_at_s
