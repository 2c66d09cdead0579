"""One real deployment: two tiny models behind the routing ingress, on emulated L4 nodes that the autoscaler starts."""

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.model.card import Dtype, ModelCard
from orchestrator.model.job import Engine, JobClass, Pattern, Replicas, Route, ServeJob, Slo, Task, Traffic
from orchestrator.model.offer import Market
from orchestrator.model.plan import Basis, Choice, Parallelism, Pool
from orchestrator.runtime.serve_config import ServedPart, Service, render

pytestmark = [pytest.mark.ray, pytest.mark.engine, pytest.mark.timeout(420)]

SHORT, LONG = "Name the service.", "word " * 60
SAY_A = {"logit_bias": {"67": 100}, "temperature": 0}
"""Token 67 of the tiny tokenizer is the letter a: a random model then says something that can be compared."""


def card(name: str) -> ModelCard:
    return ModelCard(
        name=name, source="unused", params=3e6, layers=4, hidden_size=256, heads=8, kv_heads=4, head_dim=32,
        context_tokens=1024, dtype=Dtype.FP32,
    )  # fmt: skip


@pytest.fixture(scope="module")
def service(tiny_llama: Path) -> Service:
    small, large = card("tiny-small"), card("tiny-large")
    job = ServeJob(
        name="assistant", job_class=JobClass.SERVE, models=(("small", small), ("large", large)),
        traffic_share=(("small", 0.5), ("large", 0.5)),
        routes=(
            Route(when=("header:x-tier", "==", "gold"), to="large", max_tokens=None),
            Route(when=("prompt_words", "<", 50.0), to="small", max_tokens=6),
            Route(when=None, to="large", max_tokens=900),
        ),
        task=Task.GENERATE,
        traffic=Traffic(
            requests_per_second=1, peak_requests_per_second=1, prompt_tokens=50, output_tokens=8,
            pattern=Pattern.CONSTANT,
        ),
        slo=Slo(), replicas=Replicas(min=1, max=1, warm=0), quantization=None, max_accuracy_drop=None,
        speculative_method=None, engine=Engine(max_num_seqs=4), overflow=None,
    )  # fmt: skip
    pool = Pool(offer="g6.xlarge:spot:us-east-1:use1-az1", market=Market.SPOT, zone="use1-az1", instances=0.5)
    choice = Choice(
        offer="g6.xlarge:spot:us-east-1:use1-az1", instance_type="g6.xlarge", accelerator="L4",
        accelerators_per_instance=1, instances=0.5, market=Market.SPOT, zone="use1-az1", pools=(pool,), share=0.5,
        parallelism=Parallelism(tensor=1, data=1), usd_per_hour=Decimal("0.30"), expected_usd=Decimal(1),
        expected_seconds=1.0, costs=(), basis=Basis.ROOFLINE,
    )  # fmt: skip
    parts = tuple(ServedPart(name=name, card=made, path=str(tiny_llama), choice=choice) for name, made in job.models)
    return Service(job=job, parts=parts)


@pytest.fixture(scope="module")
def url(service: Service, local_cluster: Callable[..., Any], until: Callable[..., Any]) -> Iterator[str]:
    """Where the deployed service answers."""
    cluster = local_cluster(fresh=True)  # Serve keeps the HTTP port that it was first started with
    serve_url = httpx.URL(cluster.info.serve_url)
    config = render([service], emulated=True, http_host=serve_url.host, http_port=serve_url.port)
    token = Path(cluster.info.token_path).read_text()
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=cluster.info.dashboard_url, headers=headers, timeout=60) as dashboard:
        dashboard.put("/api/serve/applications/", json=config).raise_for_status()

        def running() -> bool:
            state = dashboard.get("/api/serve/applications/").raise_for_status().json()["applications"]["assistant"]
            assert state["status"] not in ("DEPLOY_FAILED", "UNHEALTHY"), state["message"]
            return bool(state["status"] == "RUNNING")

        until(running, 300, "the application runs")
        yield str(serve_url)
        dashboard.delete("/api/serve/applications/").raise_for_status()


def chat(url: str, text: str, *, model: str = "auto", path: str = "/v1", **fields: Any) -> httpx.Response:
    headers = fields.pop("headers", {})
    body = {"model": model, "messages": [{"role": "user", "content": text}], **SAY_A, **fields}
    return httpx.post(f"{url}{path}/chat/completions", json=body, headers=headers, timeout=60)


def test_answers_chats_completions_and_streams(url: str) -> None:
    models = httpx.get(f"{url}/v1/models", timeout=30).raise_for_status().json()
    assert sorted(model["id"] for model in models["data"]) == ["auto", "large", "small"]

    plain = chat(url, SHORT, model="large", max_tokens=5).raise_for_status()
    assert plain.json()["model"] == "large"
    assert plain.json()["choices"][0]["message"]["content"] == "aaaaa"
    assert plain.headers["x-orchestrator-model"] == "large"
    assert plain.headers["x-orchestrator-route"] == "explicit"

    body = {"model": "tiny-small", "prompt": SHORT, "max_tokens": 4, **SAY_A}
    completed = httpx.post(f"{url}/v1/completions", json=body, timeout=60).raise_for_status()
    assert completed.json()["choices"][0]["text"] == "aaaa"
    assert completed.headers["x-orchestrator-model"] == "small"

    streamed = chat(url, SHORT, model="large", max_tokens=5, stream=True).raise_for_status()
    assert streamed.headers["x-orchestrator-model"] == "large"
    lines = [line.removeprefix("data: ") for line in streamed.text.splitlines() if line]
    assert lines[-1] == "[DONE]"
    deltas = [json.loads(line)["choices"][0]["delta"].get("content") or "" for line in lines[:-1]]
    assert "".join(deltas) == "aaaaa"


@pytest.mark.parametrize(
    ("text", "headers", "part", "rule", "most_tokens"),
    [
        pytest.param(SHORT, {}, "small", "prompt_words < 50", 6, id="short-prompt-to-small-and-capped"),
        pytest.param(LONG, {}, "large", "otherwise", 900, id="long-prompt-to-large"),
        pytest.param(SHORT, {"x-tier": "gold"}, "large", "header:x-tier == gold", 9, id="header"),
    ],
)
def test_auto_follows_the_rules(
    url: str, text: str, headers: dict[str, str], part: str, rule: str, most_tokens: int
) -> None:
    limit = {} if part == "small" else {"max_tokens": 9}
    answer = chat(url, text, headers=headers, **limit).raise_for_status()
    assert answer.headers["x-orchestrator-model"] == part
    assert answer.headers["x-orchestrator-route"] == rule
    assert answer.json()["model"] == part
    assert answer.json()["usage"]["completion_tokens"] == min(most_tokens, 9)


def test_a_cap_of_ours_never_makes_a_fitting_prompt_fail(url: str) -> None:
    answer = chat(url, "word " * 150)
    assert answer.status_code == 200, answer.text
    usage = answer.json()["usage"]
    assert usage["prompt_tokens"] > 750
    assert 0 < usage["completion_tokens"] < 900


def test_the_service_also_answers_below_its_own_name(url: str) -> None:
    assert chat(url, SHORT, path="/assistant/v1", max_tokens=2).status_code == 200


def test_unknown_models_get_openai_errors(url: str) -> None:
    answer = chat(url, SHORT, model="gpt-4")
    assert answer.status_code == 404
    error = answer.json()["error"]
    assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", "model", "model_not_found")
    assert "gpt-4" in error["message"]
