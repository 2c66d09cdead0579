"""The file itself: schema, migrations, several processes."""

import multiprocessing
import sqlite3
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, text

from orchestrator.ledger import events
from orchestrator.ledger.database import MIGRATIONS, Database, open_database
from orchestrator.ledger.tables import metadata
from orchestrator.model.error import OperationError
from orchestrator.model.event import Event


def test_migrations_make_exactly_the_tables_of_the_code(database: Database) -> None:
    with create_engine(f"sqlite:///{database.path}").connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        assert set(metadata.tables) <= {
            name for (name,) in connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'"))
        }


def test_opening_again_keeps_what_was_written(database: Database) -> None:
    with database.write() as connection:
        events.append(connection, Event(at="t", kind="k", message="kept"))
    with open_database(database.path).read() as connection:
        assert [event.message for _, event in events.after(connection)] == ["kept"]


def test_a_failed_block_leaves_nothing_behind(database: Database) -> None:
    with pytest.raises(ValueError, match="boom"), database.write() as connection:
        events.append(connection, Event(at="t", kind="k", message="lost"))
        raise ValueError("boom")
    with database.read() as connection:
        assert events.after(connection) == ()


def test_the_file_is_in_wal_mode_so_readers_never_wait(database: Database) -> None:
    with database.write() as writing:
        events.append(writing, Event(at="t", kind="k", message="not yet seen"))
        with database.read() as reading:
            assert events.after(reading) == ()
    raw = sqlite3.connect(database.path)
    assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    raw.close()


def write_many(path: Path, name: str, count: int, start: "multiprocessing.synchronize.Barrier") -> None:  # type: ignore[name-defined]
    start.wait()
    database = open_database(path)
    for number in range(count):
        with database.write() as connection:
            events.append(connection, Event(at="t", kind=name, message=str(number)))


def test_processes_that_open_and_write_at_once_lose_nothing(tmp_path: Path) -> None:
    """All start together on a file that does not exist yet: one migrates, the others wait for it."""
    path, count, names = tmp_path / "new" / "ledger.db", 25, ("a", "b")
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(len(names))
    workers = [context.Process(target=write_many, args=(path, name, count, barrier)) for name in names]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(90)
    assert [worker.exitcode for worker in workers] == [0, 0]
    with open_database(path).read() as connection:
        found = events.after(connection, limit=1000)
    assert [number for number, _ in found] == list(range(1, count * len(names) + 1))
    for name in names:
        assert [event.message for _, event in found if event.kind == name] == [str(n) for n in range(count)]


def test_a_file_that_is_no_ledger_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_text("this is not a database at all, but long enough to be taken for one " * 20)
    with pytest.raises(OperationError, match="is not a ledger"):
        open_database(path)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OperationError, match="cannot write the ledger"):
        open_database(tmp_path / "file" / "ledger.db")


def test_the_schema_can_be_taken_back(database: Database) -> None:
    """Every migration has its way back, to the last table."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with create_engine(f"sqlite:///{database.path}").begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
        left = {name for (name,) in connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'"))}
        assert left & set(metadata.tables) == set()
        command.upgrade(config, "head")
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
