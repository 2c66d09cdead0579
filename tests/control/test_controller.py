"""The loop's rounds over a fake world: schedules, retries, moves, services, and what it writes down."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from orchestrator.control.requests import apply_catalog, begin_run, report_event
from orchestrator.control.world import Demand, LiveNode, Notice, UnreachableError, Worker
from orchestrator.ledger import actions, events, nodes, runs
from orchestrator.model.assignment import Assignment
from orchestrator.model.instant import to_iso
from orchestrator.model.node import NodeInterval
from orchestrator.model.offer import Market
from orchestrator.model.run import AttemptState, Run, RunState
from orchestrator.policy.observed import DriverStatus
from orchestrator.runtime.serve_config import node_selector

Bench = Any
TO_TWO_IN_NEW_YORK_S = 19 * 3600


@pytest.fixture
def applied(bench: Bench) -> Bench:
    apply_catalog(bench.controller, bench.catalog())
    return bench


def all_runs(bench: Bench) -> tuple[Run, ...]:
    with bench.controller.database.read() as connection:
        return runs.every(connection)


def told(bench: Bench, *kinds: str) -> list[str]:
    with bench.controller.database.read() as connection:
        return [event.message for event in events.of_kinds(connection, *kinds)]


def begin(bench: Bench, submission: str = "raysubmit_1") -> Assignment:
    return begin_run(bench.controller, "tune", bench.world.user_submits(submission), None)


def asks(bench: Bench, given: Assignment) -> None:
    """The driver's workers wait for a node."""
    bench.world.demands = [Demand(selector=given.label_selector, resources=(("GPU", 1.0),))]


def works(bench: Bench, submission: str, node: str = "i-1") -> None:
    """The driver has an actor on a node."""
    bench.world.demands = []
    bench.world.nodes = [LiveNode(node_id=node, labels=(), resources=(), head=False)]
    bench.world.workers.append(Worker(ray_job_id=f"job-{submission}", node_id=node))


def test_a_scheduled_start_becomes_one_driver(applied: Bench) -> None:
    assert applied.tick(3) == []
    applied.clock.forward(TO_TWO_IN_NEW_YORK_S - 8)
    assert applied.tick(10) == [
        "submit:nightly:2026-12-01T07:00:00.000000Z",
        "start:nightly-20261201T0700Z:1",
    ]
    assert applied.world.deeds == ["submit nightly-20261201T0700Z"]
    driver = applied.world.known["nightly-20261201T0700Z"]
    assert driver.entrypoint == "python -m jobs.batch_infer --job nightly"


def test_after_downtime_one_missed_start_is_caught_up(applied: Bench) -> None:
    applied.clock.forward(5 * 86400)
    applied.restart()
    applied.tick(5)
    assert applied.world.deeds == ["submit nightly-20261205T0700Z"]
    assert "late" in told(applied, "scheduled")[0]


def test_a_catalog_applied_after_the_hour_does_not_start_for_the_past(bench: Bench) -> None:
    bench.clock.forward(TO_TWO_IN_NEW_YORK_S + 1)
    apply_catalog(bench.controller, bench.catalog())
    assert bench.tick(5) == []


def test_a_start_during_the_previous_run_is_skipped(applied: Bench) -> None:
    applied.clock.forward(TO_TWO_IN_NEW_YORK_S)
    applied.tick(3)
    applied.clock.forward(86400)
    assert applied.tick(3) == ["skip:nightly:2026-12-02T07:00:00.000000Z"]
    applied.world.end("nightly-20261201T0700Z", DriverStatus.SUCCEEDED)
    assert applied.tick(3) == ["close:nightly-20261201T0700Z"], "the skipped start is not made up for"


def test_a_start_waits_for_its_model(applied: Bench) -> None:
    applied.models.absent = {"tune"}
    applied.clock.forward(TO_TWO_IN_NEW_YORK_S)
    applied.tick(5)
    assert applied.world.deeds == []
    assert told(applied, "waiting") == ["waits for run:tune"], "told once"
    applied.models.absent = set()
    applied.tick(3)
    assert applied.world.deeds == ["submit nightly-20261201T0700Z"]


def test_a_driver_that_dies_is_submitted_again_where_it_was(applied: Bench) -> None:
    given = begin(applied)
    works(applied, "raysubmit_1")
    applied.tick()
    applied.world.end("raysubmit_1", DriverStatus.FAILED, exit_code=137)
    applied.tick(6)
    assert applied.world.deeds == [f"submit {given.run_id}-a2"]
    again = applied.world.known[f"{given.run_id}-a2"]
    assert again.entrypoint == "python -m jobs.finetune --job tune"
    assert again.runtime_env_json == '{"working_dir": "gcs://x.zip"}'
    second = begin_run(applied.controller, "tune", f"{given.run_id}-a2", None)
    assert (second.run_id, second.attempt, second.label_selector) == (given.run_id, 2, given.label_selector)


def test_a_user_stop_ends_the_run(applied: Bench) -> None:
    begin(applied)
    applied.world.end("raysubmit_1", DriverStatus.STOPPED)
    applied.tick(10)
    (run,) = all_runs(applied)
    assert (run.state, run.reason, applied.world.deeds) == (RunState.STOPPED, "stopped by the user", [])


