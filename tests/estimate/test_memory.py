"""Memory, against figures worked out by hand or published."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.estimate.device import device
from orchestrator.estimate.memory import (
    TrainingNeed,
    activations_gib,
    engine_room_gib,
    kv_bytes_per_token,
    kv_gib,
    sequences_at_once,
    trained_params,
    training_gib,
    training_room_gib,
    weight_bytes,
    weights_gib,
)
from orchestrator.model.card import Dtype, ModelCard
from orchestrator.model.job import Method


def need(card: ModelCard, **changes) -> TrainingNeed:
    given = {
        "card": card, "method": Method.LORA, "precision": Dtype.BF16, "sequence_tokens": 2048,
        "gradient_checkpointing": True, "lora_rank": 16,
    } | changes  # fmt: skip
    return TrainingNeed(**given)


@pytest.mark.parametrize(
    ("dtype", "gb"),
    [(Dtype.FP32, 32.12), (Dtype.BF16, 16.06), (Dtype.INT8, 8.19), (Dtype.INT4, 4.5)],
)
def test_weights_of_an_8b_model(llama_8b, dtype, gb):
    # Reported: fp16 16 GB, int8 8 GB, int4 4 GB (weights alone).
    assert weights_gib(llama_8b, weight_bytes(dtype)) * 2**30 / 1e9 == pytest.approx(gb, rel=0.01)


def test_kv_cache_of_an_8b_model_is_128_kib_a_token(llama_8b):
    assert kv_bytes_per_token(llama_8b, 2.0) == 2 * 32 * 8 * 128 * 2 == 131_072
    assert kv_gib(llama_8b, 2.0, 8192) == pytest.approx(1.0)


def test_lora_trains_about_half_a_percent(llama_8b):
    assert trained_params(need(llama_8b)) == pytest.approx(42e6, rel=0.12)
    assert trained_params(need(llama_8b, method=Method.FULL)) == 8.03e9


def test_full_training_takes_16_bytes_a_parameter(llama_8b):
    found = training_gib(need(llama_8b, method=Method.FULL, sequence_tokens=1))
    assert found * 2**30 == pytest.approx(16 * 8.03e9, rel=0.001)


def test_an_8b_lora_fits_a_24_gb_card_and_full_training_fits_none_of_80_gb(llama_8b, machine):
    small, large = device(machine("g6.xlarge"), Dtype.BF16), device(machine("p5.4xlarge"), Dtype.BF16)
    assert training_gib(need(llama_8b)) < training_room_gib(small)
    assert training_gib(need(llama_8b, method=Method.FULL)) > training_room_gib(large)


def test_the_demo_model_trains_anywhere(smollm2, machine):
    for name in ("g4dn.xlarge", "c7i.2xlarge"):
        where = device(machine(name), Dtype.FP32)
        assert training_gib(need(smollm2, method=Method.FULL, precision=Dtype.FP32)) < training_room_gib(where), name


def test_gradient_checkpointing_saves_most_activations(llama_8b):
    kept = training_gib(need(llama_8b, gradient_checkpointing=False)) - training_gib(need(llama_8b))
    # 31 of 32 layers of 34 bytes less 32 inputs of 2 bytes, per token and hidden unit.
    assert kept * 2**30 == pytest.approx((31 * 34 - 32 * 2) * 2048 * 4096)


def test_what_is_left_beside_the_weights_holds_sequences(llama_8b, machine):
    card, wide = device(machine("g6.xlarge"), Dtype.BF16), device(machine("p5.4xlarge"), Dtype.BF16)
    few = sequences_at_once(need(llama_8b), training_room_gib(card))
    many = sequences_at_once(need(llama_8b), training_room_gib(wide))
    assert few == 2 and many > 20
    one = activations_gib(need(llama_8b))
    assert training_gib(need(llama_8b)) + (many - 1) * one <= training_room_gib(wide)
    assert sequences_at_once(need(llama_8b), 10.0) == 0


def test_sharding_divides_states_and_gathers_two_layers(llama_8b):
    full = need(llama_8b, method=Method.FULL)
    activations, layers = activations_gib(full), 2 * 2 * 8.03e9 / 32 / 2**30
    assert training_gib(full, 8) == pytest.approx(16 * 8.03e9 / 2**30 / 8 + layers + activations)
    assert training_gib(full, 1) == pytest.approx(16 * 8.03e9 / 2**30 + activations)


def test_engine_room_is_its_share_less_a_reserve_on_each_card(machine):
    one, four = device(machine("g6.xlarge"), Dtype.BF16), device(machine("g6.12xlarge"), Dtype.BF16, 4)
    assert engine_room_gib(one, 0.9) == pytest.approx(22888 / 1024 * 0.9 - 1.0)
    assert engine_room_gib(four, 0.9) == pytest.approx(4 * engine_room_gib(one, 0.9))
    assert engine_room_gib(one, 0.01) == 0.0


def test_the_smallest_cpu_machine_has_no_room_for_an_engine(machine):
    assert engine_room_gib(device(machine("c7i.large"), Dtype.BF16), 0.9) == 0.0


@given(params=st.floats(1e6, 1e12), rank=st.integers(1, 256), tokens=st.integers(1, 131_072))
def test_training_memory_grows_with_everything(params, rank, tokens):
    small = ModelCard(
        name="m", source="/m", params=params, layers=8, hidden_size=512, heads=8, kv_heads=8, head_dim=64,
        context_tokens=131_072, dtype=Dtype.BF16,
    )  # fmt: skip
    base = need(small, lora_rank=rank, sequence_tokens=tokens)
    found = training_gib(base)
    assert 0 < found < float("inf")
    assert training_gib(dataclasses.replace(base, lora_rank=rank + 1)) > found
    assert training_gib(dataclasses.replace(base, sequence_tokens=tokens + 1)) > found
    assert training_gib(dataclasses.replace(base, precision=Dtype.FP32)) > found
