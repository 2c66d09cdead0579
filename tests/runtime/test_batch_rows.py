"""Rendering prompts, refusing rows, and writing answers in input order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.runtime.batch_rows import (
    Answer,
    Failure,
    answer_limit,
    answer_table,
    failure_table,
    make_prompts,
    template_columns,
)


def encode(text: str) -> list[int]:
    return [len(word) for word in text.split()]


@pytest.mark.parametrize(
    ("template", "columns"),
    [
        pytest.param("Score: {{ text }}", ("text",), id="one"),
        pytest.param("{{ title }}: {{ body | upper }} {{ title }}", ("body", "title"), id="two-sorted-once"),
        pytest.param("no columns", (), id="none"),
        pytest.param("{% for x in items %}{{ x }}{% endfor %}", ("items",), id="loop-variables-are-not-columns"),
    ],
)
def test_columns_of_a_template(template: str, columns: tuple[str, ...]) -> None:
    assert template_columns(template) == columns


def test_longest_prompts_come_first() -> None:
    rows = [{"text": "one"}, {"text": "one two three"}, {"text": "one two"}, {"text": "a b c"}]
    prompts, failures = make_prompts(rows, "{{ text }}", encode, context_tokens=100, max_tokens=8)
    assert [prompt.at for prompt in prompts] == [1, 3, 2, 0]
    assert failures == []


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        pytest.param({"text": "a b c d e f g"}, "context: 7 prompt tokens and 4 for the answer exceed 10", id="long"),
        pytest.param({"other": "x"}, "prompt: 'text' is undefined", id="absent-column"),
        pytest.param({"text": None}, None, id="null-renders-as-None"),
        pytest.param({"text": "a b c d e f"}, None, id="just-fits"),
    ],
)
def test_rows_that_cannot_be_asked(row: dict[str, object], reason: str | None) -> None:
    prompts, failures = make_prompts([row], "{{ text }}", encode, context_tokens=10, max_tokens=4)
    assert failures == ([Failure(at=0, reason=reason)] if reason else [])
    assert len(prompts) == (0 if reason else 1)


def test_a_template_that_fails_on_a_row_fails_that_row_only() -> None:
    rows = [{"n": 1}, {"n": 0}, {"n": 2}]
    prompts, failures = make_prompts(rows, "{{ (4 / n) | int }}", encode, context_tokens=10, max_tokens=1)
    assert sorted(prompt.at for prompt in prompts) == [0, 2]
    assert [failure.at for failure in failures] == [1]


@given(st.lists(st.integers(min_value=0, max_value=30), max_size=30))
def test_no_row_is_lost_or_doubled(lengths: list[int]) -> None:
    rows = [{"text": " ".join(["w"] * length)} for length in lengths]
    prompts, failures = make_prompts(rows, "{{ text }}", encode, context_tokens=16, max_tokens=4)
    places = [prompt.at for prompt in prompts] + [failure.at for failure in failures]
    assert sorted(places) == list(range(len(rows)))
    assert all(len(prompt.tokens) <= 12 for prompt in prompts)


def test_tables_are_in_input_order_with_the_ids_type() -> None:
    rows = [{"id": 7}, {"id": 8}, {"id": 9}]
    answers = [
        Answer(at=2, text="c", finish_reason="stop", prompt_tokens=3, output_tokens=1),
        Answer(at=0, text="a", finish_reason="length", prompt_tokens=3, output_tokens=9),
    ]
    table = answer_table(rows, "id", answers)
    assert table.to_pydict() == {
        "id": [7, 9],
        "completion": ["a", "c"],
        "finish_reason": ["length", "stop"],
        "prompt_tokens": [3, 3],
        "output_tokens": [9, 1],
    }
    failed = failure_table(rows, "id", [Failure(at=1, reason="context: too long")])
    assert failed.to_pydict() == {"id": [8], "reason": ["context: too long"]}
    assert failed.schema.field("id").type == table.schema.field("id").type
    assert answer_table([], "id", []).num_rows == 0


@pytest.mark.parametrize(
    ("expected", "limit"), [pytest.param(1, 16, id="at-least-16"), pytest.param(64, 256, id="four-times")]
)
def test_answer_limit(expected: float, limit: int) -> None:
    assert answer_limit(expected) == limit
