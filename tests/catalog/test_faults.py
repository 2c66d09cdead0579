"""Every fault is reported, all at once, at its line and column, with what may have been meant."""

import pytest

from orchestrator.catalog.fault import CatalogError
from orchestrator.model.error import InputError

FIVE = """\
version: 1
cluster:
  provider: local
  region: us-east-1
  storage: ./state
models:
  tiny: {source: ./m, params: 3.4M, layers: 2, hidden: 64, heads: 4, context: 1024}
jobs:
  tune:
    kind: train
    model: tiny
    precision: int8
    accelerators: {L4: 1, A10G: 1}
    max_duration: 10
  nightly:
    kind: batch
    model: tiny
    schedule: {cron: "0 2 * * *", done_by: 01:00}
    id_colum: item
"""


def test_five_unrelated_faults_at_their_exact_positions(faults):
    never = "training never uses quantised numbers (quantise for serving instead); use bf16, fp16 or fp32"
    assert faults(FIVE) == [
        f"c.yaml:12:16: jobs.tune.precision: {never}",
        "c.yaml:13:19: jobs.tune.accelerators: a run never mixes accelerator types; "
        "give alternatives as a list such as [L4, A10G]",
        "c.yaml:14:19: jobs.tune.max_duration: needs a unit (ms, s, m, h or d), not the bare number 10",
        "c.yaml:18:44: jobs.nightly.schedule.done_by: 01:00 is before the start at 02:00 "
        "(a window over midnight may last 16 h at most)",
        "c.yaml:19:5: jobs.nightly.id_colum: unknown key (did you mean id_column?)",
    ]


def test_the_error_is_bad_input_and_carries_the_faults(faults):
    assert issubclass(CatalogError, InputError)
    assert CatalogError.exit_code == 2
    assert faults(FIVE)[0].startswith("c.yaml:12:16: ")


MARK = "»"
"""Stands in the tables before the place at which the fault is expected."""


def expected(marked: str, fault: str) -> tuple[str, list[str]]:
    """The text without its mark, and the fault with the mark's position."""
    before, _, after = marked.partition(MARK)
    line, col = before.count("\n") + 1, len(before) - before.rfind("\n")
    return before + after, [f"c.yaml:{line}:{col}: {fault}"]


TRAIN = "  t: {{kind: train, model: m, {}}}\n"
BATCH = "  b: {{kind: batch, model: m, {}}}\n"
SERVE = "  s: {{kind: serve, models: {{a: m, b: m}}, {}}}\n"

