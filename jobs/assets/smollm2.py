"""Converts the GGUF of SmolLM2-135M-Instruct into a Hugging Face folder.

The file is a 4-bit quantisation (Q4_1, embeddings Q8_0), so the weights are not bit-identical to the published ones.
transformers can read GGUF too, but takes five times as long and gets the end token wrong (`<|im_start|>`).
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt
from gguf import GGUFReader
from gguf.quants import dequantize
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import GenerationConfig, LlamaConfig, PreTrainedTokenizerFast

from orchestrator.model.error import OperationError

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
"""ChatML like the file's own template, but without its default system message ("You are a helpful AI assistant named
SmolLM …"): with prompts as short as the demo's, that would be a third of all tokens in training, batch and serving."""

_LAYER_PARTS = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_CONTROL_TOKEN = 3
"""`GGML` token type of special tokens such as `<|im_end|>`."""


def convert(gguf: Path, target: Path) -> None:
    """Writes config, fp32 weights, tokenizer with chat template and generation settings into the folder `target`."""
    reader = GGUFReader(gguf)
    if _field(reader, "general.architecture") != "llama" or _field(reader, "tokenizer.ggml.pre") != "smollm":
        raise OperationError(f"{gguf.name} is not a SmolLM2 model.", "Only SmolLM2 GGUF files can be converted.")
    config = _config(reader)
    heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
    weights = {name: array for tensor in reader.tensors for name, array in [_weight(tensor, heads, kv_heads)]}
    save_file(weights, target / "model.safetensors", metadata={"format": "pt"})
    config.save_pretrained(target)
    ids = {
        "bos_token_id": config.bos_token_id,
        "eos_token_id": config.eos_token_id,
        "pad_token_id": config.pad_token_id,
    }
    GenerationConfig(**ids).save_pretrained(target)
    _tokenizer(reader, config).save_pretrained(target)


def _field(reader: GGUFReader, key: str) -> object:
    return reader.fields[key].contents()


def _config(reader: GGUFReader) -> LlamaConfig:
    def number(key: str) -> int:
        return int(_field(reader, key))  # type: ignore[call-overload]

    heads = number("llama.attention.head_count")
    hidden = number("llama.embedding_length")
    return LlamaConfig(
        architectures=["LlamaForCausalLM"],
        vocab_size=number("llama.vocab_size"),
        hidden_size=hidden,
        intermediate_size=number("llama.feed_forward_length"),
        num_hidden_layers=number("llama.block_count"),
        num_attention_heads=heads,
        num_key_value_heads=number("llama.attention.head_count_kv"),
        head_dim=hidden // heads,
        max_position_embeddings=number("llama.context_length"),
        rms_norm_eps=float(f"{_field(reader, 'llama.attention.layer_norm_rms_epsilon'):.6g}"),  # float32 in the file
        rope_theta=float(number("llama.rope.freq_base")),
        tie_word_embeddings=True,  # the file has no output matrix
        bos_token_id=number("tokenizer.ggml.bos_token_id"),
        eos_token_id=number("tokenizer.ggml.eos_token_id"),
        pad_token_id=number("tokenizer.ggml.padding_token_id"),
        dtype="float32",
    )


def _weight(tensor: object, heads: int, kv_heads: int) -> tuple[str, npt.NDArray[np.float32]]:
    """Hugging Face name and fp32 values of one GGUF tensor."""
    values = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)  # type: ignore[attr-defined]
    name = tensor.name.removesuffix(".weight")  # type: ignore[attr-defined]
    if name == "token_embd":
        return "model.embed_tokens.weight", values
    if name == "output_norm":
        return "model.norm.weight", values
    _, layer, part = name.split(".")
    if part == "attn_q":
        values = _uninterleave(values, heads)
    elif part == "attn_k":
        values = _uninterleave(values, kv_heads)
    return f"model.layers.{layer}.{_LAYER_PARTS[part]}.weight", np.ascontiguousarray(values)


def _uninterleave(weight: npt.NDArray[np.float32], heads: int) -> npt.NDArray[np.float32]:
    """Rows of a query or key matrix in Hugging Face order: its rotary embedding pairs halves, llama.cpp's pairs."""
    rows = weight.shape[0]
    return weight.reshape(heads, rows // heads // 2, 2, -1).swapaxes(1, 2).reshape(weight.shape)


def _tokenizer(reader: GGUFReader, config: LlamaConfig) -> PreTrainedTokenizerFast:
    """Byte-level BPE; digits are split one by one, as SmolLM2 was trained."""
    tokens: list[str] = _field(reader, "tokenizer.ggml.tokens")  # type: ignore[assignment]
    kinds: list[int] = _field(reader, "tokenizer.ggml.token_type")  # type: ignore[assignment]
    merges: list[str] = _field(reader, "tokenizer.ggml.merges")  # type: ignore[assignment]
    pairs = [(left, right) for left, right in (merge.split(" ") for merge in merges)]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    bpe = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs, fuse_unk=False, byte_fallback=False))
    bytes_level = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=True)
    bpe.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), bytes_level])
    bpe.decoder = decoders.ByteLevel(add_prefix_space=True, trim_offsets=True, use_regex=True)
    special = [token for token, kind in zip(tokens, kinds, strict=True) if kind == _CONTROL_TOKEN]
    bpe.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        bos_token=tokens[config.bos_token_id],
        eos_token=tokens[config.eos_token_id],
        pad_token=tokens[config.pad_token_id],
        unk_token=tokens[int(_field(reader, "tokenizer.ggml.unknown_token_id"))],  # type: ignore[call-overload]
        clean_up_tokenization_spaces=False,
        model_max_length=config.max_position_embeddings,
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer
