"""A 3M-parameter Llama with random weights and a byte-level tokenizer, as a Hugging Face folder."""

import json
from pathlib import Path

import pytest

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def make_tiny_llama(folder: Path, *, layers: int = 4, seed: int = 0) -> Path:
    """Write config, weights and tokenizer; about 3M parameters at 4 layers. The libraries take seconds to import."""
    import torch
    from safetensors.torch import save_file
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {token: index for index, token in enumerate(SPECIAL + alphabet)}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIAL)
    config = LlamaConfig(
        vocab_size=len(vocab), hidden_size=256, intermediate_size=704, num_hidden_layers=layers,
        num_attention_heads=8, num_key_value_heads=4, head_dim=32, max_position_embeddings=1024,
        bos_token_id=0, eos_token_id=2, pad_token_id=2, tie_word_embeddings=True,
    )  # fmt: skip
    model = LlamaForCausalLM(config).float()
    folder.mkdir(parents=True, exist_ok=True)
    config.architectures = ["LlamaForCausalLM"]
    config.save_pretrained(folder)
    weights = {name: value.contiguous() for name, value in model.state_dict().items() if name != "lm_head.weight"}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "model_max_length": 1024,
                "eos_token": "<|im_end|>",
                "pad_token": "<|im_end|>",
                "chat_template": CHAT_TEMPLATE,
            }
        )
    )
    return folder


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a tiny model, made once per session."""
    return make_tiny_llama(tmp_path_factory.mktemp("models") / "tiny-llama")