ONE_FAULT = {
    # keys
    "unknown key": (TRAIN.format("»epoch: 2"), "jobs.t.epoch: unknown key (did you mean epochs?)"),
    "unknown key with nothing near": (TRAIN.format("»colour: red"), "jobs.t.colour: unknown key"),
    "key given twice": (
        TRAIN.format("seed: 1, »seed: 2"),
        "jobs.t.seed: is given twice, first in line 6; the first counts, remove one",
    ),
    "key without a value": (
        "  t:\n    kind: train\n    model: m\n    »seed:\n",
        "jobs.t.seed: has no value; give one or remove the key",
    ),
    "misspelt required key": (
        "  t: {kind: train, »modle: m}\n",
        "jobs.t.modle: unknown key (did you mean model?)",
    ),
    "missing key": ("  »t: {kind: train}\n", "jobs.t.model: is required"),
    "missing kind": ("  »t: {model: m}\n", "jobs.t.kind: is required: train, batch or serve"),
    "unknown kind": (
        "  t: {kind: »tain, model: m}\n",
        'jobs.t.kind: must be train, batch or serve, not "tain" (did you mean train?)',
    ),
    "job that is no mapping": ("  t: »train\n", 'jobs.t: must be a mapping, not "train"'),
    "job name": (
        "  »a/b: {kind: train, model: m}\n",
        'jobs.a/b: name "a/b" must be 1 to 63 letters, digits, . _ or -, and begin with a letter or digit',
    ),
    "training is not quantised": (
        TRAIN.format("»quantization: {weights: int8}"),
        "jobs.t.quantization: is for serving and batch only: training is done in full precision",
    ),
    # types and units
    "yes is no boolean": (
        TRAIN.format("gradient_checkpointing: »yes"),
        'jobs.t.gradient_checkpointing: must be true or false, not "yes" (did you mean true?)',
    ),
    "number as text": (
        TRAIN.format('batch_size: »"8"'),
        'jobs.t.batch_size: must be a whole number, not "8"',
    ),
    "fraction of a batch": (
        TRAIN.format("batch_size: »1.5"),
        "jobs.t.batch_size: must be a whole number, not 1.5",
    ),
    "zero epochs": (TRAIN.format("epochs: »0"), "jobs.t.epochs: must be more than 0, not 0"),
    "not a number": (TRAIN.format("epochs: ».nan"), "jobs.t.epochs: must be a finite number, not nan"),
    "infinite": (TRAIN.format("tokens: ».inf"), "jobs.t.tokens: must be a finite number up to 1e18, not inf"),
    "price without a unit": (
        TRAIN.format("max_price: »3.2"),
        "jobs.t.max_price: needs a unit, as in $3.20/h (did you mean $3.2/h?)",
    ),
    "price per day": (
        TRAIN.format("max_price: »$3/day"),
        "jobs.t.max_price: must be per h, as in $3.20/h, not per day",
    ),
    "duration in words": (
        TRAIN.format("deadline: »10 minutes"),
        "jobs.t.deadline: unknown unit minutes; use ms, s, m, h or d (did you mean 10m?)",
    ),
    "accuracy drop without a percent sign": (
        SERVE.format("quantization: {weights: int8, max_accuracy_drop: »0.02}"),
        "jobs.s.quantization.max_accuracy_drop: needs a percent sign, as in 2%, not the bare number 0.02",
    ),
    "enum": (
        TRAIN.format("lifecycle: »sport"),
        'jobs.t.lifecycle: must be spot, on-demand or auto, not "sport" (did you mean spot?)',
    ),
    "URI that is not supported": (
        TRAIN.format('data: »"gs://bucket/x"'),
        "jobs.t.data: gs:// is not supported; give a path or an s3:// URI",
    ),
    "unknown placeholder": (
        BATCH.format('input: »"x/{day}.parquet"'),
        "jobs.b.input: {day} is unknown; the only placeholder is {date} (did you mean {date}?)",
    ),
    # accelerators
    "mixed types as one word": (
        TRAIN.format("accelerators: »L4+A10G"),
        "jobs.t.accelerators: a run never mixes accelerator types; "
        "give alternatives as a list such as [L4, A10G] (did you mean [L4, A10G]?)",
    ),
    "mixed types as mappings": (
        TRAIN.format("accelerators: »[{L4: 1}, {A10G: 1}]"),
        "jobs.t.accelerators: a run never mixes accelerator types; give alternatives as a list such as [L4, A10G]",
    ),
    "accelerator with a count": (
        TRAIN.format("accelerators: »'L4:2'"),
        "jobs.t.accelerators: takes names without counts; placement finds how many (did you mean L4?)",
    ),
    "any among others": (
        TRAIN.format("accelerators: »[any, L4]"),
        "jobs.t.accelerators: any stands alone, not in a list",
    ),
    # times
    "longer than the deadline": (
        TRAIN.format("max_duration: »3h, deadline: 2h"),
        "jobs.t.max_duration: max_duration 3h is longer than the deadline 2h",
    ),
    "checkpoints too rare": (
        TRAIN.format("max_duration: 1h, checkpoint: {interval: »60m}"),
        "jobs.t.checkpoint.interval: interval 1h is not shorter than max_duration 1h: nothing would be saved",
    ),
    "checkpoints rarer than the deadline": (
        TRAIN.format("deadline: 5m, checkpoint: {interval: »10m}"),
        "jobs.t.checkpoint.interval: interval 10m is not shorter than the deadline 5m: nothing would be saved",
    ),
    "window of no length": (
        BATCH.format('schedule: {cron: "0 2 * * *", done_by: »02:00}'),
        "jobs.b.schedule.done_by: 02:00 is the start itself; a window needs time",
    ),
    "longer than the window": (
        BATCH.format('max_duration: »5h, schedule: {cron: "0 2 * * *", done_by: 06:00}'),
        "jobs.b.max_duration: 5h is longer than the window from start to done_by, 4h",
    ),
    "cron": (
        BATCH.format('schedule: {cron: »"61 2 * * *"}'),
        "jobs.b.schedule.cron: not a valid cron expression: bad minute",
    ),
    "cron with seconds": (
        BATCH.format('schedule: {cron: »"0 0 2 * * *"}'),
        "jobs.b.schedule.cron: cron needs 5 fields (minute hour day month weekday), not 6",
    ),
    "time zone": (
        BATCH.format('schedule: {cron: "0 2 * * *", timezone: »Europe/Berln}'),
        'jobs.b.schedule.timezone: unknown time zone "Europe/Berln" (did you mean Europe/Berlin?)',
    ),
    # models
    "unknown card": (
        "  t: {kind: train, model: »n}\n  u: {kind: train, model: m}\n",
        "jobs.t.model: unknown model n",
    ),
    "job without run:": (
        "  t: {kind: train, model: m}\n  u: {kind: batch, model: »t}\n",
        "jobs.u.model: unknown model t; a job's result is written run:t (did you mean run:t?)",
    ),
    "run of no job": (
        "  tune: {kind: train, model: m}\n  u: {kind: batch, model: »run:tuna}\n",
        "jobs.u.model: run:tuna names no job (did you mean run:tune?)",
    ),
    "run of a job that trains nothing": (
        "  t: {kind: batch, model: m}\n  u: {kind: batch, model: »run:t}\n",
        "jobs.u.model: run:t names a job that trains no model",
    ),
    "run of itself": ("  t: {kind: train, model: »run:t}\n", "jobs.t.model: is a circle: run:t needs run:t"),
    "sequence longer than the context": (
        TRAIN.format("sequence_length: »2048"),
        "jobs.t.sequence_length: 2048 tokens is more than the context of m, 1024",
    ),
    "engine longer than the context": (
        BATCH.format("engine: {max_model_len: »4096}"),
        "jobs.b.engine.max_model_len: 4096 tokens is more than the context of m, 1024",
    ),
    "prompt and answer longer than the context": (
        BATCH.format("prompt_tokens: »1000, output_tokens: 100"),
        "jobs.b.prompt_tokens: prompt_tokens and output_tokens, 1100 together, exceed the 1024 tokens of m",
    ),
    # batch
    "template": (
        BATCH.format('prompt: »"{{ text"'),
        "jobs.b.prompt: is not a valid Jinja template: unexpected end of template, "
        "expected 'end of print statement'. (line 1 of it)",
    ),
    "output with a wildcard": (
        BATCH.format('output: »"out/*"'),
        "jobs.b.output: must be one folder, without wildcards",
    ),
    # ranges
    "instances": (
        TRAIN.format("instances: {min: »3, max: 2}"),
        "jobs.t.instances.min: min 3 is above max 2",
    ),
    "more instances than workers": (
        TRAIN.format("instances: »65"),
        "jobs.t.instances: needs 65 instances; cluster.max_workers is 64",
    ),
    "replicas": (
        SERVE.format("replicas: {min: »3, max: 2}"),
        "jobs.s.replicas.min: min 3 is above max 2",
    ),
    "warm replicas": (
        SERVE.format("replicas: {max: 2, warm: »3}"),
        "jobs.s.replicas.warm: warm 3 is above max 2",
    ),
    "peak below the mean": (
        SERVE.format("traffic: {requests_per_second: 10, peak: »5}"),
        "jobs.s.traffic.peak: peak 5 is below the mean, 10 requests per second",
    ),
    # routes
    "route to an unknown part": (
        SERVE.format("route: [{to: »c}]"),
        "jobs.s.route[0].to: unknown part c of models",
    ),
    "no rule takes the rest": (
        SERVE.format('route: [»{if: "prompt_words < 50", to: a}]'),
        "jobs.s.route[0]: the last rule must have no `if`, so that every request finds a model",
    ),
    "rule after the one that takes all": (
        SERVE.format('route: [{to: a}, »{if: "prompt_words < 50", to: b}]'),
        "jobs.s.route[1]: is never reached: route[0] takes all that it would",
    ),
    "rule within an earlier one": (
        SERVE.format("route: [{if: prompt_words < 50, to: a}, »{if: prompt_words < 20, to: b}, {to: b}]"),
        "jobs.s.route[1]: is never reached: route[0] takes all that it would",
    ),
    "unknown subject": (
        SERVE.format("route: [{if: »prompt_word < 50, to: a}, {to: b}]"),
        "jobs.s.route[0].if: unknown subject prompt_word; "
        "use prompt_words, prompt_tokens, path, model or header:NAME (did you mean prompt_words?)",
    ),
    "cap that leaves no prompt": (
        SERVE.format("route: [{to: a, max_tokens: »1024}]"),
        "jobs.s.route[0].max_tokens: 1024 tokens leave no room for a prompt: m has 1024 in all",
    ),
    "shares": (
        SERVE.format("traffic: {share: »{a: 0.5, b: 0.6}}"),
        "jobs.s.traffic.share: shares sum to 1.1, not to 1",
    ),
    "share of an unknown part": (
        SERVE.format("traffic: {share: {c: »0.5}}"),
        "jobs.s.traffic.share.c: unknown part c of models",
    ),
    # elsewhere
    "key itself instead of its variable": (
        SERVE.format('overflow: {to: "https://x.example", key_env: »sk-123}'),
        "jobs.s.overflow.key_env: must be the name of an environment variable such as OVERFLOW_KEY, not a key itself",
    ),
    "overflow to no URL": (
        SERVE.format("overflow: {to: »api.example.com}"),
        'jobs.s.overflow.to: must be a URL such as https://api.example.com/v1, not "api.example.com"',
    ),
    "speculation without generation": (
        SERVE.format("task: embed, speculative: »{method: ngram}"),
        "jobs.s.speculative: speculative decoding is for task generate, not embed",
    ),
}


