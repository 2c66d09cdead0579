"""Which model of a service answers a request, and how long the answer may get. Pure; the ingress applies it."""

import operator
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.model.job import Route

AUTO = "auto"
"""The model name by which a client leaves the choice to the service's rules; no model at all means the same."""

EXPLICIT, DEFAULT = "explicit", "default"

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteRequest:
    """What rules can look at. `model` is as the client sent it, header names are lower case.

    `prompt_words` counts whitespace-separated words of the prompt: of all user messages of a chat (system and assistant
    messages do not count), or of the text of a completion. `prompt_tokens` is None when no rule needs tokens.
    `path` is what follows the host, with any prefix. `max_tokens` is the client's own limit, None = none given.
    """

    model: str | None
    prompt_words: int
    prompt_tokens: int | None = None
    path: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteDecision:
    """`part` answers with at most `max_tokens` tokens (None = no limit known); `rule` says why."""

    part: str
    max_tokens: int | None
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownModel:
    """The client named a model this service does not have; `known` are the names it may use."""

    model: str
    known: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteTable:
    """A service's models and rules, first to last. `aliases` are further names of parts (those of the model cards)."""

    parts: tuple[str, ...]
    routes: tuple[Route, ...]
    aliases: tuple[tuple[str, str], ...] = ()

    @property
    def needs_tokens(self) -> bool:
        """Whether any rule counts tokens, so that the ingress tokenises only then."""
        return any(route.when is not None and route.when[0] == "prompt_tokens" for route in self.routes)


def decide(table: RouteTable, request: RouteRequest) -> RouteDecision | UnknownModel:
    """Choose the part. A named model is honoured: only rules about `model` may move or cap it.

    For "auto" the first matching rule decides, and when none matches the last rule's model (the first part without
    rules) answers, uncapped. The cap is the smaller of the client's limit and the rule's.
    """
    named = request.model not in (None, "", AUTO)
    for route in table.routes:
        about_model = route.when is not None and route.when[0] == "model"
        if named == about_model and route.to in table.parts and matches(route, request):
            return _decision(route.to, route.max_tokens, _rule_text(route), request)
    if not named:
        return _decision(_last_resort(table), None, DEFAULT, request)
    part = _named_part(table, request.model or "")
    if part is None:
        return UnknownModel(model=request.model or "", known=(AUTO, *table.parts))
    return _decision(part, None, EXPLICIT, request)


def matches(route: Route, request: RouteRequest) -> bool:
    """Whether a rule applies. One about a figure the request lacks does not; a header it lacks is empty text."""
    if route.when is None:
        return True
    subject, compare, wanted = route.when
    found = _subject(subject, request)
    if found is None or compare not in _COMPARE:
        return False
    if isinstance(found, str):
        return (found == str(wanted)) == (compare == "==") if compare in ("==", "!=") else False
    return not isinstance(wanted, str) and _COMPARE[compare](found, wanted)


def count_words(text: str) -> int:
    """Whitespace-separated words."""
    return len(text.split())


def _subject(subject: str, request: RouteRequest) -> float | str | None:
    if subject.startswith("header:"):
        return dict(request.headers).get(subject.removeprefix("header:").lower(), "")
    values: dict[str, float | str | None] = {
        "prompt_words": request.prompt_words,
        "prompt_tokens": request.prompt_tokens,
        "path": request.path,
        "model": request.model or "",
    }
    return values.get(subject)


def _named_part(table: RouteTable, model: str) -> str | None:
    if model in table.parts:
        return model
    part = dict(table.aliases).get(model)
    return part if part in table.parts else None


def _last_resort(table: RouteTable) -> str:
    targets = [route.to for route in table.routes if route.to in table.parts]
    return targets[-1] if targets else table.parts[0]


def _rule_text(route: Route) -> str:
    if route.when is None:
        return "otherwise"
    subject, compare, wanted = route.when
    shown = int(wanted) if isinstance(wanted, float) and wanted.is_integer() else wanted
    return f"{subject} {compare} {shown}"


def _decision(part: str, cap: int | None, rule: str, request: RouteRequest) -> RouteDecision:
    limits = [limit for limit in (cap, request.max_tokens) if limit is not None]
    return RouteDecision(part=part, max_tokens=min(limits, default=None), rule=rule)
