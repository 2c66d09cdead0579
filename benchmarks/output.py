"""The one JSON document on standard output, whatever libraries print."""

import json
import os
import sys
from collections.abc import Callable
from typing import Any


def print_json(measure: Callable[[], dict[str, Any]], indent: int | None = None) -> None:
    """Print what `measure` returns. Until then standard output goes to standard error: the solver's C++ code prints
    there now and then, past Python."""
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
        found = measure()
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
    print(json.dumps(found, indent=indent))
