"""The order in which a training run visits its samples: shuffled anew each epoch, and resumable."""

import torch

from orchestrator.model.error import InputError


class SampleOrder:
    """An endless stream of sample indices. It depends on seed and size only, so every worker can compute all of it.

    `taken` counts samples over all workers; saving and loading it continues the very same order.
    """

    def __init__(self, num_samples: int, seed: int) -> None:
        if num_samples < 1:
            raise InputError("the training data is empty.", "Check `data` of the job.")
        self.num_samples = num_samples
        self.seed = seed
        self.taken = 0
        self._epoch = -1
        self._permutation: list[int] = []

    def take(self, count: int) -> list[int]:
        """The next `count` indices."""
        found = [self._index(position) for position in range(self.taken, self.taken + count)]
        self.taken += count
        return found

    def state_dict(self) -> dict[str, int]:
        """What `load_state_dict` needs."""
        return {"num_samples": self.num_samples, "seed": self.seed, "taken": self.taken}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Continues where a saved order stood; the data must be as large as it was then."""
        if state["num_samples"] != self.num_samples:
            raise InputError(
                f"the training data has {self.num_samples} rows, but had {state['num_samples']} when this run began.",
                "Put the old data back, or start a new run.",
            )
        self.seed, self.taken = state["seed"], state["taken"]
        self._epoch = -1

    def _index(self, position: int) -> int:
        epoch, offset = divmod(position, self.num_samples)
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed(self.seed * 1_000_003 + epoch)
            self._permutation = torch.randperm(self.num_samples, generator=generator).tolist()
            self._epoch = epoch
        return self._permutation[offset]
