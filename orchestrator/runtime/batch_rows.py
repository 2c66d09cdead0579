"""From input rows to prompts, and from answers back to rows: what cannot be answered becomes an error row."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2
import jinja2.meta
import pyarrow as pa
from jinja2.sandbox import SandboxedEnvironment

Row = dict[str, Any]
Encode = Callable[[str], list[int]]
"""Text of a prompt to token ids, chat template included."""

_ROW_ERRORS = (jinja2.TemplateError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError)
"""What a template can raise on one row's values; any of them is that row's fault alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A row ready for the engine; `at` is its place in the shard."""

    at: int
    tokens: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A row that has no answer, and why: `prompt`, `context` or `engine` with details."""

    at: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the engine made of one prompt; `finish_reason` is `stop`, or `length` when the limit cut it."""

    at: int
    text: str
    finish_reason: str
    prompt_tokens: int
    output_tokens: int


def template_columns(template: str) -> tuple[str, ...]:
    """Columns that a prompt template names, sorted."""
    return tuple(sorted(jinja2.meta.find_undeclared_variables(_environment().parse(template))))


def required_columns(template: str) -> tuple[str, ...]:
    """Those of them that the input must have; none when the template itself handles absent ones."""
    return () if "default" in template or "defined" in template else template_columns(template)


def make_prompts(
    rows: Sequence[Row], template: str, encode: Encode, *, context_tokens: int, max_tokens: int
) -> tuple[list[Prompt], list[Failure]]:
    """Render and tokenise each row; longest prompts first, so that the engine ends on short ones.

    A row must leave `max_tokens` of the context for its answer, else its answer could be cut short by length alone.
    """
    compiled = _environment().from_string(template)
    prompts, failures = [], []
    for at, row in enumerate(rows):
        try:
            tokens = encode(compiled.render(row))
        except _ROW_ERRORS as error:
            failures.append(Failure(at=at, reason=f"prompt: {error}"))
            continue
        if len(tokens) + max_tokens > context_tokens:
            needed = f"{len(tokens)} prompt tokens and {max_tokens} for the answer exceed {context_tokens}"
            failures.append(Failure(at=at, reason=f"context: {needed}"))
            continue
        prompts.append(Prompt(at=at, tokens=tokens))
    return sorted(prompts, key=lambda prompt: (-len(prompt.tokens), prompt.at)), failures


def answer_limit(output_tokens: float) -> int:
    """Tokens an answer may have: four times what the catalog expects on average, at least 16."""
    return max(16, round(4 * output_tokens))


def answer_table(rows: Sequence[Row], id_column: str, answers: Sequence[Answer]) -> pa.Table:
    """One row per answer, in input order."""
    ordered = sorted(answers, key=lambda answer: answer.at)
    ids = pa.array([rows[answer.at][id_column] for answer in ordered], type=_id_type(rows, id_column))
    return pa.table(
        {
            id_column: ids,
            "completion": pa.array([answer.text for answer in ordered], pa.string()),
            "finish_reason": pa.array([answer.finish_reason for answer in ordered], pa.string()),
            "prompt_tokens": pa.array([answer.prompt_tokens for answer in ordered], pa.int32()),
            "output_tokens": pa.array([answer.output_tokens for answer in ordered], pa.int32()),
        }
    )


def failure_table(rows: Sequence[Row], id_column: str, failures: Sequence[Failure]) -> pa.Table:
    """One row per failure, in input order."""
    ordered = sorted(failures, key=lambda failure: failure.at)
    ids = pa.array([rows[failure.at][id_column] for failure in ordered], type=_id_type(rows, id_column))
    return pa.table({id_column: ids, "reason": pa.array([failure.reason for failure in ordered], pa.string())})


def _id_type(rows: Sequence[Row], id_column: str) -> pa.DataType:
    return pa.array([row[id_column] for row in rows[:1]]).type if rows else pa.string()


def _environment() -> jinja2.Environment:
    return SandboxedEnvironment(undefined=jinja2.StrictUndefined, autoescape=False)
