"""Says in one line what a machine lacks before `make setup` starts, and what to do about it."""

import shutil
import sys

NEEDED_GIB = 8


def main() -> None:
    """Check the interpreter and the disk; with --explain-install-failure say what usually went wrong."""
    if "--explain-install-failure" in sys.argv:
        sys.exit(
            "error: the locked packages could not be installed. If the missing one is torch==…+cpu: your package index "
            "lacks the CPU build; add PyTorch's own CPU wheel index (see README, 'Installing') and run make again."
        )
    if sys.version_info[:2] != (3, 11):
        found = ".".join(str(part) for part in sys.version_info[:3])
        sys.exit(f"error: Python 3.11 is needed, this is {found}. Install it or run: make PYTHON=/path/to/python3.11")
    free_gib = shutil.disk_usage(".").free / 2**30
    if free_gib < NEEDED_GIB:
        sys.exit(f"error: {NEEDED_GIB} GiB of free disk are needed here, {free_gib:.1f} GiB are free.")


if __name__ == "__main__":
    main()
