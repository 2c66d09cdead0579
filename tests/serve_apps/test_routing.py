"""From OpenAI bodies to what the rules see, and back."""

from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.policy.route import UnknownModel
from serve_apps.routing import apply_limit, not_found, route_request, route_table


def chat(*messages: tuple[str, Any], **fields: Any) -> SimpleNamespace:
    made = [{"role": role, "content": content} for role, content in messages]
    return SimpleNamespace(
        **{"model": "auto", "messages": made, "max_tokens": None, "max_completion_tokens": None} | fields
    )


def completion(prompt: Any, **fields: Any) -> SimpleNamespace:
    return SimpleNamespace(**{"model": "auto", "prompt": prompt, "max_tokens": None} | fields)


def seen(body: SimpleNamespace, path: str = "/v1/completions", count_tokens: Any = None) -> Any:
    return route_request(body, path=path, service="copilot", headers=(("X-Tier", "gold"),), count_tokens=count_tokens)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(chat(("system", "be very brief"), ("user", "two words")), 2, id="system-does-not-count"),
        pytest.param(chat(("user", "one"), ("assistant", "a b c"), ("user", "two more")), 3, id="all-user-messages"),
        pytest.param(chat(("user", None)), 0, id="no-content"),
        pytest.param(
            chat(("user", [{"type": "text", "text": "a b"}, {"type": "image_url", "image_url": {"url": "x"}}])),
            2,
            id="content-parts",
        ),
        pytest.param(completion("three little words"), 3, id="completion"),
        pytest.param(completion(["a b", "c"]), 3, id="completion-list"),
        pytest.param(completion([1, 2, 3, 4]), 4, id="token-ids"),
        pytest.param(completion([[1, 2], [3]]), 3, id="lists-of-token-ids"),
        pytest.param(completion(None), 0, id="no-prompt"),
    ],
)
def test_words_of_the_prompt(body: SimpleNamespace, words: int) -> None:
    assert seen(body).prompt_words == words


def test_content_that_comes_as_an_iterator_survives_counting() -> None:
    body = chat(("user", iter([{"type": "text", "text": "a b c"}])))
    assert seen(body).prompt_words == 3
    assert body.messages[0]["content"] == [{"type": "text", "text": "a b c"}]


def test_rules_see_headers_path_limit_and_tokens() -> None:
    request = seen(chat(("user", "a b"), max_completion_tokens=9, max_tokens=50), "/copilot/fast/v1/x", len)
    assert request.headers == (("x-tier", "gold"),)
    assert request.path == "/fast/v1/x"
    assert request.max_tokens == 9
    assert request.prompt_tokens == 3
    assert seen(completion("a b")).prompt_tokens is None


def never(text: str) -> int:
    raise AssertionError(f"tokens of {text!r} were counted needlessly")


@pytest.mark.parametrize(
    ("body", "cap", "expected"),
    [
        pytest.param(chat(("user", "a")), 128, 128, id="cap-alone"),
        pytest.param(chat(("user", "a"), max_tokens=500), 128, 128, id="client-wanted-more"),
        pytest.param(chat(("user", "a")), None, None, id="no-cap"),
    ],
)
def test_limits_are_set(body: SimpleNamespace, cap: int | None, expected: int | None) -> None:
    apply_limit(body, cap, context=1000, count_tokens=never)
    assert body.max_completion_tokens == expected
    assert body.max_tokens == expected


def test_a_cap_leaves_room_for_the_prompt() -> None:
    body = completion("x " * 900)
    apply_limit(body, 900, context=1000, count_tokens=lambda text: len(text.split()))
    assert 1 <= body.max_tokens <= 100
    assert not hasattr(body, "max_completion_tokens")


def test_a_limit_of_the_client_is_never_raised_or_shrunk() -> None:
    body = completion("x " * 900, max_tokens=500)
    apply_limit(body, 500, context=1000, count_tokens=never)
    assert body.max_tokens == 500


def test_the_table_is_read_from_json() -> None:
    table = route_table(
        {
            "parts": ["small", "large"],
            "aliases": {"chat-3b": "small"},
            "routes": [
                {"when": ["prompt_words", "<", 50.0], "to": "small", "max_tokens": 128},
                {"when": None, "to": "large", "max_tokens": None},
            ],
        }
    )
    assert table.parts == ("small", "large")
    assert table.routes[0].when == ("prompt_words", "<", 50.0)
    assert table.routes[1].when is None


def test_the_error_names_what_there_is() -> None:
    error = not_found(UnknownModel(model="gpt-9", known=("auto", "small")))["error"]
    assert error["code"] == "model_not_found"
    assert "gpt-9" in error["message"]
    assert "auto, small" in error["message"]
