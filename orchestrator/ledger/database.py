"""Opening the ledger's database: SQLite in WAL mode, at the newest schema, safely shared by several processes."""

import fcntl
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from decimal import InvalidOperation
from json import JSONDecodeError
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError

from orchestrator.ledger.read_only import VERSION_TABLE, connect_read_only, tables_of
from orchestrator.model.error import OperationError

LEDGER_FILE = "ledger.db"
"""Its name in a cluster's state directory."""

BUSY_TIMEOUT_S = 10.0
"""How long a writer waits for another process' transaction; ours last milliseconds."""

MIGRATIONS = Path(__file__).parent / "migrations"


class Database:
    """A ledger file. `read` and `write` give a connection inside one transaction."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._engine = _engine(path)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A consistent snapshot; never waits for a writer."""
        with _named_errors(self.path), self._engine.connect() as connection:
            connection.execution_options(reads_only=True)
            with connection.begin():
                yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """The one writer of the moment, among all processes."""
        with _named_errors(self.path), self._engine.connect() as connection, connection.begin():
            yield connection

    def close(self) -> None:
        """Let go of the file."""
        self._engine.dispose()


def open_database(path: Path) -> Database:
    """The ledger at `path`, created and migrated as needed; OperationError when it cannot be opened."""
    with _named_errors(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.with_name(f"{path.name}.lock").open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                _check_ours(path)
                _migrate(path)
        except OSError as error:
            raise OperationError(f"cannot write the ledger in {path.parent}: {error.strerror};", _FIX) from error
        return Database(path)


def _check_ours(path: Path) -> None:
    """OperationError for another program's database, before anything is written to it."""
    if not path.exists():
        return
    with closing(connect_read_only(path, BUSY_TIMEOUT_S)) as raw:
        tables = tables_of(raw)
    if tables and VERSION_TABLE not in tables:
        raise OperationError(f"{path} is not a ledger but another program's database;", _MOVE)


def _migrate(path: Path) -> None:
    engine = _engine(path)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    try:
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    finally:
        engine.dispose()


def _engine(path: Path) -> Engine:
    engine = create_engine(f"sqlite:///{path}", connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False})
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "begin", _on_begin)
    return engine


def _on_connect(raw: sqlite3.Connection, _record: Any) -> None:
    """Let SQLAlchemy alone begin transactions (the driver would not cover DDL), and choose WAL."""
    raw.isolation_level = None
    raw.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_S * 1000)}")
    raw.execute("PRAGMA journal_mode = WAL")
    raw.execute("PRAGMA synchronous = NORMAL")
    raw.execute("PRAGMA foreign_keys = ON")


def _on_begin(connection: Connection) -> None:
    """Writers take the lock at once: upgrading a read transaction later could fail with "database is locked"."""
    reads_only = connection.get_execution_options().get("reads_only", False)
    connection.exec_driver_sql("BEGIN" if reads_only else "BEGIN IMMEDIATE")


_FIX = "free disk space or choose another --state-dir"
_MOVE = "move it away or choose another --state-dir"
_RESTORE = "restore a copy of it, or move it away, by which its history is lost."


@contextmanager
def _named_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        named = _named(path, error.orig if isinstance(error, DBAPIError) else error)
        if named is None:
            raise
        raise named from error
    except CommandError as error:
        raise OperationError(
            f"the ledger {path} was made by a newer version or by another program ({error});",
            f"use that version, {_RESTORE}",
        ) from error
    except (JSONDecodeError, UnicodeDecodeError, InvalidOperation) as error:
        raise OperationError(
            f"the ledger {path} is damaged: it holds an unreadable value ({error});", _RESTORE
        ) from error


def _named(path: Path, cause: BaseException | None) -> OperationError | None:
    """What SQLite's error means for the ledger; None for one that only a fault of ours can cause."""
    code = getattr(cause, "sqlite_errorcode", 0) & PRIMARY_CODE
    if code == sqlite3.SQLITE_NOTADB:
        return OperationError(f"{path} is not a ledger, or its beginning is damaged;", _MOVE)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT) or _lacks_schema(cause):
        return OperationError(f"the ledger {path} is damaged: {cause};", _RESTORE)
    if isinstance(cause, sqlite3.OperationalError):
        return OperationError(f"the ledger {path} cannot be used: {cause};", _FIX)
    return None


PRIMARY_CODE = 0xFF
"""The bits of SQLite's extended error codes that say which error it is."""


def _lacks_schema(cause: BaseException | None) -> bool:
    text = str(cause)
    return isinstance(cause, sqlite3.OperationalError) and text.startswith(
        ("no such table", "no such column", "Could not decode", "table ")
    )
