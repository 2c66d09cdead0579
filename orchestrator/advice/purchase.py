"""What owning an accelerator costs: assumed purchase prices, to be replaced by a quote."""

from dataclasses import dataclass
from decimal import Decimal

from orchestrator.estimate.money import HOURS_PER_MONTH

YEARS = 2.0
"""Over which a purchase is written off (practitioner reports, 2024-2026: owning is judged over two years)."""

HOST_SHARE = 0.5
"""Chassis, CPUs, memory and network on top of each accelerator's price. Assumption."""

OVERHEAD_WATTS = 1.5
"""Host and cooling: facility watts for one watt of accelerator. Assumption (host 1.2 x cooling 1.25)."""

HOSTING_USD_PER_KW_MONTH = 180.0
"""Colocation, power included. Assumption: retail colocation in the United States is quoted at about 150 to 220."""

AS_OF = "2026-11-30"
STREET = f"assumed street price, order of magnitude, {AS_OF}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """One accelerator: price in USD, board power in watts."""

    accelerator: str
    price_usd: Decimal
    watts: float
    source: str

    @property
    def invested_usd(self) -> float:
        """Price with its share of the host."""
        return float(self.price_usd) * (1.0 + HOST_SHARE)

    @property
    def hosting_usd_per_month(self) -> float:
        """Power and place: kW x overhead x USD per kW and month."""
        return self.watts / 1000.0 * OVERHEAD_WATTS * HOSTING_USD_PER_KW_MONTH

    @property
    def usd_per_hour(self) -> float:
        """Of every hour of `YEARS`, used or not: (price with host / months + hosting) / 730."""
        return (self.invested_usd / (YEARS * 12.0) + self.hosting_usd_per_month) / HOURS_PER_MONTH


PURCHASES = (
    Purchase(accelerator="T4", price_usd=Decimal(900), watts=70.0, source=STREET),
    Purchase(accelerator="L4", price_usd=Decimal(2_500), watts=72.0, source=STREET),
    Purchase(accelerator="A10G", price_usd=Decimal(3_000), watts=150.0, source=f"{STREET}, of an A10: A10G is AWS's"),
    Purchase(accelerator="L40S", price_usd=Decimal(8_000), watts=350.0, source=STREET),
    Purchase(accelerator="A100-80GB", price_usd=Decimal(12_000), watts=400.0, source=f"{STREET}, used"),
    Purchase(accelerator="H100", price_usd=Decimal(28_000), watts=700.0, source=STREET),
)


def purchase_of(accelerator: str) -> Purchase | None:
    """The row of an accelerator, or None."""
    return next((row for row in PURCHASES if row.accelerator == accelerator), None)


def break_even_share(own: Purchase, rent_usd_per_hour: float) -> float:
    """Share of all hours from which owning is cheaper than renting: own USD/h / rented USD/h; above 1 = never."""
    return own.usd_per_hour / rent_usd_per_hour
