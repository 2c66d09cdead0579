"""Errors of the user's own training code: tried once more from the same place, then the run ends.

Ray retries whatever a worker raises, because it cannot tell a lost node from a misspelt name. A misspelt name stays
misspelt: a worker that raises such an error notes it beside the run's checkpoints, and when it has happened twice, the
next try returns the error instead of training, on all workers alike, so that none waits for the others.
"""

import json
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.runtime import storage

CODE_ERRORS = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, NotImplementedError,
    SyntaxError, TypeError, ValueError,
)  # fmt: skip
"""What code or data raises again and again. RuntimeError and OSError are not among them: devices, collectives and
networks raise those when a node goes."""

TRIES = 2
KEY = "user_error"


@dataclass(frozen=True, slots=True)
class Guarded:
    """`loop`, with its code errors counted in a file at `location`."""

    loop: Callable[[dict[str, Any]], Any]
    location: str

    def __call__(self, config: dict[str, Any]) -> Any:
        """Run the loop; returns {KEY: traceback} instead once it has failed TRIES times in the same way."""
        known = _read(self.location)
        if known and known["tries"] >= TRIES:
            return {KEY: known["traceback"]}
        try:
            return self.loop(config)
        except CODE_ERRORS as error:
            what = f"{type(error).__name__}: {error}"
            tries = known["tries"] + 1 if known and known["error"] == what else 1
            note = {"error": what, "tries": tries, "traceback": traceback.format_exc(limit=-5)}
            storage.write_text(self.location, json.dumps(note))
            raise


def user_error(returned: Any) -> str | None:
    """The traceback that a guarded loop gave up with, or None."""
    return returned.get(KEY) if isinstance(returned, Mapping) else None


def _read(location: str) -> dict[str, Any] | None:
    text = storage.read_text(location)
    return None if text is None else dict(json.loads(text))
