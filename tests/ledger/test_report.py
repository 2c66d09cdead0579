"""The bill: lines, interruptions, lost work, sums."""

import math
from collections.abc import Callable
from decimal import Decimal

from orchestrator.ledger.report import bill, lost_s
from orchestrator.model.event import Event
from orchestrator.model.instant import from_iso
from orchestrator.model.job import Kind
from orchestrator.model.node import NodeInterval
from orchestrator.model.run import Attempt, AttemptState, Run, RunState, Use

NOW = from_iso("2026-11-30T12:00Z")


def run(name: str, *states: AttemptState, job: str = "job", ended_at: str = "2026-11-30T11:59Z") -> Run:
    attempts = tuple(
        Attempt(run_id=name, number=n, submission_id="", state=state, planned_at="t")
        for n, state in enumerate(states, 1)
    )
    return Run(
        run_id=name, job=job, kind=Kind.TRAIN, state=RunState.SUCCEEDED, created_at="t", ended_at=ended_at,
        scheduled_for=None, catalog_hash="h", entrypoint="", runtime_env_json="{}", emulated=True, attempts=attempts,
    )  # fmt: skip


def test_lines_idle_and_total(interval: Callable[..., NodeInterval], use: Callable[..., Use]) -> None:
    found = bill(
        [interval(0, 100, node="n1"), interval(0, 200, node="n2")],
        [use(0, 50, node="n1"), use(0, 100, node="n2", run="chat", job="chat")],
        [run("run-1", AttemptState.SUCCEEDED)],
        [],
        NOW,
    )
    assert [(line.consumer, line.usd, line.state) for line in found.lines] == [
        ("chat", Decimal("0.010000"), ""),
        ("run-1", Decimal("0.005000"), "succeeded"),
    ]
    assert found.idle.usd == Decimal("0.015000")
    assert found.total.usd == found.idle.usd + sum(line.usd for line in found.lines) == Decimal("0.030000")
    assert found.total.saved_usd == Decimal("0.045000")
    assert found.total.emulated


def test_interruptions_are_nodes_taken_away_while_in_use(
    interval: Callable[..., NodeInterval], use: Callable[..., Use]
) -> None:
    found = bill(
        [
            interval(0, 100, node="taken", reason="interrupted-with-notice"),
            interval(0, 100, node="taken-unseen", reason="interrupted-without-notice"),
            interval(0, 300, node="left-before", reason="interrupted-without-notice"),
            interval(0, 100, node="idle-end", reason="idle"),
        ],
        [
            use(0, 98, node="taken"),
            use(0, 114, node="taken-unseen"),
            use(0, 100, node="left-before"),
            use(0, 100, node="idle-end"),
        ],
        [run("run-1", AttemptState.DIED, AttemptState.SUCCEEDED, AttemptState.PLANNED)],
        [],
        NOW,
    )
    assert (found.lines[0].interruptions, found.lines[0].attempts) == (2, 2)
    assert found.total.interruptions == 2


def test_a_node_taken_after_the_run_was_over_cut_nothing_off(
    interval: Callable[..., NodeInterval], use: Callable[..., Use]
) -> None:
    found = bill(
        [interval(0, 100, reason="interrupted-without-notice")],
        [use(0, 80), use(90, 100, run="run-2")],
        [run("run-1", AttemptState.SUCCEEDED, ended_at="2026-11-30T00:01:22Z"), run("run-2", AttemptState.SUCCEEDED)],
        [],
        NOW,
    )
    assert [line.interruptions for line in found.lines] == [0, 1]


def test_lost_work_is_what_drivers_measured() -> None:
    def resumed(run_id: str, **data: float) -> Event:
        return Event(at="t", kind="resumed", message="", run_id=run_id, data=tuple(data.items()))

    events = [resumed("run-1", lost_s=12.5), resumed("run-1", lost_s=3), resumed("run-1"), resumed("run-2", lost_s=99)]
    found = bill([], [], [run("run-1"), run("run-2")], events, NOW)
    assert [line.lost_s for line in found.lines] == [15.5, 99]
    assert found.total.lost_s == 114.5


def test_only_credible_losses_count() -> None:
    told = [-1e300, -1, 1e308, math.inf, math.nan, "abc", True, 10**400, 3650 * 86400 + 1, 2.5, 3650 * 86400]
    events = [Event(at="t", kind="resumed", message="", run_id="r", data=(("lost_s", one),)) for one in told]
    assert lost_s(events) == 2.5 + 3650 * 86400


def test_a_run_without_a_node_has_a_line(interval: Callable[..., NodeInterval]) -> None:
    found = bill([], [], [run("run-1", AttemptState.FAILED)], [], NOW)
    (line,) = found.lines
    assert (line.consumer, line.usd, line.node_seconds, line.attempts) == ("run-1", Decimal(0), 0.0, 1)
