"""One shard of a batch: read its rows, have an engine answer them, commit the result. No Ray and no vLLM here."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from orchestrator.runtime.batch_input import Shard, read_shard
from orchestrator.runtime.batch_log import ShardLog, ShardStat
from orchestrator.runtime.batch_rows import Answer, Failure, Prompt, answer_table, failure_table, make_prompts


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSpec:
    """What every worker needs to know. `model` is a path or URI of a Hugging Face folder; `engine` vLLM's arguments."""

    output: str
    id_column: str
    columns: tuple[str, ...]
    template: str
    model: str
    engine: dict[str, Any]
    max_tokens: int
    attempt: int


class Engine(Protocol):
    """What answers prompts. `context_tokens` bounds prompt and answer together."""

    context_tokens: int

    def encode(self, text: str) -> list[int]:
        """Token ids of a prompt, chat template included."""

    def answer(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Answer | Failure]:
        """One outcome per prompt, greedy."""


def answer_shard(spec: BatchSpec, shard: Shard, log: ShardLog, engine: Engine) -> ShardStat:
    """Read, answer and commit one shard; every row ends as an answer or an error row."""
    begun = time.monotonic()
    rows = read_shard(shard, (spec.id_column, *spec.columns))
    prompts, failures = make_prompts(
        rows, spec.template, engine.encode, context_tokens=engine.context_tokens, max_tokens=spec.max_tokens
    )
    outcomes = engine.answer(prompts, spec.max_tokens) if prompts else []
    answers = [outcome for outcome in outcomes if isinstance(outcome, Answer)]
    failures += [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    stat = ShardStat(
        shard=shard.name,
        rows=len(answers),
        errors=len(failures),
        prompt_tokens=sum(answer.prompt_tokens for answer in answers),
        output_tokens=sum(answer.output_tokens for answer in answers),
        seconds=round(time.monotonic() - begun, 3),
        attempt=spec.attempt,
    )
    log.commit(shard, answer_table(rows, spec.id_column, answers), failure_table(rows, spec.id_column, failures), stat)
    return stat
