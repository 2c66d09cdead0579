"""The text of a routing condition: `prompt_words < 50`, `header:x-tier == gold`, `path != "/v1/completions"`."""

import re

NUMERIC_SUBJECTS = ("prompt_words", "prompt_tokens")
TEXT_SUBJECTS = ("path", "model")
HEADER = "header:"
SUBJECTS = (*NUMERIC_SUBJECTS, *TEXT_SUBJECTS, "header:NAME")
TEXT_OPERATORS = ("==", "!=")

Condition = tuple[str, str, float | str]
"""Subject, operator and value, as `orchestrator.model.job.Route.when` holds them."""

_CONDITION = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*(?::[^\s<>=!]*)?)\s*(<=|>=|==|!=|<|>|=)\s*(\S.*?)\s*", re.DOTALL)
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""A token of RFC 9110, 5.6.2."""
_JOINT = re.compile(r"\s(and|or|&&|\|\|)\s", re.IGNORECASE)


class RouteRuleError(ValueError):
    """A condition that cannot be read; `word` is the unknown word and `known` what it could have been."""

    def __init__(self, message: str, word: str = "", known: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.word = word
        self.known = known


def parse(text: str) -> Condition:
    """Read one comparison. Numbers are compared with prompt_words and prompt_tokens, text with the others."""
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise RouteRuleError('must be "SUBJECT OPERATOR VALUE" such as "prompt_words < 50"')
    subject, operator, value = match[1], match[2], match[3]
    if _JOINT.search(f" {value} ") and not _is_quoted(value):
        raise RouteRuleError("holds more than one comparison; give each a rule of its own")
    if operator == "=":
        raise RouteRuleError("operator = is unknown; use ==", "=", ("==",))
    if subject in NUMERIC_SUBJECTS:
        return subject, operator, _number(subject, value)
    return _text_subject(subject), _text_operator(subject, operator), _unquoted(value)


def _text_subject(subject: str) -> str:
    if subject in TEXT_SUBJECTS:
        return subject
    if not subject.lower().startswith(HEADER):
        raise RouteRuleError(
            f"unknown subject {subject}; use {', '.join(SUBJECTS[:-1])} or {SUBJECTS[-1]}", subject, SUBJECTS
        )
    name = subject[len(HEADER) :]
    if not _HEADER_NAME.fullmatch(name):
        raise RouteRuleError("needs the name of a header, as in header:x-tier == gold")
    return HEADER + name.lower()


def _text_operator(subject: str, operator: str) -> str:
    if operator not in TEXT_OPERATORS:
        raise RouteRuleError(f"{subject} is text: compare it with == or !=, not with {operator}")
    return operator


def _number(subject: str, value: str) -> float:
    if not _NUMBER.fullmatch(value):
        raise RouteRuleError(f"{subject} is compared with a number, not with {value[:60]}")
    return float(value)


def _is_quoted(value: str) -> bool:
    return len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'"


def _unquoted(value: str) -> str:
    return value[1:-1] if _is_quoted(value) else value


def always_hidden_by(earlier: Condition, later: Condition) -> bool:
    """Whether every request that `later` matches is matched by `earlier` already, so that `later` never decides."""
    if earlier == later:
        return True
    subject, operator, value = earlier
    later_subject, later_operator, later_value = later
    if subject != later_subject or isinstance(value, str) or isinstance(later_value, str):
        return False
    if operator in ("<", "<=") and later_operator in ("<", "<="):
        return later_value < value or (later_value == value and operator == "<=")
    if operator in (">", ">=") and later_operator in (">", ">="):
        return later_value > value or (later_value == value and operator == ">=")
    return False
