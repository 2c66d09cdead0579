"""A valid catalog becomes the model, with units converted and defaults filled in."""

import re
import time
from decimal import Decimal
from pathlib import Path

import pytest

from orchestrator.catalog import CatalogError, load, load_text
from orchestrator.model.card import Dtype
from orchestrator.model.catalog import Provider
from orchestrator.model.job import BatchJob, JobClass, Lifecycle, Method, Pattern, Route, ServeJob, Task, TrainJob


def test_jobs_are_sorted_by_name_whatever_their_order(valid, catalog):
    assert [job.name for job in catalog(valid).jobs] == ["copilot", "eta", "nightly", "tune"]


def test_cluster(valid, catalog):
    cluster = catalog(valid).cluster
    assert cluster.provider is Provider.AWS
    assert cluster.storage == "s3://acme-ml/orchestrator"
    assert cluster.budget_usd_per_hour == Decimal(60)
    assert cluster.max_workers == 64
    assert dict(cluster.quotas) == {"G-spot": 192, "G-on-demand": 64, "P-spot": 192}


def test_train_job(valid, catalog):
    job = catalog(valid).job("tune")
    assert isinstance(job, TrainJob)
    assert (job.job_class, job.priority, job.method) == (JobClass.DEADLINE, 5, Method.LORA)
    assert (job.tokens, job.epochs, job.batch_size, job.gradient_accumulation) == (40e6, 2.0, 32, 4)
    assert (job.precision, job.gradient_checkpointing, job.sequence_tokens) == (Dtype.BF16, True, 2048)
    assert (job.accelerators, job.min_instances, job.max_instances) == ((), 1, 2)
    assert (job.lifecycle, job.max_price_usd_per_hour) == (Lifecycle.SPOT, Decimal("3.20"))
    assert (job.max_duration_s, job.deadline_s, job.retrain) == (43200.0, 86400.0, "weekly")
    assert (job.checkpoint.interval_s, job.checkpoint.keep) == (600.0, 3)
    assert job.checkpoint.storage == "s3://acme-ml/checkpoints"
    assert (job.model.params, job.model.layers, job.model.context_tokens) == (8.03e9, 32, 8192)


def test_batch_job_uses_the_result_of_a_train_job(valid, catalog):
    job = catalog(valid).job("nightly")
    assert isinstance(job, BatchJob)
    assert (job.model.name, job.model.run) == ("run:tune", "tune")
    assert job.model.source == "s3://acme-ml/orchestrator/models/tune"
    assert (job.model.params, job.model.kv_heads) == (8.03e9, 8)
    assert job.window_s == 4 * 3600
    assert (job.rows, job.prompt_tokens, job.output_tokens) == (5e6, 220, 8)
    assert job.output == "s3://acme-ml/scores/date={date}/"


def test_serve_job(valid, catalog):
    job = catalog(valid).job("copilot")
    assert isinstance(job, ServeJob)
    assert [part for part, _ in job.models] == ["large", "small"]
    assert dict(job.traffic_share) == pytest.approx({"small": 0.6, "large": 0.4})
    assert job.routes == (
        Route(when=("prompt_words", "<", 50.0), to="small", max_tokens=128),
        Route(when=None, to="large", max_tokens=1024),
    )
    assert (job.traffic.peak_requests_per_second, job.traffic.pattern) == (40.0, Pattern.SPIKY)
    assert (job.slo.ttft_p99_s, job.slo.itl_p99_s, job.slo.latency_p99_s) == (0.8, 0.06, None)
    assert (job.quantization, job.max_accuracy_drop, job.speculative_method) == (Dtype.INT8, 0.02, "ngram")
    assert job.overflow is not None
    assert job.overflow.max_spend_usd_per_day == Decimal(20)


