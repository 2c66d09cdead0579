"""Between OpenAI request bodies and the routing policy: no Ray and no engine here, so it is quick to test."""

from collections.abc import Callable
from typing import Any, Protocol

from orchestrator.model.job import Route
from orchestrator.policy.route import RouteRequest, RouteTable, UnknownModel, count_words

CountTokens = Callable[[str], int]
USER = frozenset({"user"})
TEMPLATE_TOKENS = 16
"""Allowance per message for what a chat template adds around it."""


class RequestBody(Protocol):
    """What both kinds of OpenAI bodies have (a chat has `messages`, a completion has `prompt`)."""

    model: str | None
    max_tokens: int | None


def route_table(service: dict[str, Any]) -> RouteTable:
    """The table from the application's JSON arguments."""
    return RouteTable(
        parts=tuple(service["parts"]),
        aliases=tuple(sorted(service["aliases"].items())),
        routes=tuple(
            Route(when=tuple(route["when"]) if route["when"] else None, to=route["to"], max_tokens=route["max_tokens"])
            for route in service["routes"]
        ),
    )


def route_request(
    body: RequestBody,
    *,
    path: str,
    service: str,
    headers: tuple[tuple[str, str], ...],
    count_tokens: CountTokens | None,
) -> RouteRequest:
    """What the rules see of a request. Prompts given as token ids count each token as a word."""
    texts, ids = _texts(body, USER)
    words = sum(count_words(text) for text in texts) + ids
    tokens = sum(count_tokens(text) for text in texts) + ids if count_tokens else None
    return RouteRequest(
        model=body.model,
        prompt_words=words,
        prompt_tokens=tokens,
        path=path.removeprefix(f"/{service}"),
        headers=tuple((name.lower(), value) for name, value in headers),
        max_tokens=_client_limit(body),
    )


def apply_limit(body: RequestBody, max_tokens: int | None, *, context: int, count_tokens: CountTokens) -> None:
    """Set the answer's limit in the field, or fields, that the engine reads.

    Engines refuse a prompt that leaves no room for the limit. So a cap that comes from a rule alone, not from the
    client, shrinks to what `context` leaves; tokens are counted only when the prompt's bytes do not settle it.
    """
    if max_tokens is None:
        return
    if _client_limit(body) is None:
        max_tokens = _fitting(body, max_tokens, context, count_tokens)
    body.max_tokens = max_tokens
    if hasattr(body, "max_completion_tokens"):
        body.max_completion_tokens = max_tokens


def _fitting(body: RequestBody, cap: int, context: int, count_tokens: CountTokens) -> int:
    texts, ids = _texts(body, roles=None)
    overhead = ids + TEMPLATE_TOKENS * (1 + len(texts))
    if sum(len(text.encode()) for text in texts) + overhead + cap <= context:
        return cap
    return max(1, min(cap, context - overhead - sum(count_tokens(text) for text in texts)))


def _client_limit(body: RequestBody) -> int | None:
    limit = getattr(body, "max_completion_tokens", None)
    return body.max_tokens if limit is None else limit


def not_found(unknown: UnknownModel) -> dict[str, Any]:
    """The error that OpenAI's own API gives for a model it does not have."""
    return {
        "error": {
            "message": f"The model '{unknown.model}' does not exist. Available: {', '.join(unknown.known)}.",
            "type": "invalid_request_error",
            "param": "model",
            "code": "model_not_found",
        }
    }


def _texts(body: RequestBody, roles: frozenset[str] | None) -> tuple[list[str], int]:
    """Texts of the prompt (of messages with these roles, None = all), and the number of tokens that came as ids."""
    messages = getattr(body, "messages", None)
    if messages is not None:
        chosen = [message for message in messages if roles is None or message.get("role") in roles]
        return [text for message in chosen for text in _message_texts(message)], 0
    prompt = getattr(body, "prompt", None)
    items = prompt if isinstance(prompt, list) else [prompt]
    texts = [item for item in items if isinstance(item, str)]
    ids = sum(len(item) if isinstance(item, list) else 1 for item in items if isinstance(item, list | int))
    return texts, ids


def _message_texts(message: dict[str, Any]) -> list[str]:
    """Texts of a message. Parts arrive as a one-shot iterator, so the list replaces it in the message."""
    content = message.get("content")
    if content is None or isinstance(content, str):
        return [content or ""]
    message["content"] = parts = list(content)
    return [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
