"""The batch job without Ray and vLLM: what it makes, what it refuses, and what it does not do twice."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs import batch_infer
from orchestrator.model.assignment import Assignment
from orchestrator.model.card import Dtype, ModelCard
from orchestrator.model.error import InputError, OperationError
from orchestrator.model.job import BatchJob, Engine, JobClass, Kind
from orchestrator.runtime.batch_input import Shard
from orchestrator.runtime.batch_log import ShardLog, ShardStat, verify_output
from orchestrator.runtime.batch_rows import Answer, Failure, Prompt
from orchestrator.runtime.batch_shard import BatchSpec, answer_shard

DAY = "2026-11-30"


class Echo:
    """Answers every prompt with its length; prompts with "poison" in them end in an error of the engine."""

    context_tokens = 40

    def encode(self, text: str) -> list[int]:
        return [ord(letter) for letter in text]

    def answer(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Answer | Failure]:
        return [self._one(prompt) for prompt in prompts]

    def _one(self, prompt: Prompt) -> Answer | Failure:
        if "poison" in "".join(map(chr, prompt.tokens)):
            return Failure(at=prompt.at, reason="engine: ended with error")
        length = len(prompt.tokens)
        return Answer(at=prompt.at, text=f"{length}", finish_reason="stop", prompt_tokens=length, output_tokens=1)


class Reports:
    """Stands for the controller's client; remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []

    def report(self, run_id: str, kind: str, message: str, **data: Any) -> None:
        self.told.append((kind, data))


@pytest.fixture
def batch(tmp_path: Path) -> Callable[..., Assignment]:
    """An assignment of a batch over `rows` rows; the input file is made unless it is there."""
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    card = ModelCard(
        name="tiny", source=str(model), params=3e6, layers=4, hidden_size=256, heads=8, kv_heads=4, head_dim=32,
        context_tokens=40, dtype=Dtype.FP32,
    )  # fmt: skip

    def build(rows: int = 100, **changes: Any) -> Assignment:
        source = tmp_path / f"in-{DAY}.parquet"
        if not source.exists():
            write_rows(source, [f"row {number}" for number in range(rows)])
        job = BatchJob(
            name="nightly", job_class=JobClass.BATCH, model=card, schedule=None, window_s=None,
            input=str(tmp_path / "in-{date}.parquet"), output=str(tmp_path / "out" / "date={date}/"), id_column="id",
            prompt="{{ text }}", rows=None, prompt_tokens=10, output_tokens=1, max_instances=1, max_duration_s=None,
            quantization=None, engine=Engine(),
        )  # fmt: skip
        return Assignment(
            run_id="nightly-1", attempt=1, job=replace(job, **changes), label_selector=(), accelerator="L4",
            accelerators_per_worker=1, cpus_per_worker=1, tensor_parallel=1, num_workers=1, storage=str(tmp_path),
            output_model="", emulated=True, date=DAY,
        )  # fmt: skip

    return build


def write_rows(path: Path, texts: Sequence[str], ids: Sequence[str] | None = None) -> None:
    names = list(ids) if ids else [f"id-{number}" for number in range(len(texts))]
    pq.write_table(pa.table({"id": pa.array(names, pa.string()), "text": pa.array(list(texts), pa.string())}), path)


