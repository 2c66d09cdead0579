"""Models and data are looked up before any node starts."""

import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from orchestrator.catalog import load_text, missing_inputs, storage

CATALOG = """\
cluster: {provider: local, region: us-east-1, storage: state}
models:
  m: {source: model, params: 1M, layers: 2, hidden: 64, heads: 4, context: 512}
jobs:
  tune: {kind: train, model: m, data: "train/*.parquet"}
  score:
    {kind: batch, model: run:tune, input: "in/date={date}/*.parquet", output: out, prompt: "{{ text }} {{ title }}"}
  serve: {kind: serve, models: {a: m, b: run:tune, c: m}}
"""


@pytest.fixture
def missing(tmp_path):
    def find(job: str, **arguments):
        catalog = load_text(CATALOG, "c.yaml", tmp_path)
        found = catalog.job(job)
        assert found is not None
        return [line.replace(str(tmp_path), "") for line in missing_inputs(found, catalog, **arguments)]

    return find


@pytest.fixture
def put(tmp_path):
    def write(name: str, *columns: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if columns:
            pq.write_table(pa.table({column: ["x"] for column in columns}), path)
        else:
            path.write_text(json.dumps({}))

    return write


def test_everything_is_missing(missing):
    assert missing("tune") == [
        "model m: /model/config.json does not exist; put the model there or correct its source",
        "data /train/*.parquet: no such file; put the data there or correct its location",
    ]
    assert missing("score") == [
        "model run:tune: /state/models/tune/current.json does not exist yet; run job tune to train and publish it",
        "data /in/date=*/*.parquet: no such file; put the data there or correct its location",
    ]
    assert len(missing("serve")) == 2, "each model once"


def test_nothing_is_missing(missing, put):
    put("model/config.json")
    put("train/a.parquet", "prompt", "completion", "id")
    put("state/models/tune/current.json")
    put("in/date=2026-11-30/a.parquet", "id", "text", "title")
    assert missing("tune") == missing("score") == missing("serve") == []


def test_data_of_the_date_asked_for(missing, put):
    put("state/models/tune/current.json")
    put("in/date=2026-11-29/a.parquet", "id", "text", "title")
    assert missing("score", date="2026-11-29") == []
    assert missing("score", date="2026-11-30") == [
        "data /in/date=2026-11-30/*.parquet: no such file; put the data there or correct its location"
    ]


def test_columns_that_the_job_names(missing, put):
    put("model/config.json")
    put("state/models/tune/current.json")
    put("train/a.parquet", "question", "completion")
    put("in/date=2026-11-30/a.parquet", "key", "text")
    assert missing("tune") == ["data /train/a.parquet: has no column prompt (its columns: question, completion)"]
    assert missing("score") == [
        "data /in/date=2026-11-30/a.parquet: has no column id (its columns: key, text)",
        "data /in/date=2026-11-30/a.parquet: has no column title (its columns: key, text)",
    ]


def test_a_file_that_is_no_parquet(missing, put):
    put("model/config.json")
    put("train/a.parquet")
    (fault,) = missing("tune")
    assert fault.startswith("data /train/a.parquet is not a readable Parquet file: ")


def test_template_that_handles_absent_columns_needs_none(tmp_path, put):
    put("model/config.json")
    put("in.parquet", "id")
    text = CATALOG.split("jobs:", maxsplit=1)[0] + (
        "jobs:\n  b: {kind: batch, model: m, input: in.parquet, output: out, prompt: \"{{ text | default('') }}\"}\n"
    )
    catalog = load_text(text, "c.yaml", tmp_path)
    assert missing_inputs(catalog.jobs[0], catalog) == ()


def test_unreachable_object_store_is_a_sentence_not_a_hang(tmp_path, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setitem(os.environ, "AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    text = CATALOG.replace("train/*.parquet", "s3://bucket/train/*.parquet")
    catalog = load_text(text, "c.yaml", tmp_path)
    job = catalog.job("tune")
    assert job is not None
    assert any(
        line.startswith("data s3://bucket/train/*.parquet cannot be listed: ") for line in missing_inputs(job, catalog)
    )


def test_object_store_is_searched_like_a_disk(tmp_path, monkeypatch, put):
    def bucket(name: str, _: str):
        return fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), name.removeprefix("s3://").rstrip("/")

    monkeypatch.setattr(storage, "_s3", bucket)
    for name in ("b/in/date=1/b.parquet", "b/in/date=1/a.parquet", "b/in/date=2/c.parquet", "b/in/readme"):
        put(name, "id") if name.endswith(".parquet") else put(name)
    assert storage.first_match("s3://b/in/date=*/*.parquet", "us-east-1") == "s3://b/in/date=1/a.parquet"
    assert storage.first_match("s3://b/in/date=2/*.parquet", "us-east-1") == "s3://b/in/date=2/c.parquet"
    assert storage.first_match("s3://b/in/readme", "us-east-1") == "s3://b/in/readme"
    assert storage.first_match("s3://b/in/date=2", "us-east-1") == "s3://b/in/date=2/c.parquet"
    assert storage.first_match("s3://b/in/date=3/*.parquet", "us-east-1") is None
    assert storage.read_head("s3://b/in/date=1/a.parquet", 4, "us-east-1") == b"PAR1"
