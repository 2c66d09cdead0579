"""Batch inference on Ray Data: an engine per worker takes whole shards, answers them and commits them itself.

Only the numbers of shards go through Ray; rows are read, and results written, where the engine is. A worker that dies
therefore costs the shard it was on, and a shard that was committed is never answered again.
"""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import pyarrow as pa
import ray
from ray.data import ActorPoolStrategy, DataContext

from orchestrator.model.assignment import Assignment
from orchestrator.runtime import model_source, storage
from orchestrator.runtime.batch_input import Shard, read_shard
from orchestrator.runtime.batch_log import ShardLog, ShardStat
from orchestrator.runtime.batch_rows import Answer, Failure, Prompt, answer_table, failure_table, make_prompts
from orchestrator.runtime.prompt import prompt_ids

NO_PROGRESS_TIMEOUT_S = 24 * 3600
"""Ray Data gives up after 30 minutes without progress; waiting for spot capacity takes longer."""


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


class VllmEngine:
    """vLLM in this very process, so that nothing of it outlives a killed worker."""

    def __init__(self, spec: BatchSpec) -> None:
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        from vllm import LLM

        folder = str(storage.fetch_folder(spec.model, model_source.cache_dir()))
        self._llm = LLM(model=folder, disable_log_stats=True, use_tqdm_on_load=False, **spec.engine)
        self._tokenizer: Any = self._llm.get_tokenizer()
        self.context_tokens = self._llm.model_config.max_model_len

    def encode(self, text: str) -> list[int]:
        """Exactly what the model saw in training."""
        return prompt_ids(self._tokenizer, text)

    def answer(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Answer | Failure]:
        """Answer all prompts in one continuous batch."""
        from vllm import SamplingParams

        outputs = self._llm.generate(
            [{"prompt_token_ids": prompt.tokens} for prompt in prompts],
            SamplingParams(temperature=0, max_tokens=max_tokens),
            use_tqdm=False,
        )
        return [_outcome(prompt, output.outputs[0]) for prompt, output in zip(prompts, outputs, strict=True)]


def _outcome(prompt: Prompt, output: Any) -> Answer | Failure:
    if output.finish_reason not in ("stop", "length"):
        return Failure(at=prompt.at, reason=f"engine: ended with {output.finish_reason}")
    return Answer(
        at=prompt.at,
        text=output.text,
        finish_reason=output.finish_reason,
        prompt_tokens=len(prompt.tokens),
        output_tokens=len(output.token_ids),
    )


class ShardWorker:
    """Ray Data's actor: loads the engine once, then answers a shard per call."""

    def __init__(self, spec: BatchSpec, shards: Sequence[Shard], engine_type: type[Engine]) -> None:
        self._spec = spec
        self._shards = {shard.number: shard for shard in shards}
        self._log = ShardLog(spec.output)
        self._engine = engine_type(spec)  # type: ignore[call-arg]

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Statistics of the shards whose numbers came; a shard that is done already is not answered again."""
        stats = [self._done_or_answered(self._shards[int(number)]) for number in batch["number"]]
        return {key: [asdict(stat)[key] for stat in stats] for key in ShardStat.__dataclass_fields__}

    def _done_or_answered(self, shard: Shard) -> ShardStat:
        return self._log.stat(shard) or answer_shard(self._spec, shard, self._log, self._engine)


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


def run_shards(
    spec: BatchSpec,
    shards: Sequence[Shard],
    assignment: Assignment,
    env: dict[str, str],
    engine_type: type[Engine] = VllmEngine,
) -> Iterator[ShardStat]:
    """Answer shards on the nodes that placement chose; yields each as it is committed.

    All workers are asked for at once, so that the autoscaler sees the whole demand; it gets the same labels, so that it
    starts the chosen node type and no other. Lost workers come back on new nodes without limit.
    """
    context = DataContext.get_current()
    context.execution_options.label_selector = dict(assignment.label_selector)
    context.execution_options.verbose_progress = False
    context.execution_no_progress_timeout_s = NO_PROGRESS_TIMEOUT_S
    context.enable_progress_bars = False
    workers = max(1, min(assignment.num_workers, len(shards)))
    numbers = ray.data.from_arrow([pa.table({"number": [shard.number]}) for shard in shards])
    answered = numbers.map_batches(
        ShardWorker,
        fn_constructor_kwargs={"spec": spec, "shards": list(shards), "engine_type": engine_type},
        batch_size=1,
        batch_format="numpy",
        compute=ActorPoolStrategy(min_size=workers, max_size=workers, max_tasks_in_flight_per_actor=2),
        num_cpus=assignment.cpus_per_worker,
        runtime_env={"env_vars": env},
        max_restarts=-1,
        max_task_retries=-1,
        **_accelerator_args(assignment),
    )
    for row in answered.iter_rows():
        yield ShardStat(**row)


def _accelerator_args(assignment: Assignment) -> dict[str, Any]:
    if assignment.accelerator is None:
        return {}
    return {
        "num_gpus": assignment.accelerators_per_worker,
        "resources": {f"accelerator_type:{assignment.accelerator}": 0.001},
    }
