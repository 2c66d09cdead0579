"""A quote: one price of one list, before it is judged."""

from dataclasses import dataclass
from decimal import Decimal

from orchestrator.model.offer import InstanceType, Market

ANY_ZONE = "*"
UNDATED = "unknown"
"""`as_of` of a price whose list states no date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownHardware:
    """Why an instance type cannot be described: a refusal's reason and detail."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A price in USD per hour as a list states it. `place` is "FILE:LINE", for messages; zone "*" = whole region.

    `usd_per_hour` of a spot pool may be a median; `p90_usd_per_hour` is then what it stayed below for 90% of the time.
    """

    instance_type: str
    hardware: InstanceType | UnknownHardware
    region: str
    zone: str
    market: Market
    usd_per_hour: Decimal
    source: str
    as_of: str
    place: str
    p90_usd_per_hour: Decimal | None = None

    @property
    def offer_name(self) -> str:
        """Name of the offer this quote becomes: "g6.xlarge:spot:us-east-1:use1-az1"."""
        return f"{self.instance_type}:{self.market.value}:{self.region}:{self.zone}"
