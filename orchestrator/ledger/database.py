"""Opening the ledger's database: SQLite in WAL mode, at the newest schema, safely shared by several processes."""

import fcntl
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, OperationalError

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
            with path.with_suffix(".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                _migrate(path)
        except OSError as error:
            raise OperationError(f"cannot write the ledger in {path.parent}: {error.strerror};", _FIX) from error
        return Database(path)


def _migrate(path: Path) -> None:
    engine = _engine(path)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
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


@contextmanager
def _named_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OperationalError as error:
        raise OperationError(f"the ledger {path} cannot be used: {error.orig};", _FIX) from error
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.DatabaseError) and "not a database" in str(error.orig):
            raise OperationError(f"{path} is not a ledger;", "move it away or choose another --state-dir") from error
        raise
