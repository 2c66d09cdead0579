"""The routing decision: a table of cases, and properties that hold for any request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.model.job import Route
from orchestrator.policy.route import (
    RouteDecision,
    RouteRequest,
    RouteTable,
    UnknownModel,
    count_words,
    decide,
    matches,
)


def rule(subject: str, compare: str, value: float | str, to: str, cap: int | None = None) -> Route:
    return Route(when=(subject, compare, value), to=to, max_tokens=cap)


def otherwise(to: str, cap: int | None = None) -> Route:
    return Route(when=None, to=to, max_tokens=cap)


TABLE = RouteTable(
    parts=("small", "large"),
    aliases=(("chat-3b", "small"), ("chat-8b", "large")),
    routes=(
        rule("header:X-Tier", "==", "gold", "large", 2048),
        rule("path", "==", "/fast/v1/chat/completions", "small", 64),
        rule("model", "==", "gpt-4", "large", 512),
        rule("prompt_words", "<", 50.0, "small", 128),
        otherwise("large", 1024),
    ),
)


def request(words: int = 10, model: str | None = "auto", **fields: object) -> RouteRequest:
    return RouteRequest(model=model, prompt_words=words, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "part", "limit", "why"),
    [
        pytest.param(request(49), "small", 128, "prompt_words < 50", id="short-prompt"),
        pytest.param(request(50), "large", 1024, "otherwise", id="long-prompt-at-the-border"),
        pytest.param(request(5, model=None), "small", 128, "prompt_words < 50", id="no-model-is-auto"),
        pytest.param(request(5, model=""), "small", 128, "prompt_words < 50", id="empty-model-is-auto"),
        pytest.param(request(5, max_tokens=20), "small", 20, "prompt_words < 50", id="client-limit-below-cap"),
        pytest.param(request(5, max_tokens=500), "small", 128, "prompt_words < 50", id="client-limit-above-cap"),
        pytest.param(
            request(5, headers=(("x-tier", "gold"),)), "large", 2048, "header:X-Tier == gold", id="header-first"
        ),
        pytest.param(request(5, headers=(("x-tier", "tin"),)), "small", 128, "prompt_words < 50", id="other-header"),
        pytest.param(
            request(900, path="/fast/v1/chat/completions"), "small", 64, "path == /fast/v1/chat/completions", id="path"
        ),
        pytest.param(request(5, model="large"), "large", None, "explicit", id="named"),
        pytest.param(request(900, model="small"), "small", None, "explicit", id="named-despite-length"),
        pytest.param(request(5, model="large", max_tokens=7), "large", 7, "explicit", id="named-keeps-client-limit"),
        pytest.param(request(5, model="chat-8b"), "large", None, "explicit", id="named-by-card"),
        pytest.param(
            request(5, model="large", headers=(("x-tier", "gold"),)), "large", None, "explicit", id="named-over-header"
        ),
        pytest.param(request(5, model="gpt-4"), "large", 512, "model == gpt-4", id="model-rule-takes-foreign-name"),
    ],
)
def test_table(asked: RouteRequest, part: str, limit: int | None, why: str) -> None:
    assert decide(TABLE, asked) == RouteDecision(part=part, max_tokens=limit, rule=why)


def test_unknown_model_is_an_answer_that_names_the_known() -> None:
    assert decide(TABLE, request(model="gpt-5")) == UnknownModel(model="gpt-5", known=("auto", "small", "large"))


@pytest.mark.parametrize(
    ("when", "asked", "expected"),
    [
        pytest.param(("prompt_tokens", "<", 10.0), request(prompt_tokens=9), True, id="tokens-below"),
        pytest.param(("prompt_tokens", "<", 10.0), request(prompt_tokens=10), False, id="tokens-at"),
        pytest.param(("prompt_tokens", "<", 10.0), request(), False, id="tokens-not-counted"),
        pytest.param(("prompt_words", ">=", 3.0), request(3), True, id="words-at-least"),
        pytest.param(("prompt_words", "!=", 3.0), request(3), False, id="words-differ"),
        pytest.param(("header:a", "!=", "b"), request(), True, id="absent-header-differs"),
        pytest.param(("header:a", "==", "b"), request(), False, id="absent-header-equals-nothing"),
        pytest.param(("path", "!=", "/v1/completions"), request(path="/v1/completions"), False, id="path-differs"),
        pytest.param(("path", "<", "x"), request(path="a"), False, id="text-has-no-order"),
        pytest.param(("prompt_words", "<", "ten"), request(3), False, id="number-against-text"),
        pytest.param(("colour", "==", "red"), request(), False, id="unknown-subject"),
        pytest.param(("prompt_words", "~", 3.0), request(3), False, id="unknown-operator"),
    ],
)
def test_conditions(when: tuple[str, str, float | str], asked: RouteRequest, expected: bool) -> None:
    assert matches(Route(when=when, to="small", max_tokens=None), asked) is expected


@pytest.mark.parametrize(
    ("routes", "part"),
    [
        pytest.param((), "small", id="no-rules-first-part"),
        pytest.param((rule("prompt_words", "<", 1.0, "large"),), "large", id="none-matches-last-rule"),
        pytest.param((otherwise("gone"),), "small", id="rule-to-a-part-that-is-gone"),
    ],
)
def test_auto_always_finds_a_part(routes: tuple[Route, ...], part: str) -> None:
    decision = decide(RouteTable(parts=("small", "large"), routes=routes), request(10))
    assert isinstance(decision, RouteDecision)
    assert (decision.part, decision.max_tokens, decision.rule) == (
        part,
        None,
        "default",
    )


def test_tokens_are_counted_only_where_a_rule_needs_them() -> None:
    assert not TABLE.needs_tokens
    assert RouteTable(parts=("a",), routes=(rule("prompt_tokens", "<", 9.0, "a"),)).needs_tokens


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", 0, id="empty"),
        pytest.param("  \n\t ", 0, id="blank"),
        pytest.param("one two\nthree", 3, id="any-space"),
    ],
)
def test_words(text: str, words: int) -> None:
    assert count_words(text) == words


names = st.sampled_from(["small", "large", "auto", "", "chat-3b", "elsewhere"])
subjects = st.sampled_from(["prompt_words", "prompt_tokens", "path", "model", "header:x", "bogus"])
conditions = st.tuples(
    subjects, st.sampled_from(["<", "<=", ">", ">=", "==", "!=", "?"]), st.one_of(st.floats(), st.text(max_size=5))
)
routes = st.builds(
    Route, when=st.none() | conditions, to=names, max_tokens=st.none() | st.integers(min_value=1, max_value=4096)
)
requests = st.builds(
    RouteRequest,
    model=st.none() | names | st.text(max_size=8),
    prompt_words=st.integers(min_value=0, max_value=10_000),
    prompt_tokens=st.none() | st.integers(min_value=0, max_value=10_000),
    path=st.text(max_size=10),
    headers=st.lists(st.tuples(st.sampled_from(["x", "y"]), st.text(max_size=5)), max_size=3).map(tuple),
    max_tokens=st.none() | st.integers(min_value=1, max_value=4096),
)
tables = st.builds(
    RouteTable,
    parts=st.sampled_from([("small",), ("small", "large")]),
    routes=st.lists(routes, max_size=5).map(tuple),
    aliases=st.just((("chat-3b", "small"),)),
)


@given(tables, requests)
def test_never_raises_and_always_names_a_part(table: RouteTable, asked: RouteRequest) -> None:
    decision = decide(table, asked)
    if isinstance(decision, UnknownModel):
        assert asked.model not in (None, "", "auto", *table.parts, "chat-3b")
        return
    assert decision.part in table.parts
    if asked.max_tokens is not None:
        assert decision.max_tokens is not None
        assert decision.max_tokens <= asked.max_tokens
    caps = {route.max_tokens for route in table.routes} | {asked.max_tokens, None}
    assert decision.max_tokens in caps
