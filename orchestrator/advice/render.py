"""Advice in words for people, and as JSON-ready values for programs."""

import textwrap
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from orchestrator.advice.advice import Advice, Figure, Threshold
from orchestrator.advice.words import number, usd

WIDTH = 110
SIGNIFICANT = 9
"""Digits kept of a float in JSON, so that the last bits of a sum do not change the bytes."""


def advice_as_dict(given: Sequence[Advice], now: str) -> dict[str, Any]:
    """The contract of `advise --json`: {"now", "advice": [{topic, job, part, recommendation, figures, thresholds,
    confidence}]}."""
    return {"now": now, "advice": [_advice(each) for each in given]}


def advice_as_text(given: Sequence[Advice]) -> str:
    """Grouped by job, the arithmetic indented below each recommendation."""
    blocks = []
    for job in dict.fromkeys(each.job for each in given):
        lines = [job or "whole catalog"]
        for each in given:
            if each.job == job:
                lines.extend(_lines(each))
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) if blocks else "No advice: nothing of the catalog has hardware."


def _advice(each: Advice) -> dict[str, Any]:
    return {
        "topic": each.topic.value,
        "job": each.job,
        "part": each.part,
        "recommendation": each.recommendation,
        "figures": [_figure(figure) for figure in each.figures],
        "thresholds": [_threshold(threshold) for threshold in each.thresholds],
        "confidence": each.confidence,
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "name": figure.name,
        "of": figure.of,
        "value": _value(figure.value),
        "unit": figure.unit,
        "how": figure.how,
    }


def _threshold(threshold: Threshold) -> dict[str, Any]:
    return {
        "name": threshold.name,
        "value": _value(threshold.value),
        "unit": threshold.unit,
        "source": threshold.source,
    }


def _value(value: Decimal | float | str) -> float | str:
    if isinstance(value, Decimal):
        return float(value)
    return value if isinstance(value, str) else float(f"{value:.{SIGNIFICANT}g}")


def _lines(each: Advice) -> Iterator[str]:
    title = f"{each.topic.value} ({each.part})" if each.part else each.topic.value
    yield from _wrapped(f"{title}: {each.recommendation}", 2)
    of = ""
    for figure in each.figures:
        if figure.of != of:
            of = figure.of
            if of:
                yield from _wrapped(of, 4)
        yield from _wrapped(_said(figure), 6 if of else 4)
    for source in dict.fromkeys(threshold.source for threshold in each.thresholds):
        bounds = "; ".join(_bound(threshold) for threshold in each.thresholds if threshold.source == source)
        yield from _wrapped(f"compare {bounds} ({source})", 4)
    if each.confidence:
        yield from _wrapped(f"how sure: {each.confidence}", 4)


def _said(figure: Figure) -> str:
    value = figure.value
    if isinstance(value, str):
        return f"{figure.name}: {value}{f' ({figure.how})' if figure.how else ''}"
    amount = usd(value) if figure.unit.startswith("USD") else number(float(value))
    text = f"{figure.name}: {amount} {figure.unit}".rstrip()
    return f"{text} = {figure.how}" if figure.how else text


def _bound(threshold: Threshold) -> str:
    return f"{threshold.name} {number(threshold.value)} {threshold.unit}".rstrip()


def _wrapped(text: str, indent: int) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * (indent + 2), break_on_hyphens=False,
        break_long_words=False,
    )  # fmt: skip
