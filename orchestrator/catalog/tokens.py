"""Mean tokens of a request, where the catalog does not say them: assumptions that fit into the model's context."""

from orchestrator.catalog.schema.batch import Batch
from orchestrator.catalog.schema.serve import Serve
from orchestrator.model.job import Task

PROMPT = 256.0
BATCH_OUTPUT = 64.0
SERVE_OUTPUT = 128.0


def batch_tokens(job: Batch, context: int) -> tuple[float, float]:
    """Prompt and output tokens of a row, for a model or engine of `context` tokens."""
    longest = min(context, job.engine.max_model_len or context)
    return _tokens(job.prompt_tokens, job.output_tokens, BATCH_OUTPUT, longest)


def serve_tokens(job: Serve, context: int) -> tuple[float, float]:
    """Prompt and output tokens of a request, for a longest context of `context`; embed and classify put out none."""
    default = SERVE_OUTPUT if job.task is Task.GENERATE else 0.0
    return _tokens(job.traffic.prompt_tokens, job.traffic.output_tokens, default, context)


def _tokens(prompt: float | None, output: float | None, default_output: float, context: int) -> tuple[float, float]:
    if prompt is None:
        prompt = min(PROMPT, max(1.0, (context - (output or 0)) // 2))
    if output is None:
        output = min(default_output, max(1.0, context - prompt))
    return prompt, output
