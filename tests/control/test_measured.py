"""What finished runs teach: only those on real hardware, and the next plan uses it."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.control.measured import measured
from orchestrator.control.plan_text import plan_text
from orchestrator.control.planning import Planned
from orchestrator.control.requests import apply_catalog, begin_run, report_event
from orchestrator.estimate.calibration import Experience
from orchestrator.ledger.catalogs import CatalogText
from orchestrator.ledger.experience import MEASURED, as_event, experience
from orchestrator.model.event import Event
from orchestrator.model.job import Kind
from orchestrator.model.plan import Basis, Choice
from orchestrator.model.run import Attempt, AttemptState, Run, RunState
from tests.control.conftest import CATALOG, Bench

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def on_aws() -> Planned:
    text = CATALOG.replace("provider: local", "provider: aws").replace("./storage", "s3://bucket/root")
    return plan_text(CatalogText(text=text, file="catalog.yaml", base_dir="/"), NOW)


def chosen(planned: Planned, job: str) -> Choice:
    placement = planned.placement(job)
    assert placement is not None and placement.chosen is not None
    return placement.chosen


def run(planned: Planned, job: str, *, emulated: bool = False) -> Run:
    attempt = Attempt(
        run_id="r", number=1, submission_id="s", state=AttemptState.RUNNING, planned_at="t",
        offer=chosen(planned, job).offer,
    )  # fmt: skip
    return Run(
        run_id="r", job=job, kind=Kind.TRAIN, state=RunState.OPEN, created_at="t", ended_at=None, scheduled_for=None,
        catalog_hash="h", entrypoint="", runtime_env_json="{}", emulated=emulated, attempts=(attempt,),
    )  # fmt: skip


def told(kind: str, **data: float) -> Event:
    return Event(at="t", kind=kind, message="", data=tuple(data.items()))


def test_training_is_measured_in_tokens_a_second(on_aws: Planned) -> None:
    choice = chosen(on_aws, "tune")
    estimated = 50_000 * choice.parallelism.data / choice.device_seconds
    events = [told("progress", tokens_per_s=estimated / 2 * noise) for noise in (0.5, 1.0, 7.0)]
    found = measured(on_aws, run(on_aws, "tune"), [told("began"), *events, told("finished")])
    assert found == Experience(
        family="30x576", accelerator="T4", task="train", speed_ratio=pytest.approx(0.5, rel=1e-6)
    )


def test_batch_is_measured_in_engine_seconds_a_row(on_aws: Planned) -> None:
    choice = chosen(on_aws, "nightly")
    events = [told("finished", rows=200, seconds=choice.device_seconds / 400 * 200 / 3)]
    found = measured(on_aws, run(on_aws, "nightly"), events)
    assert found is not None and found.task == "generate" and found.speed_ratio == pytest.approx(3.0)


def test_emulated_nodes_teach_nothing(on_aws: Planned) -> None:
    events = [told("progress", tokens_per_s=1000.0), told("finished")]
    assert measured(on_aws, run(on_aws, "tune"), events) is not None
    assert measured(on_aws, run(on_aws, "tune", emulated=True), events) is None
    assert measured(replace(on_aws, catalog=_local(on_aws)), run(on_aws, "tune"), events) is None


def _local(planned: Planned):  # type: ignore[no-untyped-def]
    return plan_text(CatalogText(text=CATALOG, file="c", base_dir="/"), NOW).catalog


def test_a_whole_emulated_run_leaves_no_experience(bench: Bench) -> None:
    apply_catalog(bench.controller, bench.catalog())
    assignment = begin_run(bench.controller, "tune", "", None)
    report_event(bench.controller, assignment.run_id, "progress", "", {"tokens_per_s": 1000.0})
    report_event(bench.controller, assignment.run_id, "finished", "", {})
    with bench.controller.database.read() as connection:
        assert experience(connection) == ()


@pytest.mark.parametrize(
    "events",
    [[], [told("finished")], [told("progress", tokens_per_s=0.0)], [told("finished", rows=0, seconds=3)]],
    ids=["nothing", "no-rate", "zero-rate", "no-rows"],
)
def test_what_cannot_be_measured_is_not(on_aws: Planned, events: list[Event]) -> None:
    for job in ("tune", "nightly"):
        assert measured(on_aws, run(on_aws, job), events) is None


def test_experience_comes_back_from_the_ledger_and_moves_the_plan(bench: Bench, on_aws: Planned) -> None:
    one = Experience(family="30x576", accelerator="T4", task="train", speed_ratio=0.25)
    with bench.controller.database.write() as connection:
        for _ in range(20):
            _append(connection, as_event(one, at="2026-11-30T12:00:00Z", job="tune", run_id="r"))
        _append(connection, Event(at="t", kind=MEASURED, message="of another form"))
    with bench.controller.database.read() as connection:
        learnt = experience(connection)
    assert learnt == (one,) * 20
    after = plan_text(on_aws.source, NOW, learnt)
    before, moved = chosen(on_aws, "tune"), chosen(after, "tune")
    assert before.accelerator == "T4" and before.basis is Basis.ROOFLINE
    t4 = next(each for each in after.placement("tune").candidates if each.accelerator == "T4")  # type: ignore[union-attr]
    assert t4.basis is Basis.MEASURED and t4.device_seconds > 3 * before.device_seconds
    assert moved.expected_usd <= t4.expected_usd


def _append(connection, event: Event) -> None:  # type: ignore[no-untyped-def]
    from orchestrator.ledger import events

    events.append(connection, event)


def test_plan_reads_the_ledger_it_is_given(tmp_path: Path, bench: Bench) -> None:
    from orchestrator.cli.plan_options import learnt
    from orchestrator.model.error import InputError

    with pytest.raises(InputError, match="does not exist"):
        learnt(tmp_path / "none.db")
    assert learnt(bench.controller.database.path) == ()
