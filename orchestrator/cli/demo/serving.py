"""The serving chapter: the controller has deployed the service; requests find the right model by themselves."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet as pq
from rich.markup import escape

from orchestrator.cli.controller_client import get_json
from orchestrator.cli.demo.stage import Stage
from orchestrator.cli.planned import PlannedFile
from orchestrator.model.error import OperationError
from orchestrator.model.job import TrainJob

JOB = "ops-assistant"
READY_DEADLINE_S = 480.0
REQUEST_TIMEOUT_S = 60.0
SHOWN_CHARACTERS = 110
SHORT_WORDS = 50


def talk(stage: Stage, planned: PlannedFile, number: int) -> None:
    """Wait until the models answer, then send short and long requests, one by name and one as a stream."""
    story = stage.story
    story.chapter(number, "The service: OpenAI-compatible, routed by prompt length")
    with (
        _named_errors(),
        httpx.Client(base_url=stage.cluster.serve_url, timeout=REQUEST_TIMEOUT_S, trust_env=False) as client,
    ):
        story.wait("the service", lambda: running(stage), READY_DEADLINE_S)
        names = [each["id"] for each in client.get("/v1/models").json()["data"]]
        story.say(f"{stage.cluster.serve_url}/v1 answers, models: {', '.join(names)}")
        short, long = example_prompts(planned)
        story.say(f"short: {escape(shortened(short))}")
        story.say(f"long: {escape(shortened(long))}")
        ask(stage, client, "auto", short, expect="small")
        ask(stage, client, "auto", long, expect="large")
        ask(stage, client, "large", short, expect="large")
        chunks = list(stream(client, short))
        story.say(f"streamed: {len(chunks)} chunks → [bold]{escape(''.join(chunks))}[/bold]")
        if not chunks:
            raise OperationError("the stream was empty.")


def running(stage: Stage) -> bool | None:
    """True once all models of the service are loaded; OperationError when it cannot be deployed."""
    stage.news()
    found = get_json(stage.state, "/v1/status")["services"]
    service = next((each for each in found if each["name"] == JOB), None)
    if service is not None and service["status"] == "DEPLOY_FAILED":
        raise OperationError(f"{JOB} cannot be deployed.", "See the Serve page of the dashboard.")
    return True if service is not None and service["status"] == "RUNNING" else None


def ask(stage: Stage, client: httpx.Client, model: str, prompt: str, *, expect: str) -> None:
    """One chat completion; fails when another model than expected answered."""
    answer = client.post("/v1/chat/completions", json=_body(model, prompt))
    if not answer.is_success:
        raise OperationError(f"the service answered {answer.status_code}: {answer.text[:300]}")
    used, why = answer.headers.get("x-orchestrator-model", ""), answer.headers.get("x-orchestrator-route", "")
    text = answer.json()["choices"][0]["message"]["content"]
    seconds = answer.elapsed.total_seconds()
    about = f"model={model}, {len(prompt.split())} words → {used} ({why}), {seconds:.2f} s"
    stage.story.say(f"{escape(about)}: [bold]{escape(text)}[/bold]")
    if used != expect:
        raise OperationError(f"{used!r} answered a request that belongs to {expect!r}.")


def stream(client: httpx.Client, prompt: str) -> Iterator[str]:
    """The pieces of a streamed answer."""
    with client.stream("POST", "/v1/chat/completions", json={**_body("auto", prompt), "stream": True}) as answer:
        for line in answer.iter_lines():
            data = line.removeprefix("data: ")
            if line.startswith("data: ") and data != "[DONE]":
                for choice in json.loads(data)["choices"]:
                    if piece := choice["delta"].get("content"):
                        yield piece


def example_prompts(planned: PlannedFile) -> tuple[str, str]:
    """A short and a long held-out text: from the rows that no training saw."""
    data = next(job.data for job in planned.catalog.jobs if isinstance(job, TrainJob))
    prompts = pq.read_table(Path(data).with_name("heldout.parquet"), columns=["prompt"])["prompt"].to_pylist()
    by_length = sorted(prompts, key=lambda text: len(text.split()))
    short, long = by_length[0], by_length[-1]
    if len(short.split()) >= SHORT_WORDS:
        raise OperationError(f"no held-out text has under {SHORT_WORDS} words.")
    while len(long.split()) < SHORT_WORDS:
        long = f"{long} {long}"
    return short, long


def shortened(prompt: str) -> str:
    """The beginning of a prompt, as one line."""
    line = " ".join(prompt.split())
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[:SHOWN_CHARACTERS]}…"


@contextmanager
def _named_errors() -> Iterator[None]:
    try:
        yield
    except httpx.HTTPError as error:
        raise OperationError(f"the service does not answer: {error!r}.") from error


def _body(model: str, prompt: str) -> dict[str, Any]:
    return {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": 8,
        "temperature": 0.0,
    }
