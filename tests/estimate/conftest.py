"""Cards and machines whose figures are easy to check by hand or against published ones."""

import pytest

from orchestrator.model.card import Dtype, ModelCard
from orchestrator.model.offer import InstanceType
from orchestrator.offers.hardware import instance_types


def card(name: str, **figures) -> ModelCard:
    return ModelCard(name=name, source="/models/x", dtype=figures.pop("dtype", Dtype.BF16), **figures)


@pytest.fixture
def llama_8b() -> ModelCard:
    return card(
        "llama-8b", params=8.03e9, layers=32, hidden_size=4096, heads=32, kv_heads=8, head_dim=128, context_tokens=8192
    )


@pytest.fixture
def smollm2(smollm2_card) -> ModelCard:
    return smollm2_card


@pytest.fixture(scope="session")
def smollm2_card() -> ModelCard:
    return card(
        "smollm2", params=134.5e6, layers=30, hidden_size=576, heads=9, kv_heads=3, head_dim=64, context_tokens=8192
    )


@pytest.fixture
def classifier() -> ModelCard:
    return card(
        "eta", params=45e6, layers=6, hidden_size=512, heads=8, kv_heads=8, head_dim=64, context_tokens=512,
        dtype=Dtype.FP32,
    )  # fmt: skip


@pytest.fixture
def machine():
    def find(name: str) -> InstanceType:
        return instance_types()[name]

    return find
