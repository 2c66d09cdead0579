"""A new price list from AWS: all regions completely, or an error."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchestrator.model.error import OperationError
from orchestrator.model.offer import PriceBook, RefusedOffer
from orchestrator.offers.aws.client import Connect
from orchestrator.offers.aws.region import RegionRows, Window, read_region, region_rows
from orchestrator.offers.book import build_book
from orchestrator.offers.snapshot_csv import quotes_of, text_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """A list as text, ready to be written, and what it holds: `book` is read from that very text.

    `refused` are the book's refusals and those of prices that are no rows of the text.
    """

    text: str
    book: PriceBook
    refused: tuple[RefusedOffer, ...]


def refreshed(
    connect: Connect,
    regions: Sequence[str],
    families: Sequence[str],
    window: Window,
    *,
    file: str,
    tell: Callable[[str], None],
) -> Refreshed:
    """Read all regions; OperationError when one fails. `file` is what places of rows are called; writes nothing."""
    parts: list[RegionRows] = []
    for region in regions:
        tell(f"reading {region} …")
        parts.append(region_rows(read_region(connect, region, families, window), families, window))
    text = text_of(row for part in parts for row in part.rows)
    book = build_book(quotes_of(text, file))
    if not book.offers:
        raise OperationError("not one of AWS's prices can be used. Nothing was written.", _reasons(book.refused))
    refused = (*book.refused, *(row for part in parts for row in part.refused))
    return Refreshed(text=text, book=book, refused=tuple(sorted(refused, key=lambda row: (row.name, row.detail))))


def _reasons(refused: Sequence[RefusedOffer]) -> str:
    return f"Reasons: {', '.join(sorted({row.reason for row in refused})) or 'there was none'}."
