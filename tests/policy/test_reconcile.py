"""decide(): one case per rule, and what holds for all worlds."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.model.instant import from_iso, to_iso
from orchestrator.model.job import Kind
from orchestrator.model.run import Attempt, AttemptState, Run, RunState
from orchestrator.policy.action import (
    Action,
    BlameOffer,
    CloseRun,
    DeployServices,
    MoveToNext,
    Resubmit,
    StartDriver,
    StopDriver,
    Wait,
)
from orchestrator.policy.observed import (
    Driver,
    DriverStatus,
    FollowedRun,
    Observed,
    PoolFailure,
    Serving,
    StalledModel,
)
from orchestrator.policy.reconcile import REDEPLOY_AFTER_S, decide
from orchestrator.policy.retry import RetryRule

NOW = from_iso("2026-11-30T12:00Z")


def ago(seconds: float) -> str:
    return to_iso(NOW - timedelta(seconds=seconds))


def attempt(number: int = 1, state: AttemptState = AttemptState.RUNNING, **values: object) -> Attempt:
    base = Attempt(
        run_id="r",
        number=number,
        submission_id=f"s{number}",
        state=state,
        planned_at=ago(100),
        submitted_at=ago(99),
        began_at=ago(90),
        offer="a",
    )
    return replace(base, **values)  # type: ignore[arg-type]


def planned(number: int = 1, **values: object) -> Attempt:
    return attempt(number, AttemptState.PLANNED, **{"submitted_at": None, "began_at": None, "offer": "", **values})


def run(*attempts: Attempt, **values: object) -> Run:
    base = Run(
        run_id="r",
        job="job",
        kind=Kind.BATCH,
        state=RunState.OPEN,
        created_at=ago(100),
        ended_at=None,
        scheduled_for=None,
        catalog_hash="h",
        entrypoint="python -m x",
        runtime_env_json="{}",
        emulated=True,
        attempts=attempts,
    )
    return replace(base, **values)  # type: ignore[arg-type]


def driver(number: int = 1, status: DriverStatus = DriverStatus.RUNNING, **values: object) -> Driver:
    return replace(Driver(submission_id=f"s{number}", status=status), **values)  # type: ignore[arg-type]


def world(one: Run, *drivers: Driver, offers: tuple[str, ...] = ("a", "b"), **values: object) -> Observed:
    followed = FollowedRun(run=one, job=None, offers=offers)
    base = Observed(catalog=None, runs=(followed,), drivers=drivers, stall_after_s=90)
    return replace(base, **values)  # type: ignore[arg-type]


def kinds(actions: tuple[Action, ...]) -> list[str]:
    return [type(action).__name__ for action in actions]


FAILED_BY_ITSELF = {"status": DriverStatus.FAILED, "exit_code": 1, "error_type": "JOB_ENTRYPOINT_COMMAND_ERROR"}
LOST = {"status": DriverStatus.FAILED, "error_type": "JOB_SUPERVISOR_ACTOR_DIED"}


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        pytest.param(world(run(planned())), ["StartDriver"], id="planned-is-started"),
        pytest.param(world(run(planned(not_before=ago(-5)))), [], id="planned-for-later"),
        pytest.param(world(run(planned(not_before=ago(0)))), ["StartDriver"], id="planned-for-now"),
        pytest.param(world(run(planned()), driver(status=DriverStatus.PENDING)), [], id="ray-has-it-already"),
        pytest.param(world(run(planned(submitted_at=ago(5)))), ["Resubmit"], id="lost-before-it-began"),
        pytest.param(world(run(attempt()), driver()), [], id="runs-well"),
        pytest.param(world(run(attempt()), driver(status=DriverStatus.SUCCEEDED)), ["CloseRun"], id="succeeded"),
        pytest.param(world(run(attempt()), driver(status=DriverStatus.STOPPED)), ["CloseRun"], id="user-stopped"),
        pytest.param(world(run(attempt()), driver(**LOST)), ["Resubmit"], id="supervisor-died"),
        pytest.param(world(run(attempt())), ["Resubmit"], id="gone-with-the-head"),
        pytest.param(world(run(attempt()), driver(**FAILED_BY_ITSELF)), ["Resubmit"], id="failed-once"),
        pytest.param(world(run(attempt(), entrypoint="")), ["CloseRun"], id="nothing-to-resubmit"),
        pytest.param(world(run(attempt()), drivers=None), [], id="ray-unreachable-concludes-nothing"),
        pytest.param(world(run(attempt(submission_id=""))), [], id="driver-that-ray-never-knew"),
        pytest.param(world(run()), [], id="run-without-attempts"),
    ],
)
def test_runs(observed: Observed, expected: list[str]) -> None:
    assert kinds(decide(observed, NOW)) == expected


@pytest.mark.parametrize(
    ("exit_code", "state", "died"),
    [
        pytest.param(137, None, True, id="killed-in-a-shell"),
        pytest.param(-9, None, True, id="killed"),
        pytest.param(143, None, True, id="terminated"),
        pytest.param(1, None, False, id="failed"),
        pytest.param(2, RunState.FAILED, False, id="bad-input-is-not-retried"),
    ],
)
def test_exit_codes(exit_code: int, state: RunState | None, died: bool) -> None:
    ended = driver(**{**FAILED_BY_ITSELF, "exit_code": exit_code})
    (action,) = decide(world(run(attempt()), ended), NOW)
    if state is not None:
        assert isinstance(action, CloseRun)
        assert action.state is state
    else:
        assert isinstance(action, Resubmit)
        assert action.died is died


def test_a_user_stop_is_told_as_such() -> None:
    (action,) = decide(world(run(attempt()), driver(status=DriverStatus.STOPPED)), NOW)
    assert action == CloseRun(run_id="r", attempt=1, state=RunState.STOPPED, reason="stopped by the user")


@pytest.mark.parametrize(("before", "wait_s"), [(0, 5), (1, 10), (3, 40), (9, 600)])
def test_deaths_wait_longer_each_time(before: int, wait_s: float) -> None:
    tries = [attempt(n, AttemptState.DIED) for n in range(1, before + 1)]
    (action,) = decide(world(run(*tries, attempt(before + 1))), NOW)
    assert isinstance(action, Resubmit)
    assert action.attempt == before + 2
    assert action.not_before == ago(-wait_s)


@pytest.mark.parametrize(
    ("state", "ending", "allowed"),
    [
        pytest.param(AttemptState.DIED, driver(99, **LOST), RetryRule().max_deaths, id="deaths"),
        pytest.param(AttemptState.FAILED, driver(99, **FAILED_BY_ITSELF), RetryRule().max_failures, id="failures"),
    ],
)
def test_retries_are_bounded(state: AttemptState, ending: Driver, allowed: int) -> None:
    def after(count: int) -> tuple[Action, ...]:
        tries = [attempt(n, state) for n in range(1, count + 1)]
        return decide(world(run(*tries, attempt(99)), ending), NOW)

    assert kinds(after(allowed - 1)) == ["Resubmit"]
    assert kinds(after(allowed)) == ["CloseRun"]


def test_moves_do_not_count_as_failures() -> None:
    tries = [attempt(n, AttemptState.MOVED) for n in range(1, 20)]
    (action,) = decide(world(run(*tries, attempt(20)), driver(20, **FAILED_BY_ITSELF)), NOW)
    assert isinstance(action, Resubmit)


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        pytest.param(world(run(attempt(pending_since=ago(89))), driver()), [], id="not-yet"),
        pytest.param(world(run(attempt(pending_since=ago(91))), driver()), ["MoveToNext"], id="too-long"),
        pytest.param(world(run(attempt(pending_since=ago(91))), driver(), offers=("a",)), ["Wait"], id="nowhere-to-go"),
        pytest.param(
            world(run(attempt(pending_since=ago(91)), entrypoint=""), driver()), ["Wait"], id="cannot-be-restarted"
        ),
        pytest.param(world(run(attempt(pending_since=ago(500)))), ["Resubmit"], id="dead-drivers-are-not-moved"),
    ],
)
def test_stalls(observed: Observed, expected: list[str]) -> None:
    assert kinds(decide(observed, NOW)) == expected


def test_a_move_passes_over_offers_that_failed_lately() -> None:
    observed = world(
        run(attempt(pending_since=ago(91))),
        driver(),
        offers=("a", "b", "c"),
        pool_failures=(PoolFailure(offer="b", at=ago(30)),),
    )
    (action,) = decide(observed, NOW)
    assert action == MoveToNext(run_id="r", attempt=2, from_offer="a", to_offer="c", waited_s=91.0)


def test_a_moved_attempt_is_stopped_before_its_successor_starts() -> None:
    moved = run(attempt(1, AttemptState.MOVED, reason="no capacity"), planned(2))
    assert decide(world(moved, driver(1)), NOW) == (
        StopDriver(run_id="r", attempt=1, submission_id="s1", reason="no capacity"),
    )
    assert decide(world(moved, driver(1, DriverStatus.STOPPED)), NOW) == (
        StartDriver(run_id="r", attempt=2, submission_id="s2"),
    )


def test_a_driver_given_up_for_dead_is_stopped_when_it_comes_back() -> None:
    back = run(attempt(1, AttemptState.DIED), attempt(2))
    assert kinds(decide(world(back, driver(1), driver(2)), NOW)) == ["StopDriver"]


@pytest.mark.parametrize(
    ("state", "attempt_state", "expected"),
    [
        pytest.param(RunState.STOPPED, AttemptState.STOPPED, ["StopDriver"], id="over-its-time"),
        pytest.param(RunState.SUCCEEDED, AttemptState.SUCCEEDED, [], id="finished-and-tidying-up"),
    ],
)
def test_drivers_of_closed_runs(state: RunState, attempt_state: AttemptState, expected: list[str]) -> None:
    assert kinds(decide(world(run(attempt(1, attempt_state), state=state), driver()), NOW)) == expected


SERVING = Serving(wanted_hash="h2", wanted_apps=("chat",), deployed_hash="h2", deployed_at=ago(100), deploys=3,
                  present_apps=("chat",))  # fmt: skip


@pytest.mark.parametrize(
    ("serving", "reason"),
    [
        pytest.param(SERVING, None, id="as-wanted"),
        pytest.param(Serving(), None, id="no-catalog"),
        pytest.param(Serving(wanted_hash="h0"), None, id="no-services-at-all"),
        pytest.param(replace(SERVING, deployed_hash="", deploys=0, present_apps=()), "first", id="first"),
        pytest.param(replace(SERVING, deployed_hash="h1"), "changed", id="changed"),
        pytest.param(replace(SERVING, present_apps=()), "does not have chat", id="lost"),
        pytest.param(
            replace(SERVING, present_apps=(), deployed_at=ago(REDEPLOY_AFTER_S - 1)), None, id="not-there-yet"
        ),
        pytest.param(replace(SERVING, wanted_apps=(), wanted_hash="h0"), "changed", id="last-service-removed"),
    ],
)
def test_services(serving: Serving, reason: str | None) -> None:
    actions = decide(Observed(catalog=None, serving=serving), NOW)
    if reason is None:
        assert actions == ()
        return
    (action,) = actions
    assert isinstance(action, DeployServices)
    assert reason in action.reason
    assert action.id == f"deploy:{serving.wanted_hash}:{serving.deploys + 1}"


@pytest.mark.parametrize(
    ("waited_s", "alternatives", "expected"),
    [(89, 2, []), (91, 2, ["BlameOffer"]), (91, 0, [])],
    ids=["not-yet", "too-long", "nowhere-to-go"],
)
def test_services_without_capacity(waited_s: float, alternatives: int, expected: list[str]) -> None:
    stalled = StalledModel(job="chat", part="large", offer="a", since=ago(waited_s), alternatives=alternatives)
    actions = decide(Observed(catalog=None, serving=replace(SERVING, stalled=(stalled,))), NOW)
    assert kinds(actions) == expected
    assert all(isinstance(action, BlameOffer) and action.offer == "a" for action in actions)


attempts = st.builds(
    attempt,
    number=st.just(0),
    state=st.sampled_from(AttemptState),
    submitted_at=st.sampled_from([None, ago(50)]),
    pending_since=st.sampled_from([None, ago(10), ago(1000)]),
    not_before=st.sampled_from([None, ago(10), ago(-10)]),
)


@st.composite
def worlds(draw: st.DrawFn) -> Observed:
    states = draw(st.lists(attempts, max_size=4))
    tries = tuple(replace(one, number=n, submission_id=f"s{n}") for n, one in enumerate(states, 1))
    known = draw(st.lists(st.sampled_from(DriverStatus), min_size=len(tries), max_size=len(tries)))
    present = draw(st.lists(st.booleans(), min_size=len(tries), max_size=len(tries)))
    drivers = [driver(n, status) for n, (status, there) in enumerate(zip(known, present, strict=True), 1) if there]
    one = run(*tries, state=draw(st.sampled_from(RunState)), entrypoint=draw(st.sampled_from(["", "x"])))
    offers = tuple(draw(st.lists(st.sampled_from("abc"), unique=True)))
    return world(one, *drivers, offers=offers)


@settings(deadline=None)
@given(worlds())
def test_in_every_world(observed: Observed) -> None:
    """Ids are unique, a run gets one fate, attempts count on, nothing is started beside a driver that lives."""
    actions = decide(observed, NOW)
    assert actions == decide(observed, NOW)
    assert len({action.id for action in actions}) == len(actions)
    one = observed.runs[0].run
    alive = {d.submission_id for d in observed.drivers or () if d.status.alive}
    fates = [a for a in actions if not isinstance(a, StopDriver)]
    assert len(fates) <= 1
    for action in fates:
        assert one.state is RunState.OPEN
        match action:
            case StartDriver():
                assert action.submission_id not in alive
                assert not any(a.submission_id in alive and a.state is AttemptState.MOVED for a in one.attempts)
            case Resubmit() | MoveToNext():
                assert action.attempt == len(one.attempts) + 1
                assert one.entrypoint
            case Wait() | CloseRun():
                pass
            case _:
                raise AssertionError(action)