def test_defaults_of_a_train_job(with_jobs, catalog):
    job = catalog(with_jobs("  t: {kind: train, model: m}\n")).job("t")
    assert isinstance(job, TrainJob)
    assert (job.job_class, job.method, job.epochs, job.batch_size) == (JobClass.BATCH, Method.LORA, 1.0, 8)
    assert (job.min_instances, job.max_instances, job.lifecycle) == (1, 1, Lifecycle.AUTO)
    assert (job.learning_rate, job.lora_rank, job.seed) == (2e-4, 16, 0)
    assert (job.prompt_column, job.completion_column) == ("prompt", "completion")
    assert job.sequence_tokens == 1024, "no longer than the model's context"
    assert job.data == "/base/state/data/t/*.parquet"
    assert (job.checkpoint.interval_s, job.checkpoint.storage) == (600.0, "/base/state/checkpoints")
    assert (job.model.kv_heads, job.model.head_dim, job.model.dtype) == (4, 16, Dtype.BF16)


@pytest.mark.parametrize(
    ("more", "job_class", "learning_rate"),
    [
        pytest.param("deadline: 2h", JobClass.DEADLINE, 2e-4, id="with a deadline"),
        pytest.param("method: full", JobClass.BATCH, 3e-5, id="full"),
        pytest.param("class: best-effort, deadline: 2h, learning_rate: 1e-3", JobClass.BEST_EFFORT, 1e-3, id="stated"),
    ],
)
def test_defaults_that_depend_on_other_keys(with_jobs, catalog, more, job_class, learning_rate):
    job = catalog(with_jobs(f"  t: {{kind: train, model: m, {more}}}\n")).job("t")
    assert isinstance(job, TrainJob)
    assert (job.job_class, job.learning_rate) == (job_class, learning_rate)


def test_defaults_of_a_batch_job(with_jobs, catalog):
    job = catalog(with_jobs("  b: {kind: batch, model: m}\n")).job("b")
    assert isinstance(job, BatchJob)
    assert (job.job_class, job.lifecycle, job.schedule, job.window_s) == (JobClass.BATCH, Lifecycle.SPOT, None, None)
    assert (job.input, job.output) == ("/base/state/input/b/date={date}/*.parquet", "/base/state/output/b/date={date}")
    assert (job.id_column, job.prompt, job.rows, job.max_instances) == ("id", "{{ prompt }}", None, 64)
    assert (job.prompt_tokens, job.output_tokens) == (256, 64)


def test_defaults_of_a_serve_job(with_jobs, catalog):
    job = catalog(with_jobs("  s: {kind: serve, models: {a: m}}\n")).job("s")
    assert isinstance(job, ServeJob)
    assert (job.job_class, job.task) == (JobClass.SERVE, Task.GENERATE)
    assert job.routes == (Route(when=None, to="a", max_tokens=None),)
    assert job.traffic_share == (("a", 1.0),)
    assert (job.traffic.requests_per_second, job.traffic.peak_requests_per_second) == (1.0, 1.0)
    assert (job.traffic.prompt_tokens, job.traffic.output_tokens) == (256, 128)
    assert (job.replicas.min, job.replicas.max, job.replicas.warm) == (1, 64, 0)


def test_default_token_counts_fit_a_short_context(with_jobs, catalog):
    text = with_jobs("  b: {kind: batch, model: m}\n").replace("context: 1024", "context: 100")
    job = catalog(text).job("b")
    assert isinstance(job, BatchJob)
    assert job.prompt_tokens + job.output_tokens <= 100
    assert min(job.prompt_tokens, job.output_tokens) >= 1


def test_without_rules_the_largest_part_takes_all(with_jobs, catalog):
    text = with_jobs("  s: {kind: serve, models: {a: big, b: m}}\n").replace(
        "jobs:\n", "  big: {source: ./b, params: 1B, layers: 2, hidden: 64, heads: 4, context: 1024}\njobs:\n"
    )
    assert catalog(text).job("s").routes == (Route(when=None, to="a", max_tokens=None),)


@pytest.mark.parametrize(
    ("written", "accelerators"),
    [
        ("any", ()),
        ("L4", ("L4",)),
        ("[A10G, L4]", ("A10G", "L4")),
        ("[L4, L4]", ("L4",)),
        ("cpu", ("cpu",)),
    ],
)
def test_accelerators(with_jobs, catalog, written, accelerators):
    job = catalog(with_jobs(f"  t: {{kind: train, model: m, accelerators: {written}}}\n")).job("t")
    assert job.accelerators == accelerators


