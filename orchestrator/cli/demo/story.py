"""The teller: headings, lines with the time that has passed, and waiting with a deadline that is always visible."""

import time
from collections.abc import Callable
from typing import TypeVar

from rich.console import Console

from orchestrator.model.error import OperationError

Found = TypeVar("Found")

POLL_S = 0.5
QUIET_S = 20.0
"""Without a terminal (a log file, CI) a line says every so often that we still wait."""


class Story:
    """Speaks to the user and keeps the time since the beginning."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._began = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the story began."""
        return time.monotonic() - self._began

    def chapter(self, number: int, title: str) -> None:
        """A heading."""
        self.console.print()
        self.console.rule(f"[bold]{number}. {title}[/bold]", align="left")

    def say(self, text: str) -> None:
        """One line, with minutes and seconds since the beginning."""
        minutes, seconds = divmod(int(self.elapsed_s), 60)
        self.console.print(f"[dim]{minutes:2d}:{seconds:02d}[/dim]  {text}", highlight=False, soft_wrap=True)

    def wait(self, what: str, probe: Callable[[], Found | None], deadline_s: float) -> Found:
        """Polls until `probe` returns something; raises when it does not within `deadline_s`."""
        ends = time.monotonic() + deadline_s
        speak_at = time.monotonic() + QUIET_S
        with self.console.status(f"waiting for {what} …"):
            while time.monotonic() < ends:
                found = probe()
                if found is not None:
                    return found
                if not self.console.is_terminal and time.monotonic() >= speak_at:
                    self.say(f"[dim]… waiting for {what}[/dim]")
                    speak_at = time.monotonic() + QUIET_S
                time.sleep(POLL_S)
        raise OperationError(
            f"{what} did not come within {deadline_s:.0f} s.",
            "Look at `orchestrator events` and the logs in the state directory.",
        )