def test_a_run_over_its_time_is_stopped(applied: Bench) -> None:
    given = begin(applied)
    works(applied, "raysubmit_1")
    applied.tick(1, seconds=3600)
    assert applied.world.deeds == []
    assert applied.tick(3) == [f"close:{given.run_id}", f"stop:{given.run_id}:1"]
    assert all_runs(applied)[0].state is RunState.STOPPED


def test_a_run_without_capacity_moves_to_the_next_candidate(applied: Bench) -> None:
    given = begin(applied)
    asks(applied, given)
    applied.tick(9, seconds=10)
    assert applied.world.deeds == []
    applied.tick(5, seconds=10)
    assert applied.world.deeds == ["stop raysubmit_1", f"submit {given.run_id}-a2"]
    second = begin_run(applied.controller, "tune", f"{given.run_id}-a2", None)
    offers = applied.controller.applied().offers("tune")
    assert [one.offer for one in all_runs(applied)[0].attempts] == list(offers[:2])
    assert second.label_selector != given.label_selector
    assert [one.state for one in all_runs(applied)[0].attempts] == [AttemptState.MOVED, AttemptState.RUNNING]


def test_later_runs_avoid_an_offer_without_capacity_for_a_while(applied: Bench) -> None:
    asks(applied, begin(applied))
    applied.tick(12, seconds=10)
    first, second, *_ = applied.controller.applied().offers("tune")
    (moved,) = all_runs(applied)
    report_event(applied.controller, moved.run_id, "finished", "", {})
    applied.world.demands = []
    for submission, later_s, expected in (("s2", 0, second), ("s3", 3600, first)):
        applied.clock.forward(later_s)
        run = begin(applied, submission).run_id
        report_event(applied.controller, run, "finished", "", {})
        assert all_runs(applied)[-1].attempts[0].offer == expected


def test_a_run_that_works_is_not_moved_although_it_asks_for_more(applied: Bench) -> None:
    """An elastic run, or a node that was taken away and is being replaced in time."""
    given = begin(applied)
    works(applied, "raysubmit_1")
    asks(applied, given)
    assert applied.tick(20, seconds=10) == []
    applied.world.workers = []
    assert applied.tick(8, seconds=10) == [], "the wait counts from when it had nothing"
    works(applied, "raysubmit_1")
    applied.tick()
    asks(applied, given)
    applied.world.workers = []
    assert applied.tick(8, seconds=10) == []
    assert applied.tick(4, seconds=10)[0] == f"move:{given.run_id}:2"


def test_a_node_that_boots_is_waited_for(applied: Bench) -> None:
    """Slow machines: the capacity is there and paid for, it only has not joined yet."""
    given = begin(applied)
    asks(applied, given)
    offer = applied.controller.applied().placement("tune").chosen
    booting = replace(interval(applied), instance_type=offer.instance_type, zone=offer.zone)
    applied.tick()
    applied.world.intervals = [booting]
    assert applied.tick(20, seconds=10) == []
    applied.world.intervals = [replace(booting, ended_at=to_iso(applied.clock.now), end_reason="unknown")]
    assert applied.tick(12, seconds=10)[0] == f"move:{given.run_id}:2"


def test_demand_for_other_nodes_is_not_this_runs_wait(applied: Bench) -> None:
    given = begin(applied)
    other = tuple((key, "other" if key.endswith("zone") else value) for key, value in given.label_selector)
    applied.world.demands = [Demand(selector=other, resources=()), Demand(selector=(), resources=(("CPU", 1.0),))]
    assert applied.tick(20, seconds=10) == []


def test_a_driver_that_ray_refuses_is_tried_again_and_then_given_up(applied: Bench) -> None:
    applied.clock.forward(TO_TWO_IN_NEW_YORK_S)
    applied.world.refuses = "submit"
    applied.tick(20)
    first = all_runs(applied)[0].attempts[0]
    assert (first.state, first.reason) == (AttemptState.DIED, "submit refused")
    assert told(applied, "resubmitted")[0].endswith("submit refused")
    applied.world.refuses = ""
    applied.tick(40)
    assert applied.world.deeds == ["submit nightly-20261201T0700Z-a2"]


def test_while_ray_is_away_nothing_is_concluded(applied: Bench) -> None:
    given = begin(applied)
    applied.world.away = True
    for _ in range(5):
        with pytest.raises(UnreachableError):
            applied.tick()
    applied.world.away = False
    assert applied.tick() == []
    assert all_runs(applied)[0].run_id == given.run_id


def test_a_head_that_forgot_its_drivers_gets_them_again(applied: Bench) -> None:
    """`down` and `up` with the same ledger: Ray's memory is gone, ours is not."""
    given = begin(applied)
    applied.world.known.clear()
    applied.restart()
    applied.tick(5)
    assert applied.world.deeds == [f"submit {given.run_id}-a2"]


