"""A model's figures from its Hugging Face folder: config.json, and the header of its safetensors file."""

import json
import math
import struct
from collections.abc import Mapping
from typing import Any

from orchestrator.catalog.storage import StorageError, read_bytes, read_head

FIGURES = ("params", "layers", "hidden", "heads", "context")
"""What a card cannot do without; the rest follows from these."""

_KEYS: dict[str, tuple[str, ...]] = {
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "hidden": ("hidden_size", "n_embd", "d_model", "dim"),
    "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads"),
    "head_dim": ("head_dim",),
    "context": ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"),
}
_DTYPES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "int8": "int8"}
_MAX_HEADER_BYTES = 100_000_000
"""Upper bound of a safetensors header (github.com/huggingface/safetensors, format section)."""


def read_figures(source: str, region: str) -> dict[str, Any]:
    """Figures found in the folder, by the names of the card's keys; StorageError where config.json cannot be read."""
    config = _config(source, region)
    text = config.get("text_config")
    config = {**config, **text} if isinstance(text, dict) else config
    figures: dict[str, Any] = {name: _first_number(config, keys) for name, keys in _KEYS.items()}
    figures["dtype"] = _DTYPES.get(str(config.get("dtype") or config.get("torch_dtype")).removeprefix("torch."))
    figures["params"] = _stored_params(source, region) or _formula_params(config, figures)
    return {name: value for name, value in figures.items() if value}


def _config(source: str, region: str) -> Mapping[str, Any]:
    try:
        config = json.loads(read_bytes(f"{source}/config.json", region))
    except (ValueError, RecursionError) as error:
        raise StorageError(f"{source}/config.json is not valid JSON") from error
    if not isinstance(config, dict):
        raise StorageError(f"{source}/config.json is not a JSON object")
    return config


def _first_number(config: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    for key in keys:
        value = config.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def _stored_params(source: str, region: str) -> float | None:
    """Parameters counted from the shapes in model.safetensors, which is exact; None for sharded or other files."""
    name = f"{source}/model.safetensors"
    try:
        (size,) = struct.unpack("<Q", read_head(name, 8, region))
        if size > _MAX_HEADER_BYTES:
            return None
        header = json.loads(read_head(name, 8 + size, region)[8:])
        shapes = [entry["shape"] for key, entry in header.items() if key != "__metadata__"]
        return float(sum(math.prod(shape) for shape in shapes)) or None
    except (StorageError, struct.error, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _formula_params(config: Mapping[str, Any], figures: Mapping[str, Any]) -> float | None:
    """Parameters of a gated decoder: embeddings + layers × (q, k, v, o projections + three MLP matrices + two norms).

    layer = h·d·heads·2 + h·d·kv·2 + 3·h·intermediate + 2·h. Good to about 1% for Llama, Mistral and Qwen; None where
    config.json lacks vocab_size or intermediate_size.
    """
    vocab = _first_number(config, ("vocab_size",))
    intermediate = _first_number(config, ("intermediate_size", "n_inner", "ffn_dim"))
    layers, hidden, heads = (figures.get(name) for name in ("layers", "hidden", "heads"))
    if not (vocab and intermediate and layers and hidden and heads):
        return None
    head_dim = figures.get("head_dim") or hidden // heads
    kv_heads = figures.get("kv_heads") or heads
    attention = 2 * hidden * head_dim * (heads + kv_heads)
    layer = attention + 3 * hidden * intermediate + 2 * hidden
    embeddings = vocab * hidden * (1 if config.get("tie_word_embeddings", True) else 2)
    return float(embeddings + layers * layer + hidden)
