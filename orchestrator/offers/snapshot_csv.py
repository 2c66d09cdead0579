"""The format of price snapshots: one row per instance type, place and market; as text, as rows, as quotes."""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path

from orchestrator.model.error import InputError
from orchestrator.model.offer import Market
from orchestrator.offers.hardware import Described, look_up
from orchestrator.offers.quote import UNDATED, Quote

REQUIRED = ("instance_type", "region", "zone", "market", "usd_per_hour", "source", "as_of")
OPTIONAL = (
    "p90_usd_per_hour",
    "accelerator",
    "accelerators",
    "accelerator_memory_mib",
    "vcpus",
    "memory_gib",
    "network_gbit_per_s",
    "efa",
)
"""Absent or blank = not known. What a machine is stands in a row so that a size which the hardware table lacks is still
known when the list is read again."""

PRICE = "a price in USD per hour"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRow:
    """One price in USD per hour; zone "*" = the whole region; `as_of` is an ISO date or "unknown"."""

    described: Described
    region: str
    zone: str
    market: Market
    usd_per_hour: Decimal
    source: str
    as_of: str
    p90_usd_per_hour: Decimal | None = None


def text_of(rows: Iterable[SnapshotRow]) -> str:
    """The CSV text of rows in a stable order, with all columns."""
    written = io.StringIO()
    table = csv.DictWriter(written, fieldnames=REQUIRED + OPTIONAL, lineterminator="\n")
    table.writeheader()
    table.writerows(sorted((_cells(row) for row in rows), key=lambda cells: tuple(cells.values())))
    return written.getvalue()


def quotes_of(text: str, file: str) -> Iterator[Quote]:
    """The quotes of a snapshot's text; InputError with FILE:LINE and column where it is malformed."""
    lines = csv.DictReader(io.StringIO(text), strict=True)
    try:
        missing = [column for column in REQUIRED if column not in (lines.fieldnames or ())]
        if missing:
            raise InputError(
                f"{file}:1: is not a price snapshot: it has no column {', '.join(missing)}.",
                "Write it anew with `orchestrator offers refresh`, or remove it.",
            )
        for cells in lines:
            row = _row(f"{file}:{lines.line_num}", cells)
            yield quote_of(row, f"{Path(file).name}:{lines.line_num}")
    except csv.Error as error:
        raise InputError(f"{file}:{lines.reader.line_num}: is not CSV ({error}).", "Write the list anew.") from error


def quote_of(row: SnapshotRow, place: str) -> Quote:
    """The quote that a row of the list is, before it is judged."""
    return Quote(
        instance_type=row.described.instance_type,
        hardware=look_up(row.described),
        region=row.region,
        zone=row.zone,
        market=row.market,
        usd_per_hour=row.usd_per_hour,
        source=row.source,
        as_of=row.as_of,
        place=place,
        p90_usd_per_hour=row.p90_usd_per_hour,
    )


def _cells(row: SnapshotRow) -> dict[str, str]:
    described = row.described
    return {
        "instance_type": described.instance_type,
        "region": row.region,
        "zone": row.zone,
        "market": row.market.value,
        "usd_per_hour": _plain(row.usd_per_hour),
        "source": row.source,
        "as_of": row.as_of,
        "p90_usd_per_hour": "" if row.p90_usd_per_hour is None else _plain(row.p90_usd_per_hour),
        "accelerator": described.accelerator or "",
        "accelerators": _number_text(described.accelerators),
        "accelerator_memory_mib": _number_text(described.accelerator_memory_mib),
        "vcpus": _number_text(described.vcpus),
        "memory_gib": _number_text(described.memory_gib),
        "network_gbit_per_s": _number_text(described.network_gbit_per_s),
        "efa": "yes" if described.efa else "",
    }


def _plain(price: Decimal) -> str:
    """Without an exponent and without the zeros that AWS appends: 0.5260000000 is "0.526"."""
    text = format(price, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _number_text(value: float | None) -> str:
    return "" if value is None else format(Decimal(repr(value)).normalize(), "f")


def _row(place: str, cells: dict[str, str]) -> SnapshotRow:
    if None in cells or any(value is None for value in cells.values()):
        raise InputError(f"{place}: has another number of fields than the header.", "Write the list anew.")
    vcpus = _number(place, cells, "vcpus")
    price = _price(place, cells, "usd_per_hour")
    if price is None:
        raise _fault(place, cells, "usd_per_hour", PRICE)
    return SnapshotRow(
        described=Described(
            instance_type=_word(place, cells, "instance_type"),
            accelerator=cells.get("accelerator", "").strip() or None,
            accelerators=_number(place, cells, "accelerators"),
            vcpus=None if vcpus is None else int(vcpus),
            memory_gib=_number(place, cells, "memory_gib"),
            accelerator_memory_mib=_number(place, cells, "accelerator_memory_mib"),
            network_gbit_per_s=_number(place, cells, "network_gbit_per_s"),
            efa=cells.get("efa", "").strip() == "yes",
        ),
        region=_word(place, cells, "region"),
        zone=_word(place, cells, "zone"),
        market=_market(place, cells),
        usd_per_hour=price,
        source=_word(place, cells, "source"),
        as_of=_date(place, cells),
        p90_usd_per_hour=_price(place, cells, "p90_usd_per_hour"),
    )


def _word(place: str, cells: dict[str, str], column: str) -> str:
    value = cells[column].strip()
    if not value:
        raise _fault(place, cells, column, "a value")
    return value


def _market(place: str, cells: dict[str, str]) -> Market:
    try:
        return Market(cells["market"].strip())
    except ValueError as error:
        raise _fault(place, cells, "market", f"one of {', '.join(Market)}") from error


def _date(place: str, cells: dict[str, str]) -> str:
    value = _word(place, cells, "as_of")
    try:
        return value if value == UNDATED else date.fromisoformat(value).isoformat()
    except ValueError as error:
        raise _fault(place, cells, "as_of", "an ISO date") from error


def _price(place: str, cells: dict[str, str], column: str) -> Decimal | None:
    return _decimal(place, cells, column, PRICE)


def _number(place: str, cells: dict[str, str], column: str) -> float | None:
    value = _decimal(place, cells, column, "a number of 0 or more")
    return None if value is None else float(value)


def _decimal(place: str, cells: dict[str, str], column: str, wanted: str) -> Decimal | None:
    text = (cells.get(column) or "").strip()
    if not text:
        return None
    try:
        value = Decimal(text)
    except InvalidOperation as error:
        raise _fault(place, cells, column, wanted) from error
    if not value.is_finite() or value < 0:
        raise _fault(place, cells, column, wanted)
    return value


def _fault(place: str, cells: dict[str, str], column: str, wanted: str) -> InputError:
    return InputError(
        f"{place}: {column}: {cells.get(column)!r} is not {wanted}.", "Correct it or write the list anew."
    )
