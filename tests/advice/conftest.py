"""Builders of the situations that advice is given in: the shared ones, with larger models and round figures."""

from typing import Any

import pytest

from orchestrator.advice.situation import Situation, situation
from orchestrator.model.card import ModelCard
from orchestrator.model.job import BatchJob, Pattern, ServeJob, Traffic, TrainJob
from tests.builders import NOW, Make

SIZES = {
    0.5: {"layers": 16, "hidden_size": 1024, "heads": 16},
    8.0: {"layers": 32, "hidden_size": 4096, "heads": 32},
    14.0: {"layers": 48, "hidden_size": 5120, "heads": 40},
    70.0: {"layers": 80, "hidden_size": 8192, "heads": 64},
}


class AdviceMake(Make):
    """A weekly LoRA job of 8B, a service of 8B, a nightly batch of 0.5B."""

    def card(self, billions: float = 8.0, **changes: Any) -> ModelCard:
        return super().card(billions, **({"name": f"m{billions:g}b"} | SIZES.get(billions, {}) | changes))

    def train(self, name: str = "tune", **changes: Any) -> TrainJob:
        return super().train(name, **({"retrain": "weekly"} | changes))

    def batch(self, name: str = "nightly", **changes: Any) -> BatchJob:
        return super().batch(name, **({"model": self.card(0.5), "rows": 1e6, "max_instances": 1} | changes))

    def serve(self, name: str = "chat", **changes: Any) -> ServeJob:
        card = changes.pop("card", self.card())
        return super().serve(name, **({"models": (("only", card),), "traffic": self.traffic(1.0)} | changes))

    def traffic(self, per_second: float, peak: float | None = None, pattern: Pattern = Pattern.CONSTANT) -> Traffic:
        return super().traffic(per_second, peak, pattern=pattern, output_tokens=150.0)

    def situation(self, jobs: Any, offers: Any, **cluster: Any) -> Situation:
        return situation(self.catalog(*jobs, **cluster), self.book(*offers), NOW)


@pytest.fixture(scope="session")
def make() -> AdviceMake:
    return AdviceMake()


@pytest.fixture(scope="session")
def figure():
    """The value of an advice's figure by name and, where several have it, of what."""

    def of(advice, name: str, what: str = "") -> Any:
        found = [each.value for each in advice.figures if each.name == name and what in each.of]
        assert len(found) == 1, [each.name for each in advice.figures]
        return found[0]

    return of
