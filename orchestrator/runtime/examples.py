"""Prompts with their wanted completions: from Parquet files to padded batches."""

from dataclasses import dataclass

import pyarrow.parquet as pq
import torch
from transformers import PreTrainedTokenizerBase

from orchestrator.model.error import InputError
from orchestrator.runtime import prompt, storage

IGNORED = -100
"""Label of positions that do not count for the loss (torch's `cross_entropy` skips it)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One training sample as tokens; `answer` is the completion as text. Together at most the job's sequence length."""

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    answer: str


def read_pairs(
    data: str, prompt_column: str, completion_column: str, *, skip: str | None = None
) -> list[tuple[str, str]]:
    """(prompt, completion) of the Parquet files that `data` names, in order of file and row; without file `skip`."""
    files = [file for file in storage.expand(data) if file != skip]
    if not files:
        raise InputError(f"no data at {data}.", "Check `data` of the job; for the demo's data run `make setup`.")
    found: list[tuple[str, str]] = []
    for file in files:
        filesystem, path = storage.filesystem(file)
        present = pq.read_schema(path, filesystem=filesystem).names
        missing = [column for column in (prompt_column, completion_column) if column not in present]
        if missing:
            fix = f"It has {', '.join(present)}: set `prompt_column` and `completion_column` of the job."
            raise InputError(f"{file} has no column {missing[0]!r}.", fix)
        table = pq.read_table(path, columns=[prompt_column, completion_column], filesystem=filesystem)
        pairs = list(zip(table[prompt_column].to_pylist(), table[completion_column].to_pylist(), strict=True))
        empty = next(
            (row for row, pair in enumerate(pairs) if not all(isinstance(each, str) and each for each in pair)), None
        )
        if empty is not None:
            raise InputError(f"{file}, row {empty}: prompt and completion must be non-empty text.")
        found += pairs
    return found


def encode(
    pairs: list[tuple[str, str]], tokenizer: PreTrainedTokenizerBase, sequence_tokens: int
) -> tuple[list[Example], int]:
    """Examples of at most `sequence_tokens` tokens, and how many prompts were cut for it (on their left)."""
    cut = 0
    found = []
    for text, answer in pairs:
        wanted = prompt.completion_ids(tokenizer, answer)
        given = prompt.prompt_ids(tokenizer, text)
        room = sequence_tokens - len(wanted)
        if room < 1:
            raise InputError(
                f"a completion of {len(wanted)} tokens leaves no room for its prompt in {sequence_tokens}.",
                "Raise `sequence_length` of the job.",
            )
        cut += len(given) > room
        found.append(Example(prompt_ids=tuple(given[-room:]), completion_ids=tuple(wanted), answer=answer))
    return found, cut


def training_batch(examples: list[Example], pad_id: int) -> dict[str, torch.Tensor]:
    """Left-padded batch, so that all completions end at the right edge and only there logits are needed.

    `labels` cover the last `labels.shape[1]` positions; prompt tokens and padding in them are `IGNORED`.
    """
    rows = [[*each.prompt_ids, *each.completion_ids] for each in examples]
    batch = _pad_left(rows, pad_id)
    longest = max(len(each.completion_ids) for each in examples)
    labels = torch.full((len(rows), longest), IGNORED)
    for row, each in enumerate(examples):
        labels[row, longest - len(each.completion_ids) :] = torch.tensor(each.completion_ids)
    return {**batch, "labels": labels}


def prompt_batch(examples: list[Example], pad_id: int) -> dict[str, torch.Tensor]:
    """Left-padded prompts, from which answers are generated."""
    return _pad_left([list(each.prompt_ids) for each in examples], pad_id)


def _pad_left(rows: list[list[int]], pad_id: int) -> dict[str, torch.Tensor]:
    width = max(map(len, rows))
    ids = torch.full((len(rows), width), pad_id)
    mask = torch.zeros((len(rows), width), dtype=torch.int64)
    for row, tokens in enumerate(rows):
        ids[row, width - len(tokens) :] = torch.tensor(tokens)
        mask[row, width - len(tokens) :] = 1
    return {"input_ids": ids, "attention_mask": mask, "position_ids": (mask.cumsum(1) - 1).clamp(min=0)}
