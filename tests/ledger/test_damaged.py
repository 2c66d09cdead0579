"""Files that are no ledger, no longer one, or not yet one: named in a line, and left as they are."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.estimate.calibration import Experience
from orchestrator.ledger import events, nodes
from orchestrator.ledger.database import Database, open_database
from orchestrator.ledger.experience import as_event, read_experience
from orchestrator.model.error import InputError, OperationError
from orchestrator.model.event import Event
from orchestrator.model.node import NodeInterval

LEARNT = Experience(family="llama", accelerator="L4", task="train", speed_ratio=1.25)


@pytest.fixture
def ledger(database: Database, interval: Callable[..., NodeInterval]) -> Path:
    """A ledger with some pages in it, that nobody has open."""
    with database.write() as connection:
        nodes.record_intervals(connection, [interval(n, n + 1, node=f"n{n}") for n in range(200)])
        for number in range(200):
            events.append(connection, Event(at="t", kind="k", message="x" * 500, data=(("n", number),)))
        events.append(connection, as_event(LEARNT, at="t", job="j", run_id="r"))
    database.close()
    assert list(database.path.parent.glob("*-wal")) == []
    return database.path


def read_all(path: Path) -> None:
    with open_database(path).read() as connection:
        events.after(connection)
        nodes.all_intervals(connection)


def garble(path: Path, start: int, bytes_: int) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\xa5" * bytes_)


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096)


def run_sql(path: Path, *statements: str) -> None:
    raw = sqlite3.connect(path)
    for statement in statements:
        raw.execute(statement)
    raw.commit()
    raw.close()


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "truncated": (truncate, "is damaged"),
    "garbled": (lambda path: garble(path, 4096, path.stat().st_size - 4096), "is damaged"),
    "garbled-schema": (lambda path: garble(path, 200, 3896), "is damaged"),
    "garbled-beginning": (lambda path: garble(path, 0, 100), "is not a ledger, or its beginning is damaged"),
    "newer": (lambda path: run_sql(path, "UPDATE alembic_version SET version_num = '9999'"), "by a newer version"),
    "table-gone": (lambda path: run_sql(path, "DROP TABLE events"), "is damaged: no such table"),
    "bad-json": (lambda path: run_sql(path, "UPDATE events SET data = '{\"a'"), "it holds an unreadable value"),
    "bad-text": (lambda path: run_sql(path, "UPDATE events SET message = CAST(x'ff' AS TEXT)"), "is damaged"),
    "bad-amount": (lambda path: run_sql(path, "UPDATE node_intervals SET price_usd_per_hour = 'x'"), "unreadable"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_ledger_is_named_in_one_line(ledger: Path, damage: str) -> None:
    how, told = DAMAGES[damage]
    how(ledger)
    with pytest.raises(OperationError) as caught:
        read_all(ledger)
    text = str(caught.value)
    assert text.count("\n") == 0
    assert str(ledger) in text
    assert told in text
    assert "move it away" in text


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    run_sql(path, "CREATE TABLE songs (title)")
    before = path.read_bytes()
    with pytest.raises(OperationError, match="another program's database"):
        open_database(path)
    assert path.read_bytes() == before


def test_opening_leaves_neighbours_alone(tmp_path: Path) -> None:
    """The lock has a name of its own, and whatever bears that name keeps its content."""
    neighbour, namesake = tmp_path / "pyproject.lock", tmp_path / "pyproject.toml.lock"
    for file in (neighbour, namesake):
        file.write_text("pinned")
    open_database(tmp_path / "pyproject.toml").close()
    assert [file.read_text() for file in (neighbour, namesake)] == ["pinned", "pinned"]


def test_experience_is_read_without_a_trace(ledger: Path) -> None:
    (ledger.parent / "ledger.db.lock").unlink()
    before = ledger.read_bytes(), ledger.stat().st_mtime_ns
    assert read_experience(ledger) == (LEARNT,)
    assert (ledger.read_bytes(), ledger.stat().st_mtime_ns) == before
    assert [file.name for file in ledger.parent.iterdir()] == ["ledger.db"]


def test_experience_is_read_while_a_controller_writes(ledger: Path) -> None:
    database = open_database(ledger)
    with database.write() as connection:
        events.append(connection, as_event(LEARNT, at="t", job="j", run_id="r2"))
    with database.write() as connection:
        events.append(connection, as_event(LEARNT, at="t", job="j", run_id="not-yet"))
        assert read_experience(ledger) == (LEARNT, LEARNT)
    database.close()


def test_a_newer_ledger_still_teaches(ledger: Path) -> None:
    run_sql(ledger, "UPDATE alembic_version SET version_num = '9999'", "ALTER TABLE events ADD COLUMN more TEXT")
    assert read_experience(ledger) == (LEARNT,)


def test_unreasonable_experience_is_passed_over(ledger: Path) -> None:
    for value in ("NaN", "Infinity", "-1", "0", '"fast"'):
        run_sql(
            ledger,
            'UPDATE events SET data = \'{"family": "f", "accelerator": "a", "task": "t", '
            f"\"speed_ratio\": {value}}}' WHERE kind = 'measured'",
        )
        assert read_experience(ledger) == ()


NO_LEDGERS: dict[str, Callable[[Path], object]] = {
    "text": lambda path: path.write_text("models: {}\n" * 100),
    "short-text": lambda path: path.write_text("hello"),
    "empty": lambda path: path.write_bytes(b""),
    "folder": lambda path: path.mkdir(),
    "missing": lambda _path: None,
    "other-database": lambda path: run_sql(path, "CREATE TABLE songs (title)"),
    "other-events": lambda path: run_sql(path, "CREATE TABLE events (id, at)", "CREATE TABLE alembic_version (v)"),
}


@pytest.mark.parametrize("kind", NO_LEDGERS)
def test_what_is_no_ledger_teaches_nothing(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a b?#%.db"
    NO_LEDGERS[kind](path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError) as caught:
        read_experience(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("damage", ["truncated", "garbled", "garbled-beginning", "bad-json"])
def test_a_damaged_ledger_teaches_nothing(ledger: Path, damage: str) -> None:
    DAMAGES[damage][0](ledger)
    if damage == "bad-json":
        run_sql(ledger, "UPDATE events SET kind = 'measured'")
    with pytest.raises(InputError, match="cannot be read as a ledger"):
        read_experience(ledger)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_ledger_teaches_nothing(ledger: Path) -> None:
    copy = ledger.with_name("copy.db")
    shutil.copy(ledger, copy)
    copy.chmod(0)
    with pytest.raises(InputError, match="Permission denied"):
        read_experience(copy)