@pytest.fixture
def engine_runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Answers pending shards in this process; the list names those that were answered."""
    answered: list[str] = []

    def run(
        night: Any, assignment: Assignment, _: Any, pending: list[Shard], before: list[ShardStat]
    ) -> list[ShardStat]:
        spec = BatchSpec(
            output=night.output, id_column=night.job.id_column, columns=night.columns, template=night.job.prompt,
            model=night.model, engine={}, max_tokens=night.max_tokens, attempt=assignment.attempt,
        )  # fmt: skip
        answered.extend(shard.name for shard in pending)
        return [answer_shard(spec, shard, ShardLog(night.output), Echo()) for shard in pending]

    monkeypatch.setattr(batch_infer, "answer_pending", run)
    return answered


def make(assignment: Assignment, *, redo: bool = False) -> dict[str, Any]:
    night = batch_infer.tonight(assignment, None)
    return batch_infer.make_output(night, assignment, Reports(), redo=redo)


def output_of(assignment: Assignment) -> str:
    return str(Path(assignment.job.output.replace("{date}", DAY)))  # type: ignore[union-attr]


def check(assignment: Assignment) -> Any:
    return verify_output(output_of(assignment), assignment.job.input.replace("{date}", DAY))  # type: ignore[union-attr]


def test_every_id_has_one_row_and_the_manifest_says_so(batch, engine_runs) -> None:
    assignment = batch(100)
    manifest = make(assignment)
    assert check(assignment).ok
    assert (manifest["ids"], manifest["rows"], manifest["errors"], manifest["attempts"]) == (100, 100, 0, 1)
    written = json.loads((Path(output_of(assignment)) / "_manifest.json").read_text())
    assert written == manifest
    table = pq.read_table(Path(output_of(assignment)) / manifest["shards"][0])
    assert table.to_pylist()[0] == {
        "id": "id-0", "completion": "5", "finish_reason": "stop", "prompt_tokens": 5, "output_tokens": 1,
    }  # fmt: skip


def test_rows_that_fail_are_kept_with_the_reason(batch, engine_runs, tmp_path) -> None:
    write_rows(tmp_path / f"in-{DAY}.parquet", ["fine", "x" * 100, "poison", "fine"])
    assignment = batch()
    manifest = make(assignment)
    assert (manifest["rows"], manifest["errors"]) == (2, 2)
    assert check(assignment).ok
    failed = pq.read_table(Path(output_of(assignment)) / "errors").to_pylist()
    assert failed == [
        {"id": "id-1", "reason": "context: 100 prompt tokens and 16 for the answer exceed 40"},
        {"id": "id-2", "reason": "engine: ended with error"},
    ]


def test_a_finished_night_is_left_alone(batch, engine_runs, capsys) -> None:
    assignment = batch(100)
    first = make(assignment)
    engine_runs.clear()
    assert make(replace(assignment, attempt=2)) == first
    assert engine_runs == []
    assert "--redo" in capsys.readouterr().out


def test_redo_makes_it_anew(batch, engine_runs) -> None:
    assignment = batch(100)
    first = make(assignment)
    engine_runs.clear()
    again = make(replace(assignment, attempt=2), redo=True)
    assert engine_runs == first["shards"] == again["shards"]
    assert check(assignment).ok


def test_a_second_attempt_answers_only_what_is_missing(batch, engine_runs) -> None:
    assignment = batch(100)
    finished = make(assignment)
    folder = Path(output_of(assignment))
    (folder / "_manifest.json").unlink()
    (folder / finished["shards"][2]).unlink()
    engine_runs.clear()
    manifest = make(replace(assignment, attempt=2))
    assert engine_runs == [finished["shards"][2]]
    assert (manifest["rows"], manifest["attempts"]) == (100, 2)
    assert check(assignment).ok


@pytest.mark.parametrize(
    "changes", [pytest.param({"prompt": "Say {{ text }}"}, id="prompt"), pytest.param({"output_tokens": 9}, id="limit")]
)
def test_half_a_night_with_other_settings_is_not_mixed_in(batch, engine_runs, changes) -> None:
    before = make(batch(100))
    (Path(output_of(batch())) / "_manifest.json").unlink()
    engine_runs.clear()
    after = make(batch(100, **changes))
    assert len(engine_runs) == len(before["shards"])
    assert set(after["shards"]).isdisjoint(before["shards"])
    assert check(batch()).ok


def test_an_empty_input_gives_an_empty_manifest(batch, engine_runs, tmp_path) -> None:
    write_rows(tmp_path / f"in-{DAY}.parquet", [])
    manifest = make(batch())
    assert (manifest["ids"], manifest["rows"], manifest["shards"]) == (0, 0, [])
    assert engine_runs == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"id_column": "key"}, "no column key", id="missing-id-column"),
        pytest.param({"prompt": "{{ title }}"}, "no column title", id="missing-prompt-column"),
        pytest.param({"input": "/nowhere/{date}/*.parquet"}, "no Parquet file", id="no-input"),
    ],
)
def test_bad_input_is_refused_before_any_engine(batch, engine_runs, changes, message) -> None:
    with pytest.raises(InputError, match=message):
        make(batch(10, **changes))
    assert engine_runs == []


def test_doubled_ids_are_refused_with_examples(batch, engine_runs, tmp_path) -> None:
    write_rows(tmp_path / f"in-{DAY}.parquet", ["a", "b", "c"], ids=["one", "two", "one"])
    with pytest.raises(InputError, match="1 ids stand more than once in id, for example one"):
        make(batch())


def test_a_template_with_a_default_needs_no_column(batch, engine_runs) -> None:
    assignment = batch(5, prompt="{{ title | default('none') }}")
    assert make(assignment)["rows"] == 5


def test_rows_that_vanish_are_an_error_and_no_manifest(batch, monkeypatch) -> None:
    monkeypatch.setattr(batch_infer, "answer_pending", lambda *_: [])
    assignment = batch(10)
    with pytest.raises(OperationError, match="0 answers and 0 error rows for 10 ids"):
        make(assignment)
    assert not (Path(output_of(assignment)) / "_manifest.json").exists()


def test_only_batch_jobs_run(batch) -> None:
    train = SimpleNamespace(name="tune", kind=Kind.TRAIN)
    with pytest.raises(InputError, match="job tune is of kind train"):
        batch_infer.tonight(replace(batch(1), job=train), None)


def test_a_date_on_the_command_line_wins(batch) -> None:
    assert batch_infer.tonight(batch(1), "2027-01-02").output.endswith("/date=2027-01-02")
