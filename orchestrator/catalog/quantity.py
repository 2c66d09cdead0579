"""Quantities as a catalog writes them, units included: durations, money, percentages, counts.

Every reader takes the YAML value and returns the figure in the unit of its name, or raises QuantityError.
"""

import math
import re
from decimal import Decimal

from orchestrator.catalog.suggest import nearest

MOST_USD = 10**9
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_DURATION_UNITS_S = {"ms": Decimal("0.001"), "s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION_PART = re.compile(rf"({_NUMBER})\s*([A-Za-z]+)\s*")
_DURATION_WORDS = {
    "sec": "s", "secs": "s", "second": "s", "seconds": "s", "min": "m", "mins": "m", "minute": "m", "minutes": "m",
    "hr": "h", "hrs": "h", "hour": "h", "hours": "h", "day": "d", "days": "d", "msec": "ms",
}  # fmt: skip
_MONEY = re.compile(rf"\$\s*({_NUMBER})\s*/\s*([A-Za-z]+)")
_BARE_MONEY = re.compile(rf"\$?\s*({_NUMBER})\s*\$?\s*(?:USD)?")
_PERIODS = {"h": "h", "hr": "h", "hour": "h", "d": "day", "day": "day"}
_PERCENT = re.compile(rf"({_NUMBER})\s*%")
_COUNT = re.compile(rf"({_NUMBER})\s*([A-Za-z]?)")
_COUNT_UNITS = {"": 1, "k": 10**3, "M": 10**6, "B": 10**9, "G": 10**9, "T": 10**12}
_SIZE = re.compile(rf"({_NUMBER})\s*([A-Za-z]+)")
_SIZE_UNITS_GB = {
    "MB": Decimal("1e-3"), "GB": Decimal(1), "TB": Decimal("1e3"),
    "MiB": Decimal(2**20) / 10**9, "GiB": Decimal(2**30) / 10**9, "TiB": Decimal(2**40) / 10**9,
}  # fmt: skip
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")


class QuantityError(ValueError):
    """A value that is not the quantity wanted, with the nearest one that would be."""

    def __init__(self, message: str, suggestion: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.suggestion = suggestion


def duration_s(value: object) -> float:
    """Seconds of `800ms`, `90s`, `10m`, `24h`, `7d` or `1h30m`; more than none, at most 10 years."""
    if _is_number(value):
        raise QuantityError(f"needs a unit (ms, s, m, h or d), not the bare number {value}")
    parts = list(_DURATION_PART.finditer(_text(value, "a duration such as 10m")))
    if not parts or "".join(part[0] for part in parts) != str(value).strip():
        raise QuantityError(f"must be a duration such as 90s, 10m or 24h, not {shown(value)}")
    total = sum((Decimal(part[1]) * _duration_unit_s(part[1], part[2]) for part in parts), Decimal(0))
    if total <= 0:
        raise QuantityError("must be longer than nothing")
    if total > 10 * 366 * 86400:
        raise QuantityError("must not be longer than 10 years")
    return float(total)


def _duration_unit_s(number: str, unit: str) -> Decimal:
    if unit in _DURATION_UNITS_S:
        return Decimal(_DURATION_UNITS_S[unit])
    low = unit.lower()
    meant = low if low in _DURATION_UNITS_S else _DURATION_WORDS.get(low)
    raise QuantityError(f"unknown unit {unit}; use ms, s, m, h or d", f"{number}{meant}" if meant else None)


def usd_per(value: object, period: str) -> Decimal:
    """USD per `period` ("h" or "day") of `$3.20/h` or `$20/day`; above zero."""
    form = f"${'3.20' if period == 'h' else '20'}/{period}"
    if _is_number(value):
        raise QuantityError(f"needs a unit, as in {form}", f"${value}/{period}")
    text = _text(value, f"money such as {form}").strip()
    match = _MONEY.fullmatch(text)
    if match is None:
        bare = _BARE_MONEY.fullmatch(text)
        raise QuantityError(
            f"must be USD per {period} such as {form}, not {shown(value)}", f"${bare[1]}/{period}" if bare else None
        )
    if _PERIODS.get(match[2].lower()) != period:
        raise QuantityError(f"must be per {period}, as in {form}, not per {match[2]}")
    amount = Decimal(match[1])
    if amount <= 0:
        raise QuantityError("must be more than $0")
    if amount > MOST_USD:
        raise QuantityError(f"must not be more than ${MOST_USD:,}")
    return amount


def percent_fraction(value: object) -> float:
    """A fraction above 0, at most 1, of `2%`."""
    if _is_number(value):
        raise QuantityError(f"needs a percent sign, as in 2%, not the bare number {value}")
    match = _PERCENT.fullmatch(_text(value, "a percentage such as 2%").strip())
    if match is None:
        raise QuantityError(f"must be a percentage such as 2%, not {shown(value)}")
    return _within_one(float(match[1]) / 100, str(value))


def fraction(value: object) -> float:
    """A fraction above 0, at most 1, of `0.9` or `90%`."""
    if isinstance(value, int | float) and _is_number(value):
        return _within_one(float(value), str(value))
    return percent_fraction(value)


def _within_one(part: float, given: str) -> float:
    if not 0 < part <= 1:
        raise QuantityError(f"must be above 0 and at most 1 (100%), not {given}")
    return part


def size_gb(value: object) -> float:
    """GB (1e9 bytes) of `500MB`, `80GiB` or `1.5TB`; more than none."""
    if _is_number(value):
        raise QuantityError(f"needs a unit (MB, GB, TB, MiB, GiB or TiB), not the bare number {value}")
    text = _text(value, "a size such as 80GiB").strip()
    match = _SIZE.fullmatch(text)
    if match is None:
        raise QuantityError(f"must be a size such as 500MB, 80GiB or 1.5TB, not {shown(value)}")
    if match[2] not in _SIZE_UNITS_GB:
        meant = {unit.lower(): unit for unit in _SIZE_UNITS_GB}.get(match[2].lower(), nearest(match[2], _SIZE_UNITS_GB))
        raise QuantityError(
            f"unknown unit {match[2]}; use MB, GB, TB, MiB, GiB or TiB", f"{match[1]}{meant}" if meant else None
        )
    return _positive(float(Decimal(match[1]) * _SIZE_UNITS_GB[match[2]]), text)


def count(value: object) -> float:
    """A number above zero of `40M`, `5k`, `1.5B`, `8.03e9` or a plain number (k = 1,000, M, B or G, T)."""
    if isinstance(value, int | float) and _is_number(value):
        return _positive(float(min(value, 10**300)), str(value))
    text = _text(value, "a number such as 40M or 5000").strip()
    match = _COUNT.fullmatch(text)
    if match is None:
        raise QuantityError(f"must be a number such as 40M, 5k or 8.03e9, not {shown(value)}")
    if match[2] not in _COUNT_UNITS:
        meant = {"K": "k", "m": "M", "b": "B", "g": "G", "t": "T"}.get(match[2])
        raise QuantityError(f"unknown multiple {match[2]}; use k, M, B or T", f"{match[1]}{meant}" if meant else None)
    return _positive(float(Decimal(match[1]) * _COUNT_UNITS[match[2]]), text)


def whole_count(value: object) -> float:
    """As `count`, without a fraction of one."""
    number = count(value)
    if not number.is_integer():
        raise QuantityError(f"must be a whole number, not {value}")
    return number


def _positive(number: float, given: str) -> float:
    if not math.isfinite(number) or number > 1e18:
        raise QuantityError(f"must be a finite number up to 1e18, not {given[:40]}")
    if number <= 0:
        raise QuantityError(f"must be more than 0, not {given[:40]}")
    return number


def clock(value: object) -> str:
    """A time of day "HH:MM" of `06:00` or `6:00`, 24 hours."""
    match = _CLOCK.fullmatch(_text(value, "a time of day such as 06:00").strip())
    if match is None:
        raise QuantityError(f"must be a time of day between 00:00 and 23:59, not {shown(value)}")
    return f"{int(match[1]):02}:{match[2]}"


def word(value: object, known: tuple[str, ...], refused: dict[str, str]) -> str:
    """One of the known words; `refused` says for some others why they are not among them."""
    if isinstance(value, str) and value in known:
        return value
    if isinstance(value, str) and value in refused:
        raise QuantityError(refused[value])
    near = nearest(value, known) if isinstance(value, str) else None
    raise QuantityError(f"must be {alternatives(known)}, not {shown(value)}", near)


def alternatives(words: tuple[str, ...]) -> str:
    """The words as prose: "a, b or c"."""
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def shown(value: object) -> str:
    """A YAML value as a message quotes it: short, and lists and mappings by their kind only."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return f'"{value[:60]}"'
    return str(value)[:60]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: object, wanted: str) -> str:
    if not isinstance(value, str):
        raise QuantityError(f"must be {wanted}, not {shown(value)}")
    return value
