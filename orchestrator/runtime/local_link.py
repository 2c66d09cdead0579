"""One process without Ray: for trying a training loop on one's own machine."""

import logging
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orchestrator.runtime import storage
from orchestrator.runtime.link import Notice

logger = logging.getLogger(__name__)


class LocalLink:
    """Keeps the newest snapshot in a folder, and logs what is reported: `Session(link=LocalLink(folder), …)`."""

    rank = 0
    world_size = 1
    node_id = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def report(self, metrics: Mapping[str, Any], folder: Path | None) -> None:
        """Logs the metrics; a snapshot replaces the one before it."""
        logger.info("%s", dict(metrics))
        if folder is not None:
            with storage.new_folder(str(self.folder)) as target:
                shutil.copytree(folder, target, dirs_exist_ok=True)

    @contextmanager
    def snapshot(self) -> Iterator[Path | None]:
        """The folder, if anything was saved."""
        yield self.folder if self.folder.is_dir() else None

    def notice(self) -> Notice | None:
        """One's own machine gives no notice."""
        return None

    def agree(self, wish: int) -> int:
        """There is nobody to disagree."""
        return wish
