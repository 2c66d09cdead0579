"""What is written comes back, and the rules that each table keeps."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal

import pytest

from orchestrator.ledger import actions, catalogs, events, nodes, pools, runs
from orchestrator.ledger.actions import ActionState
from orchestrator.ledger.catalogs import CatalogText
from orchestrator.ledger.database import Database
from orchestrator.model.event import Event
from orchestrator.model.instant import from_iso
from orchestrator.model.job import Kind, Schedule
from orchestrator.model.node import NodeInterval
from orchestrator.model.run import Attempt, AttemptState, Run, RunState

NOW = from_iso("2026-11-30T12:00Z")
TEXT = CatalogText(text="version: 1", file="c.yaml", base_dir="/somewhere")


@pytest.fixture
def run(database: Database) -> Run:
    """An open run with one attempt, in the ledger."""
    first = Attempt(
        run_id="r",
        number=1,
        submission_id="s1",
        state=AttemptState.RUNNING,
        planned_at="t0",
        selector=(("k", "v"), ("z", "w")),
        offer="g6",
    )
    found = Run(
        run_id="r", job="j", kind=Kind.BATCH, state=RunState.OPEN, created_at="t0", ended_at=None, scheduled_for="t",
        catalog_hash=TEXT.hash, entrypoint="x", runtime_env_json="{}", emulated=True, attempts=(first,),
    )  # fmt: skip
    with database.write() as connection:
        catalogs.store(connection, TEXT)
        runs.add(connection, found)
    return found


def test_runs_come_back_as_they_were(database: Database, run: Run) -> None:
    with database.read() as connection:
        assert runs.get(connection, "r") == run
        assert runs.of_job(connection, "j") == (run,)
        assert runs.of_state(connection, RunState.OPEN) == (run,)
        assert runs.of_submissions(connection, ["s1", "else"]) == (run,)
        assert runs.get(connection, "other") is None


def test_an_ended_attempt_or_run_does_not_end_twice(database: Database, run: Run) -> None:
    with database.write() as connection:
        runs.end_attempt(connection, "r", 1, AttemptState.SUCCEEDED, "done", "t1")
        runs.end_attempt(connection, "r", 1, AttemptState.DIED, "late news", "t2")
        runs.close(connection, "r", RunState.SUCCEEDED, "done", "t1")
        runs.close(connection, "r", RunState.FAILED, "late news", "t2")
        found = runs.get(connection, "r")
    assert found is not None
    assert (found.state, found.reason, found.ended_at) == (RunState.SUCCEEDED, "done", "t1")
    assert found.last is not None
    assert (found.last.state, found.last.reason, found.last.ended_at) == (AttemptState.SUCCEEDED, "done", "t1")


def test_intervals_keep_the_price_paid_and_get_their_end(
    database: Database, interval: Callable[..., NodeInterval]
) -> None:
    begun, ended = interval(0, None, price="0.123456789"), interval(0, 60, price="9.99")
    with database.write() as connection:
        assert nodes.record_intervals(connection, [begun]) == (begun,)
        assert nodes.record_intervals(connection, [begun]) == ()
        assert nodes.record_intervals(connection, [ended]) == (ended,)
        (found,) = nodes.all_intervals(connection)
    assert found == replace(ended, price_usd_per_hour=Decimal("0.123456789"))


def test_uses_last_while_they_are_seen(database: Database, second: Callable[[float], str]) -> None:
    one, other = ("j", "train", "r1", "n1"), ("j", "train", "r2", "n1")
    with database.write() as connection:
        for at, seen in ((0, [one]), (2, [one, other]), (4, [other]), (6, []), (8, [one]), (900, [one]), (1900, [])):
            nodes.record_uses(connection, seen, second(at))
        found = [(use.consumer, use.since, use.until) for use in nodes.all_uses(connection)]
    assert found == [
        ("r1", second(0), second(4)),
        ("r2", second(2), second(6)),
        ("r1", second(8), second(910)),
    ]


def test_events_only_grow(database: Database) -> None:
    with database.write() as connection:
        first = events.append(connection, Event(at="t", kind="a", message="1", job="j", data=(("x", 1.5), ("y", "z"))))
        second = events.append(connection, Event(at="t", kind="b", message="2", run_id="r"))
        assert first < second
        assert events.after(connection, first) == ((second, Event(at="t", kind="b", message="2", run_id="r")),)
        assert [event.message for _, event in events.after(connection, job="j")] == ["1"]
        assert events.of_run(connection, "r")[0].message == "2"
        assert events.last(connection, "a", job="j") == events.after(connection)[0][1]
        assert events.last(connection, "a", job="other") is None


@dataclass(frozen=True)
class Deed:
    id: str
    what: str


def test_an_action_is_recorded_before_it_is_done_and_done_once(database: Database) -> None:
    deed = Deed("deed:1", "x")
    with database.write() as connection:
        assert actions.record(connection, deed, NOW)
        assert actions.record(connection, deed, NOW), "planned but not done: a restarted controller carries it out"
        actions.mark_done(connection, "deed:1", "t1")
        assert not actions.record(connection, deed, NOW)
        assert actions.last_done(connection, "Deed") == ({"id": "deed:1", "what": "x"}, "t1", 1)
        assert actions.last_done(connection, "Other") is None


def test_a_failed_action_waits_longer_each_time(database: Database) -> None:
    deed, at = Deed("deed:1", "x"), NOW
    with database.write() as connection:
        actions.record(connection, deed, at)
        for tries, wait_s in ((1, 2), (2, 4), (3, 8), (4, 16), (5, 32), (6, 60), (7, 60)):
            assert actions.mark_failed(connection, deed.id, at.isoformat(), "no") == tries
            assert not actions.record(connection, deed, at + timedelta(seconds=wait_s - 0.1))
            at += timedelta(seconds=wait_s)
            assert actions.record(connection, deed, at)
        found = actions.get(connection, deed.id)
    assert found is not None
    assert (found.state, found.tries, found.error) == (ActionState.FAILED, 7, "no")


def test_the_catalog_applied_last_counts(database: Database) -> None:
    other = replace(TEXT, text="version: 1\n")
    with database.write() as connection:
        assert catalogs.current(connection) is None
        for at, text in (("t1", TEXT), ("t2", other), ("t3", TEXT)):
            catalogs.apply(connection, text, at)
        assert catalogs.current(connection) == (TEXT, "t3")
        assert catalogs.get(connection, other.hash) == other


def test_the_same_text_from_another_folder_is_another_catalog() -> None:
    assert TEXT.hash != replace(TEXT, base_dir="/elsewhere").hash
    assert TEXT.hash == replace(TEXT, file="renamed.yaml").hash


def test_schedule_marks_survive_what_does_not_concern_them(database: Database) -> None:
    nightly = Schedule(cron="0 2 * * *", timezone="UTC", done_by=None, overlap="skip")
    hourly = replace(nightly, cron="0 * * * *")
    with database.write() as connection:
        catalogs.mark_schedules(connection, [("a", nightly), ("b", nightly)], "t1")
        catalogs.advance_mark(connection, "a", "t2")
        catalogs.mark_schedules(connection, [("a", nightly), ("b", hourly), ("c", nightly)], "t3")
        assert catalogs.marks(connection) == (("a", "t2"), ("b", "t3"), ("c", "t3"))
        catalogs.mark_schedules(connection, [("b", hourly)], "t4")
        assert catalogs.marks(connection) == (("b", "t3"),)


def test_pool_failures_from_an_instant_on(database: Database, second: Callable[[float], str]) -> None:
    with database.write() as connection:
        for at in (1, 2, 3):
            pools.record_failure(connection, "g6", second(at), 90.0)
        assert [one.at for one in pools.failures_since(connection, second(2))] == [second(2), second(3)]
