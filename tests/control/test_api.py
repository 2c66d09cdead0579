"""The HTTP API: tokens, limits, status codes, and the shapes that drivers and the command line rely on."""

import errno
import json
import threading
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import TypeAdapter
from sqlalchemy.exc import IntegrityError

from orchestrator.control.api import create_app
from orchestrator.control.wire import MAX_BODY_BYTES, MAX_DATA_ITEMS, MAX_MESSAGE_CHARS, REPORTED_KINDS
from orchestrator.control.world import WorldView
from orchestrator.ledger import events
from orchestrator.model.assignment import Assignment
from orchestrator.model.error import OperationError
from orchestrator.model.event import Event
from orchestrator.policy.observed import DriverStatus

Bench = Any
TOKEN = "secret-token"


@pytest.fixture
def client(bench: Bench) -> TestClient:
    return TestClient(create_app(bench.controller, TOKEN), headers={"Authorization": f"Bearer {TOKEN}"})


@pytest.fixture
def body(bench: Bench, catalog_text: str) -> dict[str, str]:
    return {"text": catalog_text, "file": "c.yaml", "base_dir": str(bench.folder)}


@pytest.fixture
def run_id(client: TestClient, bench: Bench, body: dict[str, str]) -> str:
    """A run that is going on."""
    client.put("/v1/catalog", json=body)
    bench.world.user_submits("raysubmit_1")
    answer = client.post("/v1/runs", json={"job": "tune", "submission_id": "raysubmit_1"})
    assert answer.status_code == 200
    found: str = answer.json()["run_id"]
    return found


PATHS = [
    ("GET", "/v1/status"),
    ("GET", "/v1/events"),
    ("GET", "/v1/cost"),
    ("PUT", "/v1/catalog"),
    ("POST", "/v1/runs"),
    ("POST", "/v1/runs/r/events"),
    ("GET", "/nothing/here"),
]


@pytest.mark.parametrize(("method", "path"), PATHS)
@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer wrong", TOKEN, f"Basic {TOKEN}"])
def test_without_the_token_nothing_is_told(bench: Bench, method: str, path: str, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    answer = TestClient(create_app(bench.controller, TOKEN)).request(method, path, headers=headers)
    assert (answer.status_code, answer.json()) == (401, {"error": "missing or wrong token"})


def test_health_needs_no_token(bench: Bench) -> None:
    answer = TestClient(create_app(bench.controller, TOKEN)).get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"ok": True, "ticked_at": None})


def test_applying_answers_with_the_plan(client: TestClient, body: dict[str, str]) -> None:
    answer = client.put("/v1/catalog", json=body)
    plan = answer.json()
    assert answer.status_code == 200
    assert plan["jobs"]["tune"]["status"] == "placed"
    assert plan["jobs"]["tune"]["chosen"]["offer"] == plan["jobs"]["tune"]["candidates"][0]["offer"]
    assert {"now", "prices_as_of", "timings", "solver", "objective_usd_per_month", "warnings"} <= plan.keys()
    assert len(plan["changes"]) == 2


def test_all_faults_of_a_catalog_come_back(client: TestClient, body: dict[str, str]) -> None:
    text = body["text"].replace("kind: train", "kind: trian").replace("fp32, batch", "int4, batch")
    answer = client.put("/v1/catalog", json={**body, "text": text})
    assert answer.status_code == 422
    faults = answer.json()["faults"]
    assert any("train" in fault for fault in faults)
    assert all(fault.startswith("c.yaml:") for fault in faults)


def test_the_assignment_reads_back_as_the_noun(client: TestClient, run_id: str) -> None:
    answer = client.post("/v1/runs", json={"job": "tune", "submission_id": "raysubmit_1"})
    given = TypeAdapter(Assignment).validate_json(answer.content)
    assert (given.run_id, given.attempt, given.job.name) == (run_id, 1, "tune")
    assert given.job.kind.value == "train"


def test_refusals(client: TestClient, bench: Bench, run_id: str) -> None:
    bench.world.user_submits("raysubmit_2")
    second = client.post("/v1/runs", json={"job": "tune", "submission_id": "raysubmit_2"})
    unknown = client.post("/v1/runs", json={"job": "nobody"})
    faulty = client.post("/v1/runs", json={"job": "x", "catalog_text": "jobs: {x: 1}", "base_dir": "/"})
    bench.world.away = True
    unreachable = client.post("/v1/runs", json={"job": "tune", "submission_id": "raysubmit_1"})
    found = [answer.status_code for answer in (second, unknown, faulty, unreachable)]
    assert found == [409, 404, 422, 503]
    assert run_id in second.json()["error"]
    assert faulty.json()["faults"]


