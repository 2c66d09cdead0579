"""Working directories of drivers: Ray drops an uploaded one soon after its driver ended, a resubmission needs it."""

import json
from pathlib import Path
from typing import Any


class PackageStore:
    """Packages by their `gcs://` URI, which is a content hash, as files below `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def has(self, uri: str) -> bool:
        """Whether a copy is kept."""
        return self._path(uri).exists()

    def keep(self, uri: str, content: bytes) -> None:
        """Keep a copy; never leaves half a file."""
        self._root.mkdir(parents=True, exist_ok=True)
        part = self._path(uri).with_suffix(".part")
        part.write_bytes(content)
        part.replace(self._path(uri))

    def load(self, uri: str) -> bytes:
        """The kept copy."""
        return self._path(uri).read_bytes()

    def _path(self, uri: str) -> Path:
        return self._root / Path(uri).name


def package_uris(runtime_env_json: str) -> tuple[str, ...]:
    """`gcs://` packages that a runtime environment names, in `working_dir` and `py_modules`."""
    env: dict[str, Any] = json.loads(runtime_env_json)
    named = [env.get("working_dir"), *(env.get("py_modules") or [])]
    return tuple(uri for uri in named if isinstance(uri, str) and uri.startswith("gcs://"))
