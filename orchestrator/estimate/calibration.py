"""What measurements say of the formulas: one factor for each model family, accelerator and task."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from orchestrator.estimate.profile import profile_factor
from orchestrator.model.card import ModelCard
from orchestrator.model.plan import Basis

BASES = (Basis.ROOFLINE, Basis.PROFILE, Basis.MEASURED)
"""Their positions are the codes in columns."""

PRIOR_RUNS = 3.0
"""Runs that the formulas count for: with n measured runs their mean moves the estimate by n / (n + 3) of its way."""

MOST_FACTOR = 10.0
"""A run ten times off says that something else was measured (another model, a starved machine)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """One finished run of real hardware: `speed_ratio` = estimated over measured seconds of pure work (> 1: faster than
    estimated). Runs on emulated nodes have none: they say nothing of the accelerator."""

    family: str
    accelerator: str
    task: str
    speed_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Factors on speed. `learnt` maps (family, accelerator, task) to (mean of ln ratio, runs)."""

    learnt: dict[tuple[str, str, str], tuple[float, int]] = field(default_factory=dict)

    def of(
        self, card: ModelCard, accelerators: NDArray[np.object_], task: str
    ) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
        """Factor and basis code for each machine, by the name of its accelerator."""
        found = {name: self.factor(card, name, task) for name in set(accelerators.tolist())}
        factors = np.array([found[name][0] for name in accelerators], dtype=float)
        codes = np.array([BASES.index(found[name][1]) for name in accelerators], dtype=np.int8)
        return factors, codes

    def factor(self, card: ModelCard, accelerator: str, task: str) -> tuple[float, Basis]:
        """exp(n / (n + PRIOR_RUNS) x mean ln ratio), times the profile's factor where one applies."""
        profile = profile_factor(task, accelerator, card.params)
        prior = 1.0 if profile is None else profile
        learnt = self.learnt.get((family(card), accelerator, task))
        if learnt is None:
            return prior, Basis.ROOFLINE if profile is None else Basis.PROFILE
        mean, runs = learnt
        return prior * math.exp(runs / (runs + PRIOR_RUNS) * mean), Basis.MEASURED


def learn(experience: Sequence[Experience]) -> Calibration:
    """A calibration from runs; ratios are averaged as logarithms and cut off at MOST_FACTOR."""
    logs: dict[tuple[str, str, str], list[float]] = {}
    for each in experience:
        ratio = min(max(each.speed_ratio, 1.0 / MOST_FACTOR), MOST_FACTOR)
        logs.setdefault((each.family, each.accelerator, each.task), []).append(math.log(ratio))
    return Calibration(learnt={key: (math.fsum(found) / len(found), len(found)) for key, found in logs.items()})


def family(card: ModelCard) -> str:
    """Models of the same depth and width compute alike, whatever they were trained on: "32x4096"."""
    return f"{card.layers}x{card.hidden_size}"
