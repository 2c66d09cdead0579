"""A folder that is either complete and of the right recipe, or not there."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

STAMP = ".fingerprint"


def is_current(target: Path, fingerprint: str) -> bool:
    """True when `target` was published with exactly this fingerprint."""
    stamp = target / STAMP
    return stamp.is_file() and stamp.read_text() == fingerprint


def publish(target: Path, fingerprint: str, build: Callable[[Path], None]) -> None:
    """Calls `build` on an empty folder beside `target`, stamps it and swaps it in; on failure `target` is untouched."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        build(fresh)
        (fresh / STAMP).write_text(fingerprint)
        fresh.chmod(0o755)  # mkdtemp and safetensors make things private; assets are for everyone on the machine
        for file in fresh.iterdir():
            file.chmod(0o644)
        _swap(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _swap(fresh: Path, target: Path) -> None:
    """A rename cannot replace a folder that has files, so the old one steps aside first."""
    if not target.exists():
        fresh.replace(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}-old-", dir=target.parent))
    target.replace(old)
    fresh.replace(target)
    shutil.rmtree(old)
