"""The fine-tune without Ray: its pieces, and a whole worker on the tiny model."""

import functools
import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from jobs import finetune
from orchestrator.model.card import Dtype
from orchestrator.model.error import InputError
from orchestrator.model.job import Method
from orchestrator.runtime.accuracy import accuracy, continuations, generate
from orchestrator.runtime.controller import ASSIGNMENT
from orchestrator.runtime.device import Compute, choose
from orchestrator.runtime.examples import encode, read_pairs, training_batch
from orchestrator.runtime.local_link import LocalLink
from orchestrator.runtime.prompt import completion_ids, messages, prompt_ids

pytestmark = pytest.mark.slow

CPU = Compute(device=torch.device("cpu"), precision=Dtype.FP32)


@pytest.fixture
def run_alone(monkeypatch, tmp_path):
    """Runs the worker of an assignment in this process, without Ray."""

    def run(assignment, folder="snapshot"):
        session = functools.partial(finetune.Session, link=LocalLink(tmp_path / folder))
        monkeypatch.setattr(finetune, "Session", session)
        return finetune.train_worker({"assignment": ASSIGNMENT.dump_python(assignment, mode="json")})

    return run


@pytest.mark.parametrize("method", list(Method))
def test_learns_and_exports_what_it_measured(run_alone, assignment, train_job, method):
    job = train_job(method=method, epochs=10, learning_rate=1e-2 if method is Method.LORA else 3e-3)
    made = assignment(job=job)
    metrics = run_alone(made)

    assert metrics["step"] == 10 * 6
    assert metrics["accuracy_after"] > 0.6 > metrics["accuracy_before"]
    exported = Path(made.output_model)
    tokenizer = AutoTokenizer.from_pretrained(exported)
    model = AutoModelForCausalLM.from_pretrained(exported)
    assert model.config.architectures == ["LlamaForCausalLM"]
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id
    heldout, _ = encode(read_pairs(finetune.heldout_location(job), "prompt", "completion"), tokenizer, 64)
    assert accuracy(model, heldout, tokenizer.pad_token_id, CPU.device) == metrics["accuracy_after"]
    assert not list(exported.parent.glob(".*")), "nothing half-written is left beside it"


def test_gradient_accumulation_takes_the_same_steps_as_a_large_batch(run_alone, assignment, train_job):
    """Without padding differences the two are the same mathematics; every answer here has its own length, so almost."""
    large = run_alone(assignment(job=train_job(batch_size=12)), "large")
    split = run_alone(assignment(job=train_job(batch_size=6, gradient_accumulation=2)), "split")
    assert large["step"] == split["step"] == 3
    assert split["loss"] == pytest.approx(large["loss"], rel=0.05)


def test_a_step_cut_to_fit_the_accelerator_learns_the_same(run_alone, assignment, train_job):
    """Pieces of 4 and 2 weigh as much as their examples; each answer has its own length, so almost the same."""
    whole = run_alone(assignment(job=train_job()), "whole")
    cut = run_alone(assignment(job=train_job(), micro_batch=4), "cut")
    assert whole["step"] == cut["step"] == 6
    assert cut["loss"] == pytest.approx(whole["loss"], rel=0.05)


def test_gradient_checkpointing_changes_no_number(run_alone, assignment, train_job):
    plain = run_alone(assignment(job=train_job()), "plain")
    recomputed = run_alone(assignment(job=train_job(gradient_checkpointing=True)), "recomputed")
    assert recomputed["loss"] == pytest.approx(plain["loss"], rel=1e-5)


def test_only_the_completion_counts_for_the_loss(mini_llama):
    tokenizer = AutoTokenizer.from_pretrained(mini_llama)
    examples, cut = encode([("a long enough question", "yes"), ("short", "absolutely")], tokenizer, 200)
    batch = training_batch(examples, tokenizer.pad_token_id)
    assert cut == 0
    width = batch["labels"].shape[1]
    for row, wanted in enumerate(["yes", "absolutely"]):
        kept = batch["labels"][row][batch["labels"][row] != -100]
        assert tokenizer.decode(kept) == wanted + "<|im_end|>"
        assert torch.equal(batch["input_ids"][row, -len(kept) :], kept)
        assert width - len(kept) == int((batch["labels"][row] == -100).sum())
    assert batch["position_ids"].max() == batch["attention_mask"].sum(1).max() - 1


