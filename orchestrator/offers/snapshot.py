"""The price snapshot shipped in this package."""

from dataclasses import replace
from functools import cache
from importlib import resources

from orchestrator.model.offer import PriceBook
from orchestrator.offers.book import build_book
from orchestrator.offers.serverless import load_serverless
from orchestrator.offers.snapshot_csv import quotes_of

SNAPSHOT = "prices.csv"


@cache
def load_snapshot() -> PriceBook:
    """The shipped price book: EC2, Linux, shared tenancy, USD per hour, us-east-1, us-west-2 and eu-west-1;
    and serverless endpoints."""
    text = resources.files("orchestrator.offers").joinpath(SNAPSHOT).read_text(encoding="utf-8")
    return replace(build_book(quotes_of(text, SNAPSHOT)), serverless=load_serverless())
