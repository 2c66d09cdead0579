"""The drivers' client: what it sends, what it makes of every answer, and that reports never stop the work."""

import json
from collections import deque
from dataclasses import replace
from decimal import Decimal

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.model.assignment import Assignment
from orchestrator.model.card import ModelCard
from orchestrator.model.error import InputError, OperationError
from orchestrator.model.job import BatchJob, ServeJob, TrainJob
from orchestrator.runtime import outbox
from orchestrator.runtime.controller import ASSIGNMENT, Controller, submission_id

st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
st.register_type_strategy(Decimal, st.decimals(allow_nan=False, allow_infinity=False))
text = st.text(st.characters(codec="utf-8"), max_size=8)
st.register_type_strategy(str, text)


@settings(max_examples=60, deadline=None)
@given(st.one_of(*(st.builds(Assignment, job=st.from_type(kind)) for kind in (TrainJob, BatchJob, ServeJob))))
def test_an_assignment_survives_json(assignment):
    assert ASSIGNMENT.validate_json(ASSIGNMENT.dump_json(assignment)) == assignment
    assert ASSIGNMENT.validate_python(ASSIGNMENT.dump_python(assignment, mode="json")) == assignment


@pytest.fixture(scope="module")
def assignment():
    card = ModelCard(
        name="m", source="/m", params=1.0, layers=1, hidden_size=1, heads=1, kv_heads=1, head_dim=1, context_tokens=1,
        dtype="fp32",
    )  # fmt: skip
    job = BatchJob(
        name="nightly", job_class="batch", model=card, schedule=None, window_s=None, input="", output="",
        id_column="id", prompt="", rows=None, prompt_tokens=1.0, output_tokens=1.0, max_instances=1,
        max_duration_s=None, quantization=None, engine={},
    )  # fmt: skip
    made = Assignment(
        run_id="nightly-1", attempt=1, job=job, label_selector=(("a", "b"),), accelerator=None,
        accelerators_per_worker=0, cpus_per_worker=1, tensor_parallel=1, num_workers=1, storage="/s", output_model="",
        emulated=True,
    )  # fmt: skip
    return ASSIGNMENT.validate_python(ASSIGNMENT.dump_python(made, mode="json", warnings=False))


class Api:
    """Answers requests with what it is told to, in turn; the last answer is repeated."""

    def __init__(self, *answers):
        self.answers = deque(answers)
        self.requests = []

    def __call__(self, request):
        self.requests.append(request)
        answer = self.answers[0] if len(self.answers) == 1 else self.answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def bodies(self):
        return [json.loads(request.content) for request in self.requests]


def client(api, tmp_path, **changes):
    token = tmp_path / "token"
    token.write_text("secret\n")
    options = {"submission_id": "sub-1", "patience_s": 2.0, "transport": httpx.MockTransport(api), **changes}
    return Controller("http://127.0.0.1:1", str(token), **options)


def test_a_loss_of_nan_is_told_as_text_and_stops_nothing(tmp_path):
    api = Api(httpx.Response(200, json={"id": 1}))
    with client(api, tmp_path) as controller:
        controller.report("r-1", "progress", "step 1", loss=float("nan"), step=1)
        controller.report("r-1", "progress", "step 2", loss=0.5, step=2)
    assert [body["data"] for body in api.bodies()] == [{"loss": "nan", "step": 1}, {"loss": 0.5, "step": 2}]


def test_begins_a_run(tmp_path, assignment):
    api = Api(httpx.Response(200, content=ASSIGNMENT.dump_json(assignment)))
    assert client(api, tmp_path).begin_run("nightly", "version: 1", "/here", "batch") == assignment
    (request,) = api.requests
    assert (request.method, request.url.path) == ("POST", "/v1/runs")
    assert request.headers["authorization"] == "Bearer secret"
    assert api.bodies() == [
        {
            "job": "nightly",
            "kind": "batch",
            "submission_id": "sub-1",
            "catalog_text": "version: 1",
            "base_dir": "/here",
        }
    ]


