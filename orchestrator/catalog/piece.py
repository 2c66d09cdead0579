"""Validates one piece of the catalog (a section, a card, a job) and saves what can be saved of a broken one."""

from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from orchestrator.catalog import messages
from orchestrator.catalog.fault import Path
from orchestrator.catalog.field_types import Section
from orchestrator.catalog.quantity import shown
from orchestrator.catalog.report import Report

AnySection = TypeVar("AnySection", bound=Section)

_REPAIRS = 5
"""Removing a broken value may leave its parent incomplete; so many levels are nested at most."""


def validate(
    section: type[AnySection], raw: Any, path: Path, report: Report, placeholders: dict[str, Any] | None = None
) -> AnySection | None:
    """The piece, with its faults reported.

    Broken values are replaced by defaults and by `placeholders`, so that the cross-checks see the rest; the report
    knows which they are. None where nothing is left to check.
    """
    if not isinstance(raw, dict):
        report.add(path, f"must be a mapping, not {shown(raw)}")
        return None
    _remove_empty(raw, path, report)
    try:
        return section.model_validate(raw)
    except ValidationError as error:
        errors = error.errors(include_url=False)
    _report(section, raw, errors, path, report)
    for _ in range(_REPAIRS):
        for each in errors:
            _repair(raw, each, placeholders or {})
        try:
            return section.model_validate(raw)
        except ValidationError as error:
            errors = error.errors(include_url=False)
    return None


def _remove_empty(raw: Any, path: Path, report: Report) -> None:
    """Report keys without a value, which YAML reads as null, and leave them out."""
    for key, value in list(raw.items() if isinstance(raw, dict) else enumerate(raw)):
        if isinstance(value, dict | list):
            _remove_empty(value, (*path, key), report)
        elif value is None:
            report.add((*path, key), "has no value; give one or remove the key")
            if isinstance(raw, dict):
                del raw[key]


def _report(section: type[Section], raw: Any, errors: list[ErrorDetails], path: Path, report: Report) -> None:
    for error in errors:
        if error["type"] != "extra_forbidden":
            continue
        parent, key = error["loc"][:-1], str(error["loc"][-1])
        message, suggestion = messages.unknown_key(messages.section_at(section, parent), key, _at(raw, parent))
        if suggestion is not None:
            report.mark_broken((*path, *parent, suggestion))
        report.add((*path, *error["loc"]), message, suggestion, at_key=True)
    for error in errors:
        place = (*path, *_without_marker(error["loc"]))
        if error["type"] == "extra_forbidden" or report.is_broken(place):
            continue
        message, suggestion = messages.explain(error)
        report.add(place, message, suggestion, at_key=error["loc"][-1:] == ("[key]",))


def _without_marker(loc: Path) -> Path:
    """Pydantic ends the place of a wrong mapping key with a marker."""
    return loc[:-1] if loc[-1:] == ("[key]",) else loc


def _at(raw: Any, path: Path) -> Any:
    for part in path:
        raw = raw[part]
    return raw


def _repair(raw: Any, error: ErrorDetails, placeholders: dict[str, Any]) -> None:
    """Remove the value an error is about; of a missing one the holder, or put the placeholder in."""
    loc = _without_marker(error["loc"])
    if error["type"] == "missing":
        if len(loc) == 1:
            raw.update({key: value for key, value in placeholders.items() if key == loc[0]})
            return
        loc = loc[:-1]
    while loc and not _remove(raw, loc):
        loc = loc[:-1]


def _remove(raw: Any, loc: Path) -> bool:
    """Remove a key; False where the place is no key (a list's item, or gone already), so that its holder must go."""
    holder = raw
    for part in loc[:-1]:
        try:
            holder = holder[part]
        except (KeyError, IndexError, TypeError):
            return False
    return isinstance(holder, dict) and holder.pop(loc[-1], _ABSENT) is not _ABSENT


_ABSENT = object()
