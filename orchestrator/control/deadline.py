"""Calls into libraries that may never return."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class DeadlineThread:
    """Runs one call at a time in a thread, and gives up waiting for it after `deadline_s` seconds.

    A thread cannot be ended: while an abandoned call hangs, further ones are refused at once, so that at most one does.
    """

    def __init__(self, name: str, deadline_s: float) -> None:
        self._name = name
        self._deadline_s = deadline_s
        self._abandoned: Future[Any] | None = None
        self._turn = threading.Lock()

    def run(self, call: Callable[[], T]) -> T:
        """What `call` returns or raises; TimeoutError when it has not ended in time, or an earlier one still hangs."""
        with self._turn:
            if self._abandoned is not None and not self._abandoned.done():
                raise TimeoutError(f"an earlier call hangs for more than {self._deadline_s:g} s")
            result: Future[T] = Future()
            # A daemon: the process must be able to end while the call hangs.
            threading.Thread(target=_settle, args=(result, call), name=self._name, daemon=True).start()
            try:
                return result.result(self._deadline_s)
            except TimeoutError as error:
                if result.done():
                    raise
                self._abandoned = result
                raise TimeoutError(f"no answer within {self._deadline_s:g} s") from error


def _settle(result: Future[Any], call: Callable[[], Any]) -> None:
    try:
        result.set_result(call())
    except Exception as error:  # noqa: BLE001 - raised again where the result is awaited
        result.set_exception(error)
