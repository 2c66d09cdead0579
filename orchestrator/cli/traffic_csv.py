"""A file of measured traffic: rows with a time and a rate."""

import csv
import math
from pathlib import Path

from orchestrator.advice import Traced, traced
from orchestrator.model.error import InputError
from orchestrator.model.instant import from_iso

SECONDS = {"t_s": 1.0, "second": 1.0, "minute": 60.0, "hour": 3600.0}
"""Columns that hold a time as a number, and the seconds of its unit."""

INSTANTS = ("time", "timestamp")
"""Columns that hold a time in ISO 8601."""


def read_traffic(path: str, column: str) -> Traced:
    """Rates of one column, in any unit. Malformed input is an `InputError` with file and line."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as lines:
            times_s, values = _rows(path, column, csv.DictReader(lines, strict=True))
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}).", "Give --traffic an existing CSV file."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text.", "Save the traffic as UTF-8 CSV.") from error
    if len(values) < 2:
        raise InputError(f"{path}:{len(values) + 1}: holds fewer than two rows.", "A pattern needs days of traffic.")
    return traced(path, column, times_s, values)


def _rows(path: str, column: str, rows: "csv.DictReader[str]") -> tuple[list[float], list[float]]:
    times_s: list[float] = []
    values: list[float] = []
    try:
        time_column = _time_column(path, column, list(rows.fieldnames or ()))
        for row in rows:
            where = f"{path}:{rows.line_num}"
            at = _time(where, time_column, row[time_column])
            if times_s and at < times_s[-1]:
                raise InputError(f"{where}: {time_column}: is earlier than the row before.", "Sort the rows by time.")
            times_s.append(at)
            values.append(_rate(where, column, row[column]))
    except csv.Error as error:
        raise InputError(f"{path}:{rows.line_num + 1}: not CSV ({error}).", "Check quotes and separators.") from error
    return times_s, values


def _time_column(path: str, column: str, names: list[str]) -> str:
    if column not in names:
        raise InputError(f"{path}:1: has no column {column!r}.", f"Its columns are: {', '.join(names) or 'none'}.")
    found = next((name for name in (*SECONDS, *INSTANTS) if name in names and name != column), None)
    if found is None:
        known = ", ".join((*SECONDS, *INSTANTS))
        raise InputError(f"{path}:1: has no column with the time.", f"Expected one of: {known}.")
    return found


def _time(where: str, column: str, text: str | None) -> float:
    if column in INSTANTS:
        try:
            return from_iso(text or "").timestamp()
        except (ValueError, OverflowError) as error:
            raise InputError(
                f"{where}: {column}: {text!r} is not an ISO 8601 time.", "Use, for example, 2026-11-30T02:00:00Z."
            ) from error
    return _number(where, column, text) * SECONDS[column]


def _rate(where: str, column: str, text: str | None) -> float:
    value = _number(where, column, text)
    if value < 0:
        raise InputError(f"{where}: {column}: {text!r} is negative.", "A rate is 0 or more.")
    return value


def _number(where: str, column: str, text: str | None) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{where}: {column}: {text!r} is not a number.", "Every row needs a time and a rate.")
    return value
