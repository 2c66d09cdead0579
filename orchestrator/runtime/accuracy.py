"""Held-out accuracy: the share of examples whose greedy answer is exactly the wanted one."""

import torch
from transformers import PreTrainedModel

from orchestrator.runtime.examples import Example, prompt_batch

MAX_LABELS = 64
"""With at most so many different answers the task is a choice among them, and generation is held to these."""

BATCH_SIZE = 16


def accuracy(model: PreTrainedModel, examples: list[Example], pad_id: int, device: torch.device) -> float:
    """Share in [0, 1] of examples answered right by greedy generation, held to the known answers where they are few."""
    labels = {each.completion_ids for each in examples}
    allowed = continuations(labels) if len(labels) <= MAX_LABELS else None
    new_tokens = max(map(len, labels))
    ordered = sorted(examples, key=lambda each: len(each.prompt_ids))  # like lengths together: less padding
    right = 0
    was_training = model.training
    model.eval()
    with torch.no_grad():
        for start in range(0, len(ordered), BATCH_SIZE):
            some = ordered[start : start + BATCH_SIZE]
            answers = generate(model, some, pad_id, device, new_tokens, allowed)
            right += sum(
                answer[: len(each.completion_ids)] == each.completion_ids
                for answer, each in zip(answers, some, strict=True)
            )
    model.train(was_training)
    return right / len(examples)


def generate(
    model: PreTrainedModel,
    examples: list[Example],
    pad_id: int,
    device: torch.device,
    new_tokens: int,
    allowed: dict[tuple[int, ...], list[int]] | None,
) -> list[tuple[int, ...]]:
    """Greedy answers of at most `new_tokens` tokens; `allowed` (see `continuations`) holds them to known answers."""
    batch = {
        name: values.to(device) for name, values in prompt_batch(examples, pad_id).items() if name != "position_ids"
    }
    width = batch["input_ids"].shape[1]

    def next_tokens(_: int, tokens: torch.Tensor) -> list[int]:
        assert allowed is not None
        return allowed.get(tuple(tokens[width:].tolist()), [pad_id])

    found = model.generate(
        **batch,
        max_new_tokens=new_tokens,
        do_sample=False,
        pad_token_id=pad_id,
        prefix_allowed_tokens_fn=next_tokens if allowed is not None else None,
    )
    return [tuple(row[width:].tolist()) for row in found]


def continuations(labels: set[tuple[int, ...]]) -> dict[tuple[int, ...], list[int]]:
    """For every beginning of a label the tokens that may follow, sorted."""
    found: dict[tuple[int, ...], set[int]] = {}
    for label in labels:
        for length in range(len(label)):
            found.setdefault(label[:length], set()).add(label[length])
    return {beginning: sorted(tokens) for beginning, tokens in found.items()}
