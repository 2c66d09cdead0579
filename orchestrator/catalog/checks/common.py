"""Checks that several kinds of job share."""

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


def check_engine(engine: Engine, path: Path, card: ModelCard | None, report: Report) -> None:
    """The engine serves no longer sequences than the model knows."""
    longest = engine.max_model_len
    if card is not None and longest is not None and longest > card.context_tokens:
        report.check(
            (*path, "max_model_len"),
            f"{longest} tokens is more than the context of {card.name}, {card.context_tokens}",
            ("models", card.name, "context"),
        )


def hours(seconds: float) -> str:
    """Seconds as a catalog writes them, in the largest unit that stays whole: 5400 is 90m."""
    for unit, size_s in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size_s and seconds % size_s == 0:
            return f"{seconds / size_s:g}{unit}"
    return f"{seconds:g}s"