@pytest.mark.parametrize("name", ONE_FAULT)
def test_one_fault(with_jobs, faults, name):
    jobs, fault = ONE_FAULT[name]
    text, lines = expected(with_jobs(jobs), fault)
    assert faults(text) == lines


CLUSTER_AND_MODELS = {
    "missing cluster": ("»jobs: {}\n", "cluster: is required"),
    "misspelt section": (
        "»clutser: {provider: local, region: us-east-1, storage: s}\n",
        "clutser: unknown key (did you mean cluster?)",
    ),
    "version": (
        "version: »2\ncluster: {provider: local, region: us-east-1, storage: s}\n",
        "version: must be 1, the version this orchestrator reads, not 2",
    ),
    "provider": (
        "cluster: {provider: »gcp, region: us-east-1, storage: s}\n",
        'cluster.provider: must be local or aws, not "gcp"',
    ),
    "region": (
        "cluster: {provider: local, region: »us-east, storage: s}\n",
        'cluster.region: must be the name of an AWS region such as us-east-1, not "us-east" (did you mean us-east-1?)',
    ),
    "bucket": (
        'cluster: {provider: local, region: us-east-1, storage: »"s3://B"}\n',
        "cluster.storage: must be s3://BUCKET/KEY with a valid bucket name",
    ),
    "quota": (
        "cluster: {provider: local, region: us-east-1, storage: s, quotas: {»G-sport: 1}}\n",
        "cluster.quotas.G-sport: unknown quota; use FAMILY-MARKET with family Standard, G, P, Inf, Trn, DL, F, X, "
        "HPC or U and market spot or on-demand (did you mean G-spot?)",
    ),
    "card without figures": (
        "cluster: {provider: local, region: us-east-1, storage: s}\nmodels: {m: »{source: ./no, layers: 2}}\n",
        "models.m: needs params, hidden, heads and context: "
        "/base/no/config.json cannot be read: no such file or directory",
    ),
    "kv_heads": (
        "cluster: {provider: local, region: us-east-1, storage: s}\n"
        "models: {m: {source: x, params: 1M, layers: 2, hidden: 64, heads: 4, kv_heads: »3, context: 9}}\n",
        "models.m.kv_heads: 4 heads cannot share 3 kv_heads evenly",
    ),
}


