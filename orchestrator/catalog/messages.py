"""Pydantic's errors in the words of the catalog."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from orchestrator.catalog.field_types import CUSTOM
from orchestrator.catalog.quantity import shown
from orchestrator.catalog.suggest import nearest

_HINTS = {
    "quantization": "is for serving and batch only: training is done in full precision",
    "gpu": "is unknown; say `accelerators: L4` or a list of alternatives",
    "spot": "is unknown; say `lifecycle: spot`",
}
_LIMITS = {
    "greater_than": "more than",
    "greater_than_equal": "at least",
    "less_than": "less than",
    "less_than_equal": "at most",
}
_LIMIT_KEYS = {"greater_than": "gt", "greater_than_equal": "ge", "less_than": "lt", "less_than_equal": "le"}
_WANTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "finite_number": "a finite number",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
    "string_too_short": "text that is not empty",
    "too_short": "not empty",
}  # fmt: skip
_TRUE_WORDS, _FALSE_WORDS = frozenset({"yes", "on", "y"}), frozenset({"no", "off", "n"})


def explain(error: ErrorDetails) -> tuple[str, str | None]:
    """What is wrong and what may have been meant, of any error but an unknown key."""
    kind, value, context = error["type"], error.get("input"), error.get("ctx", {})
    if kind == "missing":
        return "is required", None
    if kind == CUSTOM:
        return str(context["text"]), context["suggestion"]
    if kind in _LIMITS:
        return f"must be {_LIMITS[kind]} {context[_LIMIT_KEYS[kind]]:g}, not {shown(value)}", None
    if kind in _WANTED:
        return f"must be {_WANTED[kind]}, not {shown(value)}", _bool_word(value) if kind == "bool_type" else None
    if kind == "literal_error":
        return f"must be {context['expected']}, not {shown(value)}", None
    return f"{error['msg'][:1].lower()}{error['msg'][1:]}", None


def unknown_key(section: type[BaseModel] | None, key: str, present: Iterable[str]) -> tuple[str, str | None]:
    """What is wrong with a key that the section does not have; keys already given are not suggested again."""
    if key in _HINTS:
        return _HINTS[key], None
    known = [] if section is None else [name for name in keys(section) if name not in set(present)]
    return "unknown key", nearest(key, known)


def keys(section: type[BaseModel]) -> tuple[str, ...]:
    """The keys of a section as the catalog writes them."""
    return tuple(field.alias or name for name, field in section.model_fields.items())


def section_at(section: type[BaseModel], path: Iterable[str | int]) -> type[BaseModel] | None:
    """The section that holds the value at `path`, found by the annotations on the way."""
    found: type[BaseModel] | None = section
    for part in path:
        if found is None:
            return None
        if isinstance(part, int):
            continue
        fields: Mapping[str, Any] = {field.alias or name: field for name, field in found.model_fields.items()}
        found = _section_in(fields[part].annotation) if part in fields else None
    return found


def _section_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        if found := _section_in(inner):
            return found
    return None


def _bool_word(value: object) -> str | None:
    word = str(value).lower()
    if word in _TRUE_WORDS or word == "true":
        return "true"
    return "false" if word in _FALSE_WORDS or word == "false" else None
