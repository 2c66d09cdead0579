"""`orchestrator validate`."""

import json
import sys

import pytest

from orchestrator.cli.main import main

BROKEN = """\
version: 1
cluster: {provider: local, region: us-east-1, storage: ./state, budget: 60}
jobs:
  t: {kind: train, model: m, lifecycle: sport}
"""
FINE = """\
cluster: {provider: local, region: us-east-1, storage: ./state}
models: {m: {source: ./m, params: 1M, layers: 2, hidden: 64, heads: 4, context: 512}}
jobs:
  t: {kind: train, model: m}
  s: {kind: serve, models: {a: run:t}}
"""
LINES = [
    "./c.yaml:2:73: cluster.budget: needs a unit, as in $3.20/h (did you mean $60/h?)",
    "./c.yaml:4:27: jobs.t.model: unknown model m",
    """./c.yaml:4:41: jobs.t.lifecycle: must be spot, on-demand or auto, not "sport" (did you mean spot?)""",
]


@pytest.fixture
def validate(tmp_path, monkeypatch, capsys):
    """Runs the command in an empty folder; returns exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)

    def run(content: str | None, *options: str) -> tuple[int, str, str]:
        if content is not None:
            (tmp_path / "c.yaml").write_text(content)
        monkeypatch.setattr(sys, "argv", ["orchestrator", "validate", "./c.yaml", *options])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return run


def test_all_faults_one_line_each(validate):
    code, out, err = validate(BROKEN)
    assert (code, err) == (2, "")
    assert out.splitlines() == LINES


def test_faults_as_json(validate):
    code, out, _ = validate(BROKEN, "--json")
    found = json.loads(out)
    assert (code, found["valid"], len(found["faults"])) == (2, False, 3)
    assert found["faults"][0] == {
        "file": "./c.yaml",
        "line": 2,
        "col": 73,
        "path": "cluster.budget",
        "message": "needs a unit, as in $3.20/h",
        "suggestion": "$60/h",
    }


def test_a_valid_catalog_is_one_line(validate):
    assert validate(FINE) == (0, "./c.yaml: valid, 2 jobs (1 train, 1 serve)\n", "")


def test_a_valid_catalog_as_json(validate):
    _, out, _ = validate(FINE, "--json")
    assert json.loads(out) == {"valid": True, "faults": [], "jobs": {"train": 1, "batch": 0, "serve": 1}}


def test_a_file_that_is_not_there(validate):
    code, out, err = validate(None)
    assert (code, err) == (2, "")
    assert out == "./c.yaml:1:1: catalog: cannot be read: no such file or directory\n"


def test_a_catalog_cannot_steer_the_terminal(validate):
    code, out, _ = validate(FINE + '"\\e[2Jboo": 1\n')
    assert code == 2
    assert "\x1b" not in out
    assert "boo: unknown key" in out
