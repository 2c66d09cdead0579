"""Column types: exact money and JSON that reads back as it was written."""

from decimal import Decimal
from typing import Any

from sqlalchemy import Dialect, String
from sqlalchemy.types import TypeDecorator


class DecimalText(TypeDecorator[Decimal]):
    """Exact decimal kept as text: SQLite's own numbers are binary floats, and money must not drift."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> str | None:
        """Decimal to text."""
        return None if value is None else str(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Decimal | None:
        """Text to Decimal."""
        return None if value is None else Decimal(value)
