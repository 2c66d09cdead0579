"""Looking into a file that may be a ledger, without changing it or anything beside it."""

import sqlite3
from pathlib import Path
from urllib.parse import quote

VERSION_TABLE = "alembic_version"
"""Every ledger has it; what is in it says which schema the file has."""


def connect_read_only(path: Path, timeout_s: float) -> sqlite3.Connection:
    """A connection that can only read; sqlite3.Error when the file cannot be opened, also when it is not there.

    A ledger that nobody has open has no write-ahead log. It counts as immutable then: SQLite would otherwise make that
    log, and leave it behind.
    """
    unused = not path.with_name(f"{path.name}-wal").exists()
    uri = f"file:{quote(str(path.absolute()))}?mode=ro{'&immutable=1' if unused else ''}"
    return sqlite3.connect(uri, uri=True, timeout=timeout_s, check_same_thread=False)


def tables_of(raw: sqlite3.Connection) -> frozenset[str]:
    """Names of the tables; sqlite3.DatabaseError when it is no database."""
    return frozenset(name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))


def columns_of(raw: sqlite3.Connection, table: str) -> frozenset[str]:
    """Names of a table's columns."""
    return frozenset(name for (name,) in raw.execute("SELECT name FROM pragma_table_info(?)", (table,)))