@pytest.mark.parametrize(
    "first", [httpx.ConnectError("refused"), httpx.ReadTimeout("slow"), httpx.Response(503)], ids=str
)
def test_waits_while_the_controller_restarts(tmp_path, assignment, first):
    api = Api(first, httpx.Response(200, content=ASSIGNMENT.dump_json(assignment)))
    assert client(api, tmp_path).begin_run("nightly") == assignment
    assert len(api.requests) == 2


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        (httpx.Response(409, json={"error": "nightly-1 is running"}), OperationError, "nightly-1 is running"),
        (httpx.Response(422, json={"faults": ["c.yaml:1:2: x", "c.yaml:3:4: y"]}), InputError, "x\nc.yaml:3:4: y"),
        (httpx.Response(404, json={"error": "no such job"}), InputError, "no such job"),
        (httpx.Response(401), InputError, "refused the token"),
        (httpx.Response(200, json={"run_id": 1}), OperationError, "cannot be understood"),
        (httpx.Response(200, text="<html>"), OperationError, "cannot be understood"),
        (httpx.ConnectError("refused"), OperationError, "does not answer"),
        (httpx.Response(500), OperationError, "does not answer"),
    ],
    ids=["live", "catalog", "unknown", "token", "other version", "not json", "away", "broken"],
)
def test_says_why_a_run_cannot_begin(tmp_path, answer, error, says):
    with pytest.raises(error) as told:
        client(Api(answer), tmp_path, patience_s=0.3).begin_run("nightly")
    assert says in str(told.value)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(outbox, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(outbox, "LONGEST_WAIT_S", 0.02)


def test_reports_wait_for_the_controller_and_keep_their_order(tmp_path, impatient):
    api = Api(httpx.ConnectError("refused"), httpx.Response(502), httpx.Response(200, json={}))
    with client(api, tmp_path) as controller:
        for step in range(5):
            controller.report("r-1", "progress", f"step {step}", step=step)
    delivered = api.bodies()[2:]
    assert [body["data"]["step"] for body in delivered] == list(range(5))
    assert delivered[0] == {"kind": "progress", "message": "step 0", "data": {"step": 0}}
    assert {request.url.path for request in api.requests} == {"/v1/runs/r-1/events"}


def test_a_refused_event_is_dropped_and_told(tmp_path, impatient, caplog):
    api = Api(httpx.Response(422), httpx.Response(200, json={}))
    with client(api, tmp_path) as controller:
        controller.report("r-1", "nonsense", "what")
        controller.report("r-1", "progress", "next")
    assert len(api.requests) == 2
    assert "refused an event (422): what" in caplog.text


def test_an_absent_controller_never_stops_the_work(tmp_path, impatient, caplog):
    controller = client(Api(httpx.ConnectError("refused")), tmp_path)
    for step in range(2000):
        controller.report("r-1", "progress", "on", step=step)
    controller.close(0.2)
    assert "could not be delivered" in caplog.text


def test_the_environment_says_where_the_controller_is(tmp_path):
    token = tmp_path / "token"
    token.write_text("secret")
    job_config = json.dumps({"metadata": {"job_submission_id": "raysubmit_1"}})
    env = {"ORCHESTRATOR_API_URL": "http://127.0.0.1:9", "ORCHESTRATOR_TOKEN_PATH": str(token)}
    found = Controller.from_env({**env, "RAY_JOB_CONFIG_JSON_ENV_VAR": job_config})
    assert (found.url, found.token_path) == ("http://127.0.0.1:9", str(token))
    with pytest.raises(InputError, match="orchestrator up"):
        Controller.from_env({})
    with pytest.raises(InputError, match="is missing"):
        Controller.from_env({**env, "ORCHESTRATOR_TOKEN_PATH": str(tmp_path / "gone")})


@pytest.mark.parametrize(
    ("config", "expected"),
    [('{"metadata": {"job_submission_id": "s"}}', "s"), ("{}", None), ("[]", None), ("no json", None), (None, None)],
)
def test_a_submission_id_comes_from_ray(config, expected):
    assert submission_id({} if config is None else {"RAY_JOB_CONFIG_JSON_ENV_VAR": config}) == expected


def test_a_train_assignment_keeps_what_is_not_json(assignment):
    made = replace(assignment, job=replace(assignment.job, max_price_usd_per_hour=Decimal("1.10")))
    assert ASSIGNMENT.validate_json(ASSIGNMENT.dump_json(made)).job.max_price_usd_per_hour == Decimal("1.10")
