"""Applying a catalog, beginning runs, and what drivers tell."""

from typing import Any

import pytest

from orchestrator.control.assign import RefusedError
from orchestrator.control.planning import CatalogFaultsError
from orchestrator.control.requests import UnknownError, apply_catalog, begin_run, report_event
from orchestrator.ledger import catalogs, events, runs
from orchestrator.model import labels
from orchestrator.model.run import AttemptState, Run, RunState
from orchestrator.policy.observed import DriverStatus

Bench = Any


@pytest.fixture
def applied(bench: Bench) -> Bench:
    apply_catalog(bench.controller, bench.catalog())
    return bench


def run_of(bench: Bench, run_id: str) -> Run:
    with bench.controller.database.read() as connection:
        found = runs.get(connection, run_id)
    assert found is not None
    return found


def told(bench: Bench) -> list[str]:
    with bench.controller.database.read() as connection:
        return [event.kind for _, event in events.after(connection)]


def test_applying_tells_what_changes_and_offers_the_nodes(bench: Bench, catalog_text: str) -> None:
    planned, first = apply_catalog(bench.controller, bench.catalog())
    assert [line.split(" on ")[0] for line in first] == ["+ nightly: batch", "+ tune: train"]
    assert bench.world.offered == (planned.source.hash,)
    assert apply_catalog(bench.controller, bench.catalog())[1] == ()
    changed = catalog_text.replace("batch_size: 8", "batch_size: 4").replace("nightly:", "weekly:")
    _, told = apply_catalog(bench.controller, bench.catalog(changed))
    assert [line.split(",")[0].split(" on ")[0] for line in told] == [
        "- nightly: removed",
        "~ tune: settings changed",
        "+ weekly: batch",
    ]


def test_a_faulty_catalog_changes_nothing(applied: Bench) -> None:
    before = applied.world.offered
    with pytest.raises(CatalogFaultsError) as refused:
        apply_catalog(applied.controller, applied.catalog("version: 1\ncluster: {}\njobs: {x: {kind: trian}}\n"))
    assert len(refused.value.lines) >= 2
    assert all(line.startswith("catalog.yaml:") for line in refused.value.lines)
    with applied.controller.database.read() as connection:
        current = catalogs.current(connection)
    assert current is not None
    assert current[0] == applied.catalog()
    assert applied.world.offered == before


def test_a_run_begins_with_a_complete_assignment(applied: Bench) -> None:
    submission = applied.world.user_submits("raysubmit_1")
    given = begin_run(applied.controller, "tune", submission, None)
    planned = applied.controller.applied()
    choice = planned.placement("tune").chosen
    selector = dict(given.label_selector)
    assert (given.run_id, given.attempt, given.date) == ("tune-20261130T120000Z", 1, "2026-11-30")
    assert selector[labels.INSTANCE_TYPE] == choice.instance_type
    assert selector[labels.MARKET_TYPE] == "spot"
    assert selector[labels.ZONE] == choice.zone
    assert selector[labels.POOL] == "work"
    assert given.accelerator == choice.accelerator
    assert given.num_workers * given.accelerators_per_worker == choice.accelerators_per_instance * choice.instances
    assert given.cpus_per_worker >= 1
    assert given.micro_batch == 8, "135M parameters leave room for the whole batch"
    assert given.output_model == f"{given.storage}/models/tune/{given.run_id}"
    assert given.emulated
    run = run_of(applied, given.run_id)
    assert run.entrypoint == "python -m jobs.finetune --job tune"
    assert run.last is not None
    assert (run.last.state, run.last.offer, run.last.submission_id) == (AttemptState.RUNNING, choice.offer, submission)
    assert applied.world.packages == ['{"working_dir": "gcs://x.zip"}']


def test_asking_again_with_the_same_submission_gives_the_same_answer(applied: Bench) -> None:
    submission = applied.world.user_submits("raysubmit_1")
    first = begin_run(applied.controller, "tune", submission, None)
    applied.clock.forward(3)
    assert begin_run(applied.controller, "tune", submission, None) == first
    assert told(applied).count("began") == 1


def test_a_second_driver_of_a_live_run_is_refused(applied: Bench) -> None:
    begin_run(applied.controller, "tune", applied.world.user_submits("raysubmit_1"), None)
    with pytest.raises(RefusedError, match=r"is going on .*raysubmit_1"):
        begin_run(applied.controller, "tune", applied.world.user_submits("raysubmit_2"), None)


def test_after_its_driver_is_gone_a_run_goes_on_with_the_next(applied: Bench) -> None:
    first = begin_run(applied.controller, "tune", applied.world.user_submits("raysubmit_1"), None)
    applied.world.end("raysubmit_1", DriverStatus.FAILED)
    second = begin_run(applied.controller, "tune", applied.world.user_submits("raysubmit_2"), None)
    assert (second.run_id, second.attempt) == (first.run_id, 2)
    assert [one.state for one in run_of(applied, first.run_id).attempts] == [AttemptState.DIED, AttemptState.RUNNING]


def test_a_users_driver_takes_the_place_of_a_planned_one(applied: Bench) -> None:
    first = begin_run(applied.controller, "tune", applied.world.user_submits("raysubmit_1"), None)
    applied.world.end("raysubmit_1", DriverStatus.FAILED)
    assert applied.tick() == [f"resubmit:{first.run_id}:2"]
    second = begin_run(applied.controller, "tune", applied.world.user_submits("raysubmit_2"), None)
    assert (second.run_id, second.attempt) == (first.run_id, 2)
    assert applied.tick(10) == [], "the planned driver is not started beside the user's"


