"""The state of a training process on disk: named parts, the random generators, and where the run stands.

`state.pt` holds what all workers share and is written by rank 0; `random-RANK.pt` is each worker's own. Ray Train
uploads the folder and records it as a checkpoint only when it is complete.
"""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from orchestrator.model.error import OperationError

STATE = "state.pt"
VERSION = 1


class Part(Protocol):
    """Anything whose state is to survive: a model, an optimizer, a scheduler, a sample order, …"""

    def state_dict(self) -> Mapping[str, Any]:
        """Everything that has to be saved."""
        ...

    def load_state_dict(self, state: Any) -> Any:
        """Takes over a saved state."""
        ...


class TrainableWeights:
    """The weights that training changes: all of them, or only the adapter; so LoRA checkpoints stay small."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._weights = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Name → weight."""
        return {name: weight.detach() for name, weight in self._weights.items()}

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Copies saved weights into the model."""
        if state.keys() != self._weights.keys():
            raise OperationError(
                "the checkpoint holds other weights than this job trains.",
                "Method, rank or model were changed: start a new run.",
            )
        with torch.no_grad():
            for name, weight in self._weights.items():
                weight.copy_(state[name])


def save(folder: Path, rank: int, parts: Mapping[str, Part], facts: Mapping[str, Any]) -> None:
    """Writes this worker's share of a snapshot. `facts` are JSON scalars, such as the step."""
    torch.save(_random_state(), folder / f"random-{rank}.pt")
    if rank == 0:
        state = {name: part.state_dict() for name, part in parts.items()}
        torch.save({"version": VERSION, "facts": dict(facts), "parts": state}, folder / STATE)


def load(folder: Path, rank: int, parts: Mapping[str, Part]) -> dict[str, Any]:
    """Puts every part back to where it was and returns the facts. A new rank keeps its random generators."""
    saved = torch.load(folder / STATE, map_location="cpu", weights_only=True)
    if saved["version"] != VERSION or saved["parts"].keys() != parts.keys():
        raise OperationError("the checkpoint was written by another version of the job.", "Start a new run.")
    for name, part in parts.items():
        part.load_state_dict(saved["parts"][name])
    own = folder / f"random-{rank}.pt"
    if own.is_file():
        _set_random_state(torch.load(own, map_location="cpu", weights_only=True))
    return dict(saved["facts"])


def _random_state() -> dict[str, Any]:
    version, numbers, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state()
    return {
        "python": [version, list(numbers), gauss],
        "numpy": [name, torch.from_numpy(keys.astype(np.int64)), position, has_gauss, cached],  # type: ignore[union-attr]
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def _set_random_state(state: dict[str, Any]) -> None:
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    name, keys, position, has_gauss, cached = state["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), position, has_gauss, cached))
    torch.set_rng_state(state["torch"])
    if state["cuda"] and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])
