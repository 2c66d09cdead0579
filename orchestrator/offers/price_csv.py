"""A price list that the user brings: one row per instance type and zone, with on-demand and spot price side by side."""

import csv
import io
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path

from orchestrator.model.error import InputError
from orchestrator.model.offer import Market, PriceBook
from orchestrator.offers.book import build_book
from orchestrator.offers.hardware import Described, look_up
from orchestrator.offers.quote import ANY_ZONE, UNDATED, Quote
from orchestrator.offers.snapshot_csv import REQUIRED as SNAPSHOT_COLUMNS
from orchestrator.offers.snapshot_csv import quotes_of
from orchestrator.offers.zones import is_local_zone

REQUIRED = (
    "InstanceType",
    "AcceleratorName",
    "AcceleratorCount",
    "vCPUs",
    "MemoryGiB",
    "Price",
    "SpotPrice",
    "Region",
    "AvailabilityZone",
)
OPTIONAL = ("GpuMemMiBEach", "Source")

SNAPSHOT_BEGINS = f"{SNAPSHOT_COLUMNS[0]},"

MOST = 10**9
"""No count, size or price of an instance is larger."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def read_price_csv(path: str | Path) -> PriceBook:
    """Read a CSV with the columns of `REQUIRED` (and `OPTIONAL`); prices in USD per hour.

    A file that `offers refresh` wrote is read too. A blank price means "not offered". Malformed input is an
    `InputError` that names file, line and field; implausible but well-formed rows become refusals of the book. A
    price's date is the one in its `Source`, else "unknown".
    """
    path = Path(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            text = lines.read()
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}).", "Give --offers an existing CSV file."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text.", "Save the price list as UTF-8 CSV.") from error
    if text.startswith(SNAPSHOT_BEGINS):
        quotes = list(quotes_of(text, str(path)))
    else:
        quotes = list(_quotes(path, csv.DictReader(io.StringIO(text, newline=""), strict=True)))
    if not quotes:
        raise InputError(f"{path}: holds no price.", f"Expected rows under the columns {', '.join(REQUIRED)}.")
    return build_book(quotes)


def _quotes(path: Path, rows: "csv.DictReader[str]") -> Iterator[Quote]:
    try:
        missing = [column for column in REQUIRED if column not in (rows.fieldnames or ())]
        if missing:
            raise InputError(f"{path}:1: missing column {', '.join(missing)}.", f"Expected {', '.join(REQUIRED)}.")
        for row in rows:
            yield from _Row(path, rows.line_num, row).quotes()
    except csv.Error as error:
        raise InputError(f"{path}:{rows.line_num}: not CSV ({error}).", "Check quotes and separators.") from error


class _Row:
    """One line of the list, with conversions that name file, line and field when they fail."""

    def __init__(self, path: Path, line: int, cells: dict[str, str]) -> None:
        self.place = f"{path.name}:{line}"
        self._where = f"{path}:{line}"
        self._cells = cells
        if None in cells or any(value is None for value in cells.values()):
            raise InputError(f"{self._where}: has another number of fields than the header.", "Check its commas.")

    def quotes(self) -> Iterator[Quote]:
        described = Described(
            instance_type=self._text("InstanceType"),
            accelerator=self._cells["AcceleratorName"].strip() or None,
            accelerators=self._number("AcceleratorCount"),
            vcpus=self._whole("vCPUs"),
            memory_gib=self._number("MemoryGiB"),
            accelerator_memory_mib=self._number("GpuMemMiBEach"),
        )
        region = self._text("Region")
        zone = self._cells["AvailabilityZone"].strip() or ANY_ZONE
        source = self._cells.get("Source", "").strip() or f"price list {self.place}"
        date = _DATE.search(source)
        for column, market in (("Price", Market.ON_DEMAND), ("SpotPrice", Market.SPOT)):
            price = self._price(column)
            if price is None:
                continue
            # On-demand costs the same in every zone of a region, but a local zone is a place of its own.
            everywhere = market is Market.ON_DEMAND and not is_local_zone(zone)
            yield Quote(
                instance_type=described.instance_type,
                hardware=look_up(described),
                region=region,
                zone=ANY_ZONE if everywhere else zone,
                market=market,
                usd_per_hour=price,
                source=source,
                as_of=date.group() if date else UNDATED,
                place=self.place,
            )

    def _text(self, column: str) -> str:
        value = self._cells[column].strip()
        if not value:
            raise InputError(f"{self._where}: {column}: is blank.", "Every row needs an instance type and a region.")
        return value

    def _price(self, column: str) -> Decimal | None:
        text = self._cells[column].strip()
        if not text:
            return None
        try:
            price = Decimal(text)
        except InvalidOperation:
            price = Decimal("NaN")
        if not price.is_finite() or not 0 <= price <= MOST:
            raise InputError(
                f"{self._where}: {column}: {text!r} is not a price.", "Use USD per hour, like 0.526, or blank."
            )
        return price

    def _number(self, column: str) -> float | None:
        text = (self._cells.get(column) or "").strip()
        if not text:
            return None
        try:
            value = Decimal(text)
        except InvalidOperation:
            value = Decimal("NaN")
        if not value.is_finite() or not 0 <= value <= MOST:
            raise InputError(
                f"{self._where}: {column}: {text!r} is not a number.", f"Use a number from 0 to {MOST:,}, or blank."
            )
        return float(value)

    def _whole(self, column: str) -> int | None:
        value = self._number(column)
        if value is not None and value != int(value):
            raise InputError(f"{self._where}: {column}: {value:g} is not a whole number.", "")
        return None if value is None else int(value)
