"""Money on the screen."""


def dollars(amount: float | str) -> str:
    """ "$1,234.50"; below a dollar with four decimals, as runs of minutes cost cents."""
    value = float(amount)
    return f"${value:,.2f}" if abs(value) >= 1 else f"${value:.4f}"
