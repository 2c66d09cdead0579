"""Figures in sentences."""

from decimal import Decimal


def usd(amount: Decimal | float) -> str:
    """ "1,234.50"; below ten cents with four decimals, as runs of minutes cost cents."""
    value = float(amount)
    return f"{value:,.2f}" if abs(value) >= 0.1 or not value else f"{value:,.4f}"


def number(value: float) -> str:
    """At most four significant digits and six decimals, thousands with commas: "0.1345", "12.5", "1,234,568"."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if 0 < abs(value) < 1e-3:
        return f"{value:.6f}".rstrip("0").rstrip(".")
    return f"{float(f'{value:.4g}'):g}"


def params(count: float) -> str:
    """ "135M" or "8.03B" parameters."""
    return f"{count / 1e9:.3g}B" if count >= 1e9 else f"{count / 1e6:.3g}M"


def more(share: float) -> str:
    """ "12% more", or "3.5 times as much" from twice as much on."""
    return f"{percent(share)} more" if share < 1.0 else f"{number(1.0 + share)} times as much"


def percent(share: float) -> str:
    """ "12%", "0.4%" below one percent."""
    return f"{share:.0%}" if abs(share) >= 0.01 or not share else f"{share:.1%}"
