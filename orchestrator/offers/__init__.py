"""The price book: a dated snapshot shipped here, or a CSV the user brings; every row kept or refused with a reason."""

from orchestrator.offers.price_csv import read_price_csv
from orchestrator.offers.snapshot import load_snapshot

__all__ = ["load_snapshot", "read_price_csv"]
