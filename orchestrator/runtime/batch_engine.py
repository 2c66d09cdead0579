"""vLLM as the engine of a batch."""

import os
from collections.abc import Sequence
from typing import Any

from orchestrator.runtime import model_source, storage
from orchestrator.runtime.batch_rows import Answer, Failure, Prompt
from orchestrator.runtime.batch_shard import BatchSpec
from orchestrator.runtime.prompt import prompt_ids


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
