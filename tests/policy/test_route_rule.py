"""Conditions of routing rules, as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.model.job import Route
from orchestrator.policy.route import RouteRequest, matches
from orchestrator.policy.route_rule import RouteRuleError, always_hidden_by, parse


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("prompt_words < 50", ("prompt_words", "<", 50.0)),
        ("prompt_words<50", ("prompt_words", "<", 50.0)),
        ("  prompt_tokens >= 1000  ", ("prompt_tokens", ">=", 1000.0)),
        ("header:X-Tier == gold", ("header:x-tier", "==", "gold")),
        ("path == /v1/completions", ("path", "==", "/v1/completions")),
        ("path != '/v1/chat completions'", ("path", "!=", "/v1/chat completions")),
        ('model == "5"', ("model", "==", "5")),
        ('header:x == "this and that"', ("header:x", "==", "this and that")),
    ],
)
def test_parse(text, condition):
    assert parse(text) == condition


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "SUBJECT OPERATOR VALUE"),
        ("prompt_words", "SUBJECT OPERATOR VALUE"),
        ("prompt_words < ", "SUBJECT OPERATOR VALUE"),
        ("prompt_words < many", "compared with a number"),
        ("prompt_words < -1", "compared with a number"),
        ("prompt_words = 5", "use =="),
        ("words < 5", "unknown subject words"),
        ("header: == x", "needs the name of a header"),
        ("path < 5", "compare it with == or !="),
        ("prompt_words < 50 and path == x", "more than one comparison"),
        ("path == a or path == b", "more than one comparison"),
    ],
)
def test_not_a_condition(text, message):
    with pytest.raises(RouteRuleError, match=message):
        parse(text)


@given(st.text())
def test_any_text_is_read_or_refused(text):
    try:
        subject, operator, _ = parse(text)
    except RouteRuleError:
        return
    assert subject
    assert operator in ("<", "<=", ">", ">=", "==", "!=")


conditions = st.tuples(
    st.just("prompt_words"), st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), st.integers(0, 6).map(float)
)


@given(earlier=conditions, later=conditions)
def test_a_hidden_rule_never_decides(earlier, later):
    if not always_hidden_by(earlier, later):
        return
    for words in range(9):
        request = RouteRequest(model="auto", prompt_words=words)
        if matches(Route(when=later, to="x", max_tokens=None), request):
            assert matches(Route(when=earlier, to="x", max_tokens=None), request)
