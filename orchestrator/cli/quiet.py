"""Keeps what native libraries print out of what a command prints."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def native_output_to_stderr() -> Iterator[None]:
    """HiGHS prints a line of its own to file descriptor 1 now and then, which would spoil `--json`.

    Does nothing where standard output is no real file (captured in a test, closed).
    """
    sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:
        yield
        return
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
