"""Cards that leave their figures to the model's own files."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from orchestrator.catalog import CatalogError, load_text
from orchestrator.catalog.hf_config import read_figures
from orchestrator.catalog.storage import StorageError
from orchestrator.model.card import Dtype

LLAMA = {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
    "intermediate_size": 128, "max_position_embeddings": 512, "torch_dtype": "float32", "tie_word_embeddings": True,
}  # fmt: skip
LLAMA_PARAMS = 100 * 64 + 2 * (64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 128 + 2 * 64) + 64
CATALOG = """\
cluster: {provider: local, region: us-east-1, storage: s}
models: {m: CARD}
jobs: {t: {kind: train, model: m}}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model").mkdir()
    return tmp_path / "model"


def write(folder: Path, config: object) -> None:
    (folder / "config.json").write_text(json.dumps(config))


def card_of(folder: Path, written: str):
    return load_text(CATALOG.replace("CARD", written), "c.yaml", folder.parent).job("t").model


def test_only_a_source(folder):
    write(folder, LLAMA)
    card = card_of(folder, "{source: model}")
    assert (card.layers, card.hidden_size, card.heads, card.kv_heads, card.head_dim) == (2, 64, 4, 2, 16)
    assert (card.context_tokens, card.dtype, card.params) == (512, Dtype.FP32, LLAMA_PARAMS)
    assert card.source == str(folder)


def test_written_figures_win(folder):
    write(folder, LLAMA)
    card = card_of(folder, "{source: model, context: 256, dtype: bf16, params: 1M}")
    assert (card.context_tokens, card.dtype, card.params, card.layers) == (256, Dtype.BF16, 1e6, 2)


def test_parameters_are_counted_in_the_weights(folder):
    write(folder, LLAMA)
    save_file({"a": np.zeros((10, 3), np.float32), "b": np.zeros(7, np.float32)}, folder / "model.safetensors")
    assert card_of(folder, "{source: model}").params == 37


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 8,
        b"\xff" * 100,
        b"\x05" + b"\0" * 7 + b"hello",
        b"\x02" + b"\0" * 7 + b"[]",
        b"\x09" + b"\0" * 7 + b'{"a": {}}',
    ],
)
def test_broken_weights_fall_back_on_the_formula(folder, content):
    write(folder, LLAMA)
    (folder / "model.safetensors").write_bytes(content)
    assert card_of(folder, "{source: model}").params == LLAMA_PARAMS


def test_gpt2_names(folder):
    write(folder, {"n_embd": 64, "n_layer": 3, "n_head": 4, "n_positions": 128, "dtype": "bfloat16"})
    figures = read_figures(str(folder), "us-east-1")
    assert figures == {"layers": 3, "hidden": 64, "heads": 4, "context": 128, "dtype": "bf16"}


def test_text_part_of_a_multimodal_model(folder):
    write(folder, {"model_type": "x", "text_config": LLAMA})
    assert card_of(folder, "{source: model}").layers == 2


@pytest.mark.parametrize(
    ("config", "message"),
    [
        pytest.param(None, "needs params, layers, hidden, heads and context: .*/config.json cannot be read", id="none"),
        pytest.param("{", "config.json is not valid JSON", id="not JSON"),
        pytest.param("[" * 5000, "config.json is not valid JSON", id="hostile JSON"),
        pytest.param("[1]", "config.json is not a JSON object", id="list"),
        pytest.param(
            json.dumps({**LLAMA, "vocab_size": None}), "needs params: .*config.json does not say them", id="vocabulary"
        ),
        pytest.param(json.dumps({**LLAMA, "num_hidden_layers": "two"}), "needs params and layers", id="wrong type"),
    ],
)
def test_what_config_json_cannot_give_is_named(folder, config, message):
    if config is not None:
        (folder / "config.json").write_text(config)
    with pytest.raises(CatalogError, match=message) as caught:
        card_of(folder, "{source: model}")
    assert caught.value.lines[0].startswith("c.yaml:2:13: models.m: ")


def test_config_json_that_is_not_text(folder):
    (folder / "config.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StorageError, match="not valid JSON"):
        read_figures(str(folder), "us-east-1")
