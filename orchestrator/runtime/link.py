"""What a training loop needs from the outside, and Ray Train as the one who gives it."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

COMMIT_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A node of this run is about to be taken away. `deadline_at_s` is Unix time, None = not said."""

    node_ids: tuple[str, ...]
    deadline_at_s: float | None


class Link(Protocol):
    """The outside of one training worker. `notice`, `report` and `agree` must be called by all workers alike."""

    rank: int
    world_size: int
    node_id: str

    def report(self, metrics: Mapping[str, Any], folder: Path | None) -> None:
        """Hands over metrics, and a snapshot folder to upload and commit; returns when it is committed."""
        ...

    def snapshot(self) -> Any:
        """Context with the folder of the newest committed snapshot, None when there is none."""
        ...

    def notice(self) -> Notice | None:
        """The interruption notice for the nodes of this run, if there is one."""
        ...

    def agree(self, wish: int) -> int:
        """The wish of rank 0, which is the same for all workers."""
        ...


class RayLink:
    """Ray Train (v2) as seen from inside a training function."""

    def __init__(self) -> None:
        import ray
        import ray.train

        self._train = ray.train
        context = ray.train.get_context()
        self.rank = context.get_world_rank()
        self.world_size = context.get_world_size()
        self.node_id = ray.get_runtime_context().get_node_id()
        # Ray 2.60 names this logger after its file, so `LoggingConfig` does not reach it: it prints every report.
        context_file = Path(ray.train.__file__).parent / "v2" / "_internal" / "execution" / "context.py"
        logging.getLogger(str(context_file)).setLevel(logging.WARNING)

    def report(self, metrics: Mapping[str, Any], folder: Path | None) -> None:
        """A barrier over all workers; the upload is synchronous.

        Ray's controller fetches reports when it polls the workers, and what is not fetched dies with the node: only
        what is committed counts.
        """
        checkpoint = self._train.Checkpoint.from_directory(str(folder)) if folder else None
        self._train.report(dict(metrics), checkpoint=checkpoint)
        if folder:
            committed = self._train.CheckpointConsistencyMode.COMMITTED
            self._train.get_all_reported_checkpoints(consistency_mode=committed, timeout_s=COMMIT_TIMEOUT_S)

    @contextmanager
    def snapshot(self) -> Iterator[Path | None]:
        """Downloads the checkpoint where it is remote."""
        checkpoint = self._train.get_checkpoint()
        if checkpoint is None:
            yield None
            return
        with checkpoint.as_directory() as folder:
            yield Path(folder)

    def notice(self) -> Notice | None:
        """Asks Ray's preemption watcher, a barrier over all workers."""
        info = self._train.get_preemption_info()
        if info is None:
            return None
        deadline_at_s = info.deadline_ms / 1000 if info.deadline_ms else None
        return Notice(node_ids=tuple(info.preempted_node_ids), deadline_at_s=deadline_at_s)

    def agree(self, wish: int) -> int:
        """Broadcasts one number over torch.distributed, which takes microseconds on a local network."""
        if self.world_size == 1:
            return wish
        device = "cuda" if torch.distributed.get_backend() == "nccl" else "cpu"
        value = torch.tensor([wish], dtype=torch.int64, device=device)
        torch.distributed.broadcast(value, src=0)
        return int(value.item())