@pytest.mark.parametrize("name", CLUSTER_AND_MODELS)
def test_faults_of_cluster_and_models(faults, name):
    text, lines = expected(*CLUSTER_AND_MODELS[name])
    assert faults(text) == lines


SYNTAX = {
    "tab": ("version: 1\n\tx: 1\n", "2:1: catalog: not valid YAML: found a tab character that violates indentation"),
    "open bracket": ("a: [1\nb: 2\n", "2:2: catalog: not valid YAML: "),
    "two colons": ("a: b: c\n", "1:5: catalog: not valid YAML: mapping values are not allowed in this context"),
    "open quote": ("a: 'x\n", "2:1: catalog: not valid YAML: found unexpected end of stream"),
    "unknown alias": ("a: *x\n", "1:4: catalog: alias *x stands for nothing that is complete before it"),
    "alias of itself": ("a: &x [*x]\n", "1:8: catalog: alias *x stands for nothing"),
    "control character": ("version: 1\nab: \x07\n", "2:5: catalog: character U+0007 is not allowed in YAML"),
    "two documents": ("a: 1\n---\nb: 2\n", "2:1: catalog: holds a second document"),
    "list as a key": ("? [a]\n: 1\n", "1:3: catalog: a key must be a word"),
    "deep nesting": ("a: " + "[" * 60 + "]" * 60, "1:43: catalog: nests deeper than 40 levels"),
    "deeper nesting": ("[" * 100_000, "1:1001: catalog: not valid YAML: exceeded maximum nesting depth"),
    "tag": ("version: !!python/object:os.system 1\n", "1:10: version: tag !!python/object:os.system is not used"),
    "merge of a word": ("cluster: {<<: x}\n", "1:15: cluster.<<: merges something that is not a mapping"),
}


