"""The price book: what `offers refresh` read from AWS, the snapshot shipped here, or a CSV the user brings.

Every row is kept or refused with a reason.
"""

from orchestrator.offers.current import PriceList, current_list, current_prices
from orchestrator.offers.price_csv import read_price_csv
from orchestrator.offers.snapshot import load_snapshot

__all__ = ["PriceList", "current_list", "current_prices", "load_snapshot", "read_price_csv"]