def test_a_run_goes_on_after_its_driver_died(client: TestClient, bench: Bench, run_id: str) -> None:
    bench.world.end("raysubmit_1", DriverStatus.FAILED, 137)
    bench.world.user_submits("raysubmit_2")
    answer = client.post("/v1/runs", json={"job": "tune", "submission_id": "raysubmit_2"}).json()
    assert (answer["run_id"], answer["attempt"]) == (run_id, 2)


@pytest.mark.parametrize("kind", REPORTED_KINDS)
def test_drivers_report(client: TestClient, run_id: str, kind: str) -> None:
    answer = client.post(
        f"/v1/runs/{run_id}/events", json={"kind": kind, "message": "step 3", "data": {"step": 3, "loss": 0.5}}
    )
    assert answer.status_code == 200
    (event,) = client.get("/v1/events", params={"after": answer.json()["id"] - 1}).json()
    assert {name: event[name] for name in ("kind", "message", "run_id", "job", "data")} == {
        "kind": kind,
        "message": "step 3",
        "run_id": run_id,
        "job": "tune",
        "data": {"step": 3, "loss": 0.5},
    }


@pytest.mark.parametrize(
    ("event", "code"),
    [
        pytest.param({"kind": "closed"}, 422, id="the-controllers-own-kind"),
        pytest.param({"kind": "progress", "extra": 1}, 422, id="unknown-field"),
        pytest.param({"kind": "progress", "data": {"x": [1]}}, 422, id="data-that-is-no-scalar"),
        pytest.param({"kind": "progress", "message": "x" * (MAX_MESSAGE_CHARS + 1)}, 422, id="long-message"),
        pytest.param(
            {"kind": "progress", "data": {f"k{n}": n for n in range(MAX_DATA_ITEMS + 1)}}, 422, id="much-data"
        ),
        pytest.param({}, 422, id="no-kind"),
        pytest.param('{"kind": "resumed", "data": {"lost_s": NaN}}', 422, id="not-a-number"),
        pytest.param('{"kind": "resumed", "data": {"lost_s": 1e400}}', 422, id="infinity"),
        pytest.param('{"kind": "resumed", "data": {"lost_s": -Infinity}}', 422, id="minus-infinity"),
    ],
)
def test_reports_that_are_not_taken(client: TestClient, run_id: str, event: Any, code: int) -> None:
    before = client.get("/v1/events").json()
    content = event if isinstance(event, str) else json.dumps(event)
    answer = client.post(f"/v1/runs/{run_id}/events", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == code
    assert answer.json()["error"]
    assert client.get("/v1/events").json() == before


def test_an_unknown_run_is_not_found(client: TestClient) -> None:
    answer = client.post("/v1/runs/nobody/events", json={"kind": "progress"})
    assert (answer.status_code, answer.json()["error"]) == (404, "there is no run nobody.")


def test_huge_bodies_are_refused_unread(client: TestClient) -> None:
    answer = client.put("/v1/catalog", content=b"x" * (MAX_BODY_BYTES + 1))
    assert answer.status_code == 413
    stream = client.put("/v1/catalog", content=iter([b"{}"]))
    assert stream.status_code == 413, "a body without a length could be endless"


def test_events_can_be_followed_page_by_page(client: TestClient, run_id: str) -> None:
    for number in range(5):
        client.post(f"/v1/runs/{run_id}/events", json={"kind": "progress", "message": str(number)})
    seen: list[str] = []
    after = 0
    while page := client.get("/v1/events", params={"after": after, "job": "tune", "limit": 2}).json():
        assert len(page) <= 2
        seen += [event["message"] for event in page if event["kind"] == "progress"]
        after = page[-1]["id"]
    assert seen == [str(number) for number in range(5)]


def test_a_tick_that_does_not_end_holds_up_no_request(client: TestClient, bench: Bench, body: dict[str, str]) -> None:
    """What needs the loop's lock is refused in time, and nothing of it is done."""
    client.put("/v1/catalog", json=body)
    bench.tick()
    before = client.get("/v1/events").json()
    bench.controller.settings = replace(bench.controller.settings, patience_s=0.05)
    held, free = threading.Event(), threading.Event()

    def hangs() -> Any:
        held.set()
        free.wait(60)
        return WorldView()

    honest, bench.world.view = bench.world.view, hangs
    tick = threading.Thread(target=bench.controller.tick)
    tick.start()
    assert held.wait(20)
    asked = [
        client.put("/v1/catalog", json=body),
        client.post("/v1/runs", json={"job": "tune"}),
        client.post("/v1/runs/r/events", json={"kind": "progress"}),
    ]
    assert [answer.status_code for answer in asked] == [503] * 3
    assert "has not seen the cluster since 12:00:00 UTC; try again" in asked[0].json()["error"]
    assert client.get("/v1/status").json()["ticked_at"] is not None
    free.set()
    tick.join(20)
    bench.world.view = honest
    assert client.get("/v1/events").json() == before
    assert client.put("/v1/catalog", json=body).status_code == 200


@pytest.mark.parametrize("ticks", [0, 1])
def test_a_controller_that_does_not_see_the_cluster_says_so(client: TestClient, bench: Bench, ticks: int) -> None:
    bench.tick(ticks, seconds=20)
    assert client.get("/v1/status").json()["note"] == ""
    bench.clock.forward(21)
    note = client.get("/v1/status").json()["note"]
    assert note.startswith("the controller has not seen the cluster since 12:00:00 UTC")
    assert "orchestrator up" in note
    assert ("when it was started" in note) is (ticks == 0)
    bench.tick(seconds=1)
    assert client.get("/v1/status").json()["note"] == ""


@pytest.mark.parametrize("number", [10**25, 2**63, -1, "x"])
def test_event_numbers_have_their_bounds(client: TestClient, number: object) -> None:
    assert client.get("/v1/events", params={"after": number}).status_code == 422
    assert client.get("/v1/events", params={"after": 2**63 - 1}).json() == []


@pytest.mark.parametrize("number", [10**30, 10**400, -(10**400), 1e308])
def test_large_numbers_break_nothing(client: TestClient, run_id: str, number: float) -> None:
    """Taken or refused, events and bill are still told."""
    report = {"kind": "resumed", "data": {"lost_s": number}}
    assert client.post(f"/v1/runs/{run_id}/events", json=report).status_code in (200, 422)
    assert client.get("/v1/events").status_code == 200
    assert client.get("/v1/cost").json()["total"]["lost_s"] == 0


def test_what_older_versions_let_in_is_still_told(client: TestClient, bench: Bench) -> None:
    event = Event(at="t", kind="resumed", message="", data=(("lost_s", float("nan")), ("x", float("inf"))))
    with bench.controller.database.write() as connection:
        events.append(connection, event)
    assert client.get("/v1/events").json()[-1]["data"] == {"lost_s": "nan", "x": "inf"}
    assert client.get("/v1/cost").json()["total"]["lost_s"] == 0


FULL = OSError(errno.ENOSPC, "No space left on device", "/state/autoscaling.json")


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        pytest.param(FULL, 503, "cannot use /state/autoscaling.json: No space left on device", id="file"),
        pytest.param(OSError(errno.EIO, "Input/output error"), 503, "its files: Input/output error", id="no-name"),
        pytest.param(OperationError("the ledger is full;", "free space"), 503, "the ledger is full; free", id="named"),
        pytest.param(IntegrityError("INSERT", {}, ValueError("not null")), 503, "ledger did not take", id="database"),
        pytest.param(KeyError("x"), 500, "a fault in the controller (KeyError: 'x')", id="fault"),
    ],
)
def test_failures_tell_their_cause(bench: Bench, body: dict[str, str], error: Exception, code: int, told: str) -> None:
    def fails(_plans: Any) -> None:
        raise error

    bench.world.offer_nodes = fails
    headers = {"Authorization": f"Bearer {TOKEN}"}
    client = TestClient(create_app(bench.controller, TOKEN), headers=headers, raise_server_exceptions=False)
    answer = client.put("/v1/catalog", json=body)
    assert answer.status_code == code
    assert told in answer.json()["error"]


def test_status_and_cost_have_their_shape(client: TestClient, bench: Bench, run_id: str) -> None:
    bench.tick()
    status = client.get("/v1/status").json()
    jobs = {job["name"]: job for job in status["jobs"]}
    assert (jobs["tune"]["state"], jobs["tune"]["run_id"], jobs["tune"]["attempt"]) == ("running", run_id, 1)
    assert jobs["nightly"]["next_start"] == "2026-12-01T07:00:00.000000Z"
    assert status["ticked_at"] is not None
    cost = client.get("/v1/cost").json()
    assert [line["consumer"] for line in cost["lines"]] == [run_id]
    assert cost["total"].keys() >= {"usd", "on_demand_usd", "saved_usd", "interruptions", "lost_s", "emulated"}
    assert json.dumps(cost)
