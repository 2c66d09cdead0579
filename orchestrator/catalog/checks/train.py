"""Impossible combinations in train jobs."""

from orchestrator.catalog.checks.common import check_instances, hours
from orchestrator.catalog.fault import Path
from orchestrator.catalog.report import Report
from orchestrator.catalog.schema.train import Train
from orchestrator.model.card import Dtype, ModelCard


def check_train(job: Train, path: Path, card: ModelCard | None, max_workers: int, report: Report) -> None:
    """Report everything about this job that cannot be."""
    check_instances(job.instances, (*path, "instances"), max_workers, report)
    _check_times(job, path, report)
    if card is not None:
        _check_card(job, path, card, report)


def _check_times(job: Train, path: Path, report: Report) -> None:
    deadline, longest, interval = job.deadline, job.max_duration, job.checkpoint.interval
    deadline_path, longest_path = (*path, "deadline"), (*path, "max_duration")
    interval_path = (*path, "checkpoint", "interval")
    if deadline is not None and longest is not None and longest > deadline:
        message = f"max_duration {hours(longest)} is longer than the deadline {hours(deadline)}"
        report.check(longest_path, message, deadline_path)
    if longest is not None and interval >= longest:
        message = (
            f"interval {hours(interval)} is not shorter than max_duration {hours(longest)}: nothing would be saved"
        )
        report.check(interval_path, message, longest_path)
    elif deadline is not None and interval >= deadline:
        message = (
            f"interval {hours(interval)} is not shorter than the deadline {hours(deadline)}: nothing would be saved"
        )
        report.check(interval_path, message, deadline_path)


def _check_card(job: Train, path: Path, card: ModelCard, report: Report) -> None:
    length = job.sequence_length
    if length is not None and length > card.context_tokens:
        message = f"{length} tokens is more than the context of {card.name}, {card.context_tokens}"
        report.check((*path, "sequence_length"), message, ("models", card.name, "context"))
    if card.dtype in (Dtype.INT8, Dtype.INT4):
        message = f"{card.name} has {card.dtype.value} weights; training needs bf16, fp16 or fp32 weights"
        report.check((*path, "model"), message, ("models", card.name, "dtype"))