def test_a_replaced_driver_that_turns_up_late_is_refused(applied: Bench) -> None:
    begin_run(applied.controller, "tune", applied.world.user_submits("raysubmit_1"), None)
    applied.world.end("raysubmit_1", DriverStatus.FAILED)
    begin_run(applied.controller, "tune", applied.world.user_submits("raysubmit_2"), None)
    with pytest.raises(RefusedError, match="has been replaced"):
        begin_run(applied.controller, "tune", "raysubmit_1", None)


def test_after_a_finished_run_a_new_one_begins(applied: Bench) -> None:
    first = begin_run(applied.controller, "tune", applied.world.user_submits("raysubmit_1"), None)
    report_event(applied.controller, first.run_id, "finished", "accuracy 0.9", {"accuracy": 0.9})
    assert run_of(applied, first.run_id).state is RunState.SUCCEEDED
    second = begin_run(applied.controller, "tune", applied.world.user_submits("raysubmit_2"), None)
    assert second.attempt == 1
    assert second.run_id == f"{first.run_id}-2", "two runs within a second"


def test_a_driver_that_was_not_submitted_counts_too(applied: Bench) -> None:
    """`python -m jobs.finetune` in a terminal: Ray does not know it, so only its own word ends it."""
    first = begin_run(applied.controller, "tune", "", None)
    assert applied.tick(3) == []
    report_event(applied.controller, first.run_id, "failed", "no memory", {})
    assert run_of(applied, first.run_id).state is RunState.FAILED


def test_a_failed_report_of_a_submitted_driver_waits_for_its_end(applied: Bench) -> None:
    first = begin_run(applied.controller, "tune", applied.world.user_submits("raysubmit_1"), None)
    report_event(applied.controller, first.run_id, "failed", "no memory", {})
    assert run_of(applied, first.run_id).state is RunState.OPEN
    applied.world.end("raysubmit_1", DriverStatus.FAILED, exit_code=1)
    assert applied.tick() == [f"resubmit:{first.run_id}:2"]


@pytest.mark.parametrize(
    ("job", "error", "message"),
    [
        pytest.param("nightly", RefusedError, "waits for run:tune", id="missing-model"),
        pytest.param("other", UnknownError, "no job other .*nightly, tune", id="unknown-job"),
    ],
)
def test_runs_that_may_not_begin(applied: Bench, job: str, error: type[Exception], message: str) -> None:
    applied.models.absent = {"tune"}
    with pytest.raises(error, match=message):
        begin_run(applied.controller, job, "", None)
    with applied.controller.database.read() as connection:
        assert runs.every(connection) == ()


def test_without_a_catalog_nothing_begins(bench: Bench) -> None:
    with pytest.raises(RefusedError, match="no catalog is applied"):
        begin_run(bench.controller, "tune", "", None)


def test_an_unplaceable_job_is_refused_with_reasons(bench: Bench, catalog_text: str) -> None:
    text = catalog_text.replace("lifecycle: spot, max_duration", "max_price: $0.01/h, max_duration")
    apply_catalog(bench.controller, bench.catalog(text))
    with pytest.raises(RefusedError, match=r"no offer suits tune: .*price"):
        begin_run(bench.controller, "tune", "", None)


def test_a_driver_of_another_kind_opens_no_run(applied: Bench) -> None:
    with pytest.raises(RefusedError, match=r"nightly is a batch job. Submit it with python -m jobs.batch_infer"):
        begin_run(applied.controller, "nightly", "", None, kind="train")
    with applied.controller.database.read() as connection:
        assert runs.of_job(connection, "nightly") == ()
    assert begin_run(applied.controller, "tune", "", None, kind="train").job.name == "tune"


def test_a_service_is_not_submitted(bench: Bench, service_text: str) -> None:
    apply_catalog(bench.controller, bench.catalog(service_text))
    with pytest.raises(RefusedError, match="chat is a service"):
        begin_run(bench.controller, "chat", "", None)


def test_a_driver_may_bring_its_own_catalog(applied: Bench, catalog_text: str) -> None:
    own = applied.catalog(catalog_text.replace("tune:", "mine:").replace("run:tune", "run:mine"))
    given = begin_run(applied.controller, "mine", "", own)
    assert given.job.name == "mine"
    assert run_of(applied, given.run_id).catalog_hash == own.hash
    assert set(applied.world.offered) == {own.hash, applied.catalog().hash}, "the applied catalog keeps its nodes"


def test_reports_about_unknown_runs_are_refused(applied: Bench) -> None:
    with pytest.raises(UnknownError, match="no run nobody"):
        report_event(applied.controller, "nobody", "progress", "", {})


def test_all_attempts_of_a_scheduled_run_have_its_local_date(applied: Bench) -> None:
    """The start of 02:00 in New York belongs to that day there; an attempt after UTC midnight does not change it."""
    applied.clock.forward(19 * 3600)
    applied.tick(2)
    (submission,) = applied.world.known
    first = begin_run(applied.controller, "nightly", submission, None)
    assert (first.run_id, first.date) == ("nightly-20261201T0700Z", "2026-12-01")
    applied.world.end(submission, DriverStatus.FAILED, exit_code=137)
    applied.clock.forward(20 * 3600)
    applied.tick(8)
    again = begin_run(applied.controller, "nightly", f"{first.run_id}-a2", None)
    assert (again.attempt, again.date) == (2, "2026-12-01")
