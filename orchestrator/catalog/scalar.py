"""Plain scalars by the YAML 1.2 core schema, so that `02:00`, `on` and `no` stay text and `8.03e9` is a number.

Source: https://yaml.org/spec/1.2.2/#103-core-schema
"""

import re

Scalar = str | int | float | bool | None

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]{1,300}")
_OCTAL = re.compile(r"0o([0-7]{1,100})")
_HEX = re.compile(r"0x([0-9a-fA-F]{1,100})")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_NAN = frozenset({".nan", ".NaN", ".NAN"})


def resolve(text: str) -> Scalar:
    """What an unquoted scalar means."""
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    number = _number(text)
    return text if number is None else number


def _number(text: str) -> int | float | None:
    if _INT.fullmatch(text):
        return int(text)
    if match := _OCTAL.fullmatch(text):
        return int(match[1], 8)
    if match := _HEX.fullmatch(text):
        return int(match[1], 16)
    if _FLOAT.fullmatch(text):
        return float(text)
    if match := _INFINITE.fullmatch(text):
        return float(f"{match[1]}inf")
    return float("nan") if text in _NAN else None