@pytest.mark.parametrize(
    ("written", "span"),
    [("3", (3, 3)), ("{min: 2, max: 5}", (2, 5)), ("{max: 5}", (1, 5)), ("{min: 2}", (2, 2))],
)
def test_instances(with_jobs, catalog, written, span):
    job = catalog(with_jobs(f"  t: {{kind: train, model: m, instances: {written}}}\n")).job("t")
    assert (job.min_instances, job.max_instances) == span


def test_anchors_aliases_and_merge_keys(with_jobs, catalog):
    jobs = """\
  a: &base
    kind: train
    model: m
    checkpoint: &often {interval: 1m}
  b:
    <<: *base
    epochs: 3
  c: {kind: train, model: m, checkpoint: *often}
"""
    found = catalog(with_jobs(jobs))
    assert [job.epochs for job in found.jobs] == [1.0, 3.0, 1.0]
    assert {job.checkpoint.interval_s for job in found.jobs} == {60.0}


def test_run_of_a_run_has_the_figures_of_the_first_base(with_jobs, catalog):
    jobs = "  a: {kind: train, model: m}\n  b: {kind: train, model: run:a}\n  c: {kind: batch, model: run:b}\n"
    model = catalog(with_jobs(jobs)).job("c").model
    assert (model.run, model.params, model.source) == ("b", 3.4e6, "/base/state/models/b")


def test_locations_start_from_the_folder_of_the_file(tmp_path, with_jobs):
    folder = tmp_path / "deep"
    folder.mkdir()
    jobs = "  b: {kind: batch, model: m, input: ../in/*.parquet, output: out/, prompt: hello}\n"
    (folder / "c.yaml").write_text(with_jobs(jobs))
    found = load(folder / "c.yaml")
    job = found.job("b")
    assert isinstance(job, BatchJob)
    assert job.input == str(tmp_path / "in/*.parquet")
    assert job.output == str(folder / "out")
    assert job.model.source == str(folder / "m")
    assert found.cluster.storage == str(folder / "state")


def test_catalog_without_jobs(catalog):
    assert catalog("cluster: {provider: local, region: us-east-1, storage: s}\nmodels:\njobs:\n").jobs == ()


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        pytest.param(None, r"1:1: catalog: cannot be read: no such file or directory", id="missing"),
        pytest.param(b"", r"1:1: catalog: is empty", id="empty"),
        pytest.param(b"# only a comment\n", r"1:1: catalog: is empty", id="comment"),
        pytest.param(b"version: 1\ncl\xff: 2\n", r"2:3: catalog: byte 0xff is not UTF-8", id="not UTF-8"),
        pytest.param(b"- version: 1\n", r"1:1: catalog: must be a mapping .* not a list", id="list"),
        pytest.param(b"hello\n", r"1:1: catalog: must be a mapping .* not \"hello\"", id="word"),
    ],
)
def test_files_that_are_no_catalog(tmp_path, content, fault):
    file = tmp_path / "c.yaml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(CatalogError) as caught:
        load(file)
    assert len(caught.value.lines) == 1
    assert re.fullmatch(rf"{re.escape(str(file))}:{fault}.*", caught.value.lines[0])


def test_folder_instead_of_a_file(tmp_path):
    with pytest.raises(CatalogError, match="cannot be read: is a directory"):
        load(tmp_path)


def test_byte_order_mark_is_no_fault(tmp_path, valid):
    file = tmp_path / "c.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + valid.encode())
    assert len(load(file).jobs) == 4


def test_a_thousand_jobs_load_in_seconds(valid):
    head, jobs = valid.split("jobs:\n")
    many = head + "jobs:\n"
    for copy in range(250):
        renamed = re.sub(r"^  ([a-z]+):\n", rf"  \1-{copy}:\n", jobs, flags=re.M)
        many += renamed.replace("run:tune", f"run:tune-{copy}")
    start_s = time.process_time()
    found = load_text(many, "c.yaml", Path("/base"))
    assert time.process_time() - start_s < 8
    assert len(found.jobs) == 1000