def test_a_driver_lost_before_it_began_is_submitted_again(applied: Bench) -> None:
    """The head went down between our submission and the driver's first word."""
    applied.clock.forward(TO_TWO_IN_NEW_YORK_S)
    applied.tick(2)
    applied.world.known.clear()
    applied.restart()
    applied.tick(6)
    first, second = all_runs(applied)[0].attempts
    assert (first.state, first.reason) == (AttemptState.DIED, "driver lost with the head: Ray no longer knows it")
    assert applied.world.deeds[1:] == [f"submit {second.submission_id}"]


def test_a_service_without_an_application_waits_alone(bench: Bench, service_text: str) -> None:
    """It must not stop the loop: every other job depends on it."""
    embedder = """\
  vectors:
    {kind: serve, models: {only: base}, task: embed, traffic: {requests_per_second: 2, prompt_tokens: 80}}
"""
    apply_catalog(bench.controller, bench.catalog(service_text + embedder))
    bench.tick(5)
    assert bench.world.deeds == ["deploy chat"] and told(bench, "trouble") == []
    assert any("no application that serves it yet" in message for message in told(bench, "waiting"))


def test_services_are_deployed_and_kept(bench: Bench, service_text: str) -> None:
    bench.models.absent = {"tune"}
    apply_catalog(bench.controller, bench.catalog(service_text))
    bench.tick(3)
    assert (bench.world.deeds, told(bench, "waiting")) == ([], ["waits for run:tune"])
    bench.models.absent = set()
    assert bench.tick(5)[0].startswith("deploy:")
    assert bench.world.deeds == ["deploy chat"]
    bench.models.version = 2
    bench.tick(5)
    assert bench.world.deeds == ["deploy chat"] * 2, "the model was trained again"
    bench.world.apps = {}
    bench.tick(30)
    assert bench.world.deeds == ["deploy chat"] * 3, "Serve lost it"
    bench.restart()
    bench.tick(5)
    assert len(bench.world.deeds) == 3
    apply_catalog(bench.controller, bench.catalog())
    bench.tick(5)
    assert bench.world.deeds[3:] == ["deploy "], "removed from the catalog"
    assert bench.tick(30) == []


def test_a_service_without_capacity_moves_only_the_model_that_waits(bench: Bench, service_text: str) -> None:
    apply_catalog(bench.controller, bench.catalog(service_text))
    bench.tick()
    planned = bench.controller.applied()
    first = planned.offers("chat", "large")[0]
    choice = planned.placement("chat", "large").chosen
    bench.world.demands = [Demand(selector=tuple(node_selector(choice).items()), resources=())]
    bench.world.nodes = [LiveNode(node_id="i-1", labels=(), resources=(), head=False)]
    bench.tick(12, seconds=10)
    with bench.controller.database.read() as connection:
        last = actions.last_done(connection, "DeployServices")
    assert last is not None
    chosen = {part: offer for _, part, offer in last[0]["offers"]}
    assert chosen["large"] != first
    assert len(bench.world.deeds) == 2
    bench.world.demands = []
    bench.clock.forward(3600)
    assert bench.tick(5) == [], "it does not move back once the offer recovered"


def interval(bench: Bench) -> NodeInterval:
    return NodeInterval(
        node_id="i-1", instance_type="g6.xlarge", accelerator="L4", market=Market.SPOT, zone="z",
        price_usd_per_hour=Decimal("0.36"), on_demand_usd_per_hour=Decimal("0.9"), started_at=to_iso(bench.clock.now),
        ended_at=None, end_reason="", emulated=True,
    )  # fmt: skip


def test_who_used_which_node_is_written_down(bench: Bench, service_text: str) -> None:
    apply_catalog(bench.controller, bench.catalog(service_text))
    given = begin(bench)
    begun = interval(bench)
    bench.world.intervals = [begun]
    bench.tick()
    works(bench, "raysubmit_1")
    bench.world.user_submits("somebody's own")
    bench.world.workers.append(Worker(ray_job_id="job-somebody's own", node_id="i-1"))
    bench.world.workers.append(Worker(ray_job_id="job-raysubmit_1", node_id="head"))
    bench.world.nodes.append(LiveNode(node_id="head", labels=(), resources=(), head=True))
    bench.world.apps = {"chat": replace(bench.world.apps["chat"], replica_nodes=("i-1", "i-1"))}
    bench.tick(3)
    bench.world.intervals = [replace(begun, ended_at=to_iso(bench.clock.now), end_reason="interrupted-with-notice")]
    bench.world.notices = [Notice(node_id="i-1", kind="interruption-notice", at=to_iso(bench.clock.now))]
    bench.world.workers = []
    bench.tick(2)
    with bench.controller.database.read() as connection:
        uses = {(use.job, use.kind, use.consumer, use.node_id) for use in nodes.all_uses(connection)}
    assert uses == {
        ("tune", "train", given.run_id, "i-1"),
        ("other", "other", "somebody's own", "i-1"),
        ("chat", "serve", "chat", "i-1"),
    }
    assert told(bench, "node-started") == ["g6.xlarge spot in z at $0.36/h (emulated)"]
    assert told(bench, "node-ended") == ["g6.xlarge spot in z: interrupted-with-notice"]
    assert len(told(bench, "interruption-notice")) == 1
