"""The controller's process dies at any point and starts again: nothing is forgotten, nothing is done twice."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from orchestrator.control.assign import RefusedError
from orchestrator.control.requests import apply_catalog, begin_run
from orchestrator.ledger import actions, runs
from orchestrator.model.run import AttemptState, RunState
from orchestrator.policy.observed import DriverStatus

Bench = Any
DAY_S = 86400


@pytest.mark.parametrize("point", ["before submit", "after submit"])
def test_killed_around_a_submission(bench: Bench, killed: type[BaseException], point: str) -> None:
    apply_catalog(bench.controller, bench.catalog())
    bench.clock.forward(DAY_S)
    bench.world.kill_at = point
    with pytest.raises(killed):
        bench.tick(5)
    with bench.controller.database.read() as connection:
        recorded = actions.get(connection, "start:nightly-20261201T0700Z:1")
    assert recorded is not None
    assert recorded.state == "planned", "it is recorded before it is done"
    bench.restart()
    bench.tick(5)
    assert bench.world.deeds == ["submit nightly-20261201T0700Z"]


@pytest.mark.parametrize("point", ["before stop", "after stop"])
def test_killed_around_a_stop(bench: Bench, killed: type[BaseException], point: str) -> None:
    apply_catalog(bench.controller, bench.catalog())
    given = begin_run(bench.controller, "tune", bench.world.user_submits("raysubmit_1"), None)
    bench.clock.forward(3601)
    bench.world.kill_at = point
    with pytest.raises(killed):
        bench.tick(5)
    bench.restart()
    bench.tick(5)
    assert bench.world.deeds == ["stop raysubmit_1"]
    with bench.controller.database.read() as connection:
        run = runs.get(connection, given.run_id)
    assert run is not None
    assert run.state is RunState.STOPPED
    assert run.reason.startswith("longer than max_duration")


@pytest.mark.parametrize(("point", "deploys"), [("before deploy", 1), ("after deploy", 2)])
def test_killed_around_a_deployment(
    bench: Bench, service_text: str, killed: type[BaseException], point: str, deploys: int
) -> None:
    """A deployment that may have happened is handed over again: the same configuration changes nothing in Serve."""
    apply_catalog(bench.controller, bench.catalog(service_text))
    bench.world.kill_at = point
    with pytest.raises(killed):
        bench.tick(5)
    before = bench.world.config
    bench.restart()
    bench.tick(5)
    assert bench.world.deeds == ["deploy chat"] * deploys
    assert before in ({}, bench.world.config)


class Restarts(RuleBasedStateMachine):
    """Users, drivers, time and kills in any order. Drivers behave: they begin as soon as they run."""

    make: Callable[[], Bench]
    killed: type[BaseException]

    @initialize()
    def begin(self) -> None:
        self.bench = self.make()
        self.users = 0
        apply_catalog(self.bench.controller, self.bench.catalog())

    @rule(seconds=st.sampled_from([2, 30, 700, 3 * 3600, DAY_S, 3 * DAY_S]))
    def time_passes(self, seconds: int) -> None:
        self.bench.clock.forward(seconds)

    @rule(point=st.sampled_from(["", "before submit", "after submit", "before stop", "after stop"]))
    def a_few_rounds(self, point: str) -> None:
        self.bench.world.kill_at = point
        try:
            for _ in range(3):
                self.bench.tick()
                self._drivers_begin()
        except self.killed:
            self.bench.restart()
        self.bench.world.kill_at = ""

    @rule()
    def the_controller_restarts(self) -> None:
        self.bench.restart()

    @rule()
    def a_user_submits(self) -> None:
        self.users += 1
        self.bench.world.user_submits(f"raysubmit_{self.users}")
        self._drivers_begin()

    @precondition(lambda self: self._alive())
    @rule(
        ending=st.sampled_from(
            [
                (DriverStatus.SUCCEEDED, 0),
                (DriverStatus.FAILED, 1),
                (DriverStatus.FAILED, 137),
                (DriverStatus.STOPPED, None),
            ]
        ),
        which=st.integers(0, 10),
    )
    def a_driver_ends(self, ending: tuple[DriverStatus, int | None], which: int) -> None:
        alive = self._alive()
        self.bench.world.end(alive[which % len(alive)], *ending)

    @invariant()
    def no_driver_is_submitted_twice(self) -> None:
        submitted = [deed for deed in self.bench.world.deeds if deed.startswith("submit ")]
        assert len(submitted) == len(set(submitted))

    @invariant()
    def one_driver_per_job_works(self) -> None:
        """Of the drivers that took an assignment, one per job is alive unless it is about to be stopped."""
        with self.bench.controller.database.read() as connection:
            every = runs.every(connection)
        alive = set(self._alive())
        for job in ("tune", "nightly"):
            working = [
                attempt.submission_id
                for run in every
                if run.job == job
                for attempt in run.attempts
                if attempt.state is AttemptState.RUNNING and attempt.submission_id in alive
            ]
            assert len(working) <= 1, working

    @invariant()
    def a_start_has_one_run(self) -> None:
        with self.bench.controller.database.read() as connection:
            every = runs.every(connection)
        starts = [run.scheduled_for for run in every if run.scheduled_for]
        assert len(starts) == len(set(starts))
        assert sum(run.state is RunState.OPEN and run.job == "nightly" for run in every) <= 1

    def teardown(self) -> None:
        """In the end all that is open gets its driver, or its end."""
        if not hasattr(self, "bench"):
            return
        for _ in range(20):
            self.bench.tick(2, seconds=400)
            for submission in self._alive():
                self.bench.world.end(submission, DriverStatus.SUCCEEDED)
            with self.bench.controller.database.read() as connection:
                still_open = runs.of_state(connection, RunState.OPEN)
            if not still_open:
                break
        self.bench.controller.database.close()
        assert still_open == ()

    def _alive(self) -> list[str]:
        return [name for name, driver in self.bench.world.known.items() if driver.status.alive]

    def _drivers_begin(self) -> None:
        for name in self._alive():
            job = "tune" if name.startswith(("raysubmit", "tune")) else "nightly"
            try:
                begin_run(self.bench.controller, job, name, None)
            except RefusedError:
                self.bench.world.end(name, DriverStatus.FAILED, 1)


@pytest.mark.timeout(300)
def test_kills_at_any_point(make_bench: Callable[[], Bench], killed: type[BaseException]) -> None:
    machine = type("Machine", (Restarts,), {"make": staticmethod(make_bench), "killed": killed})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=8,
            stateful_step_count=10,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