def test_long_prompts_lose_their_beginning_never_the_answer(mini_llama):
    tokenizer = AutoTokenizer.from_pretrained(mini_llama)
    examples, cut = encode([("x" * 100 + "?", "yes"), ("short", "no")], tokenizer, 60)
    assert cut == 1
    assert len(examples[0].prompt_ids) + len(examples[0].completion_ids) == 60
    assert tokenizer.decode(list(examples[0].prompt_ids)).endswith("x?<|im_end|>\n<|im_start|>assistant\n")
    with pytest.raises(InputError, match="leaves no room"):
        encode([("q", "y" * 100)], tokenizer, 60)


def test_a_prompt_is_rendered_as_a_chat_server_would(mini_llama):
    tokenizer = AutoTokenizer.from_pretrained(mini_llama)
    rendered = tokenizer.apply_chat_template(messages("hi"), add_generation_prompt=True, tokenize=False)
    assert tokenizer.decode(prompt_ids(tokenizer, "hi")) == rendered
    tokenizer.chat_template = None
    assert tokenizer.decode(prompt_ids(tokenizer, "hi")) == "hi\n"
    assert completion_ids(tokenizer, "ok")[-1] == tokenizer.eos_token_id


def test_generation_is_held_to_the_known_answers(mini_llama):
    tokenizer = AutoTokenizer.from_pretrained(mini_llama)
    model = AutoModelForCausalLM.from_pretrained(mini_llama)
    examples, _ = encode([("a", "metal"), ("b", "meta"), ("c", "plant")], tokenizer, 64)
    labels = {each.completion_ids for each in examples}
    answers = generate(model, examples, 2, CPU.device, max(map(len, labels)), continuations(labels))
    assert all(any(answer[: len(label)] == label for label in labels) for answer in answers)


def test_learning_rate_rises_then_falls_to_nothing():
    shares = [finetune.learning_rate_share(step, 50) for step in range(51)]
    assert shares[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert max(shares) == 1.0 and shares[-1] == 0.0
    assert all(earlier > later for earlier, later in itertools.pairwise(shares[4:]))
    assert finetune.learning_rate_share(0, 1) == 1.0


@pytest.mark.parametrize(
    ("wanted", "emulated", "computed", "noted"),
    [
        (Dtype.FP32, True, Dtype.FP32, ""),
        (Dtype.BF16, True, Dtype.FP32, "the accelerator is emulated"),
        (Dtype.BF16, False, Dtype.BF16, ""),
        (Dtype.FP16, False, Dtype.FP32, "there is no GPU"),
    ],
)
@pytest.mark.skipif(torch.cuda.is_available(), reason="is about machines without a GPU")
def test_says_when_it_computes_in_another_format(wanted, emulated, computed, noted):
    found = choose(wanted, emulated=emulated, num_workers=1)
    assert (found.precision, found.device.type) == (computed, "cpu")
    assert noted in found.note and bool(found.note) == bool(noted)


def test_missing_model_is_told_before_anything_starts(assignment, train_job, tmp_path):
    job = train_job()
    gone = replace(job.model, source=str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="nowhere is not a Hugging Face model folder"):
        finetune.check_inputs(assignment(job=replace(job, model=gone)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": "/nowhere/*.parquet"}, "no data at /nowhere"),
        ({"prompt_column": "question"}, "no column 'question'.* It has prompt, completion"),
        ({"heldout": "/nowhere/heldout.parquet"}, "no data at /nowhere/heldout.parquet"),
    ],
    ids=["data", "column", "held-out"],
)
def test_missing_data_is_told_before_anything_starts(assignment, train_job, changes, message):
    with pytest.raises(InputError, match=message):
        finetune.check_inputs(assignment(job=train_job(**changes)))


def test_held_out_rows_are_never_trained_on(train_job, tiny_data):
    job = train_job(data=str(tiny_data / "*.parquet"))
    heldout = finetune.heldout_location(job)
    assert heldout == str(tiny_data / "heldout.parquet")
    trained = read_pairs(job.data, "prompt", "completion", skip=heldout)
    assert len(trained) == 36
    assert not set(trained) & set(read_pairs(heldout, "prompt", "completion"))


def test_assignment_survives_the_way_to_a_worker(assignment):
    made = assignment()
    assert ASSIGNMENT.validate_json(json.dumps(ASSIGNMENT.dump_python(made, mode="json"))) == made
