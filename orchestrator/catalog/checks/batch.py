"""Impossible combinations in batch jobs."""

from orchestrator.catalog.checks.common import check_engine, check_instances, hours
from orchestrator.catalog.fault import Path
from orchestrator.catalog.quantity import QuantityError
from orchestrator.catalog.report import Report
from orchestrator.catalog.schema.batch import Batch
from orchestrator.catalog.tokens import batch_tokens
from orchestrator.catalog.window import shortest_window_s
from orchestrator.model.card import ModelCard


def check_batch(job: Batch, path: Path, card: ModelCard | None, max_workers: int, report: Report) -> None:
    """Report everything about this job that cannot be."""
    check_instances(job.instances, (*path, "instances"), max_workers, report)
    _check_window(job, path, report)
    if job.output is not None and any(sign in job.output for sign in "*?["):
        report.check((*path, "output"), "must be one folder, without wildcards")
    if job.output is not None and job.output == job.input:
        report.check((*path, "output"), "is the input itself", (*path, "input"))
    if card is not None:
        check_engine(job.engine, (*path, "engine"), [card], report)
        _check_tokens(job, path, card, report)


def _check_window(job: Batch, path: Path, report: Report) -> None:
    if job.schedule is None or job.schedule.done_by is None:
        return
    schedule_path = (*path, "schedule")
    done_path = (*schedule_path, "done_by")
    involved = [(*schedule_path, key) for key in ("cron", "timezone")]
    try:
        window_s = shortest_window_s(job.schedule.cron, job.schedule.timezone, job.schedule.done_by)
    except QuantityError as error:
        report.check(done_path, error.message, *involved)
        return
    if job.max_duration is not None and job.max_duration > window_s:
        message = f"{hours(job.max_duration)} is longer than the window from start to done_by, {hours(window_s)}"
        report.check((*path, "max_duration"), message, done_path, *involved)


def _check_tokens(job: Batch, path: Path, card: ModelCard, report: Report) -> None:
    longest = min(card.context_tokens, job.engine.max_model_len or card.context_tokens)
    together = sum(batch_tokens(job, card.context_tokens))
    if together > longest:
        message = f"prompt_tokens and output_tokens, {together:g} together, exceed the {longest} tokens of {card.name}"
        involved = ((*path, "output_tokens"), (*path, "engine", "max_model_len"), ("models", card.name, "context"))
        report.check((*path, "prompt_tokens"), message, *involved)