@pytest.mark.parametrize("name", SYNTAX)
def test_broken_text(faults, name):
    text, fault = SYNTAX[name]
    assert any(line.startswith(f"c.yaml:{fault}") for line in faults(text))


def test_aliases_of_aliases_do_not_exhaust_memory(faults):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert any("expands to more than 1,000,000 values" in line for line in faults("\n".join(lines)))


def test_one_slip_is_one_fault_although_other_values_depend_on_it(with_jobs, faults):
    jobs = "  t: {kind: train, model: m, max_duration: 3, deadline: 2h, checkpoint: {interval: 3h}}\n"
    found = faults(with_jobs(jobs))
    assert [line.split(": ")[1] for line in found] == ["jobs.t.max_duration", "jobs.t.checkpoint.interval"]


def test_a_circle_of_runs_is_a_fault_of_each(with_jobs, faults):
    found = faults(with_jobs("  a: {kind: train, model: run:b}\n  b: {kind: train, model: run:a}\n"))
    assert found == [
        "c.yaml:6:27: jobs.a.model: is a circle: run:b needs run:a needs run:b",
        "c.yaml:7:27: jobs.b.model: is a circle: run:a needs run:b needs run:a",
    ]


def test_faults_of_a_broken_job_do_not_hide_those_of_others(with_jobs, faults):
    jobs = """\
  a: 5
  b: {kind: nonsense}
  c: {kind: train}
  d: {kind: train, model: run:c, instances: {min: 2, max: 1}}
"""
    places = [line.split(": ")[0] for line in faults(with_jobs(jobs))]
    assert places == ["c.yaml:6:6", "c.yaml:7:13", "c.yaml:8:3", "c.yaml:9:51"]


def test_missing_required_key_does_not_hide_impossible_combinations(with_jobs, faults):
    found = faults(with_jobs("  t: {kind: train, max_duration: 3h, deadline: 2h}\n"))
    assert [line.split(": ")[1] for line in found] == ["jobs.t.model", "jobs.t.max_duration"]


def test_quantised_weights_cannot_be_trained(with_jobs, faults):
    text = with_jobs("  t: {kind: train, model: m}\n").replace("context: 1024}", "context: 1024, dtype: int4}")
    assert faults(text) == ["c.yaml:6:27: jobs.t.model: m has int4 weights; training needs bf16, fp16 or fp32 weights"]


def test_accelerator_near_a_known_one_lists_the_nearest_first(with_jobs, faults):
    (fault,) = faults(with_jobs(TRAIN.format("accelerators: L40")))
    assert 'unknown accelerator "L40"; known are L40S, L4, ' in fault
    assert fault.endswith("(did you mean L40S?)")


def test_a_fault_stays_one_line_whatever_the_value(with_jobs, faults):
    (fault,) = faults(with_jobs('  t: {kind: train, model: m, lifecycle: "a\\nb"}\n'))
    assert "\n" not in fault
