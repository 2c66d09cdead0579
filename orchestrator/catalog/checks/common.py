"""Checks that several kinds of job share."""

from collections.abc import Sequence

from orchestrator.catalog.fault import Path
from orchestrator.catalog.field_types import Span
from orchestrator.catalog.report import Report
from orchestrator.catalog.schema.common import Engine
from orchestrator.model.card import ModelCard


def check_instances(span: Span, path: Path, max_workers: int, report: Report) -> None:
    """The range is not empty and fits the cluster."""
    least, most = span.min or 1, span.max
    if most is not None and least > most:
        report.check((*path, "min"), f"min {least} is above max {most}", (*path, "max"))
    if least > max_workers:
        report.check(path, f"needs {least} instances; cluster.max_workers is {max_workers}")


def check_engine(engine: Engine, path: Path, cards: Sequence[ModelCard], report: Report) -> None:
    """The engine serves no longer sequences than one of its models knows; shorter models get their own limit."""
    longest = engine.max_model_len
    best = max(cards, key=lambda card: card.context_tokens, default=None)
    if best is not None and longest is not None and longest > best.context_tokens:
        message = f"{longest} tokens is more than the context of {best.name}, {best.context_tokens}"
        report.check((*path, "max_model_len"), message, *(("models", card.name, "context") for card in cards))


def hours(seconds: float) -> str:
    """Seconds as a catalog writes them, in the largest unit that stays whole: 5400 is 90m."""
    for unit, size_s in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size_s and seconds % size_s == 0:
            return f"{seconds / size_s:g}{unit}"
    return f"{seconds:g}s"
