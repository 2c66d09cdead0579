"""The committed JSON Schema and the reference follow the schema, and the JSON Schema says what the loader says."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from orchestrator.catalog import json_schema, load, reference
from orchestrator.catalog.accelerators import CPU, KNOWN
from orchestrator.offers import hardware

ROOT = Path(__file__).parents[2]


def test_committed_schema_is_in_step():
    assert (ROOT / "docs/catalog.schema.json").read_text() == json_schema.text(), "run `make generate`"


def test_committed_reference_is_in_step():
    page = (ROOT / "docs/catalog.md").read_text()
    assert reference.MARKER in page
    assert page == reference.renewed(page), "run `make generate`"


def test_reference_names_every_key_with_a_default():
    page = reference.tables()
    for section in json_schema.annotated_schema()["$defs"].values():
        for key, field in section.get("properties", {}).items():
            assert f"| `{key}` |" in page
            assert field["description"]
    assert "| `null` |" not in page, "a default in words is missing"


def test_example_of_the_reference_is_valid(tmp_path):
    page = (ROOT / "docs/catalog.md").read_text()
    (tmp_path / "c.yaml").write_text(page.split("```yaml\n")[1].split("```")[0])
    assert len(load(tmp_path / "c.yaml").jobs) == 3


def read(text: str) -> object:
    """YAML for jsonschema, whose numbers PyYAML would otherwise read by YAML 1.1 (8.03e9 as text)."""
    from orchestrator.catalog.node import plain
    from orchestrator.catalog.yaml_text import parse

    root = parse(text, lambda *fault: pytest.fail(str(fault)))
    assert root is not None
    return plain(root)


@pytest.fixture(scope="module")
def validator():
    schema = json_schema.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_valid_catalogs_pass_the_schema(validator, valid):
    validator.validate(read(valid))
    validator.validate(read((ROOT / "jobs/catalog.yaml").read_text()))


@pytest.mark.parametrize(
    "job",
    [
        "{kind: train, model: m, epoch: 2}",
        "{kind: train, model: m, max_duration: 10}",
        "{kind: train, model: m, max_price: 3.2}",
        "{kind: train, model: m, precision: int8}",
        "{kind: train, model: m, accelerators: {L4: 1}}",
        "{kind: train, model: m, accelerators: L5}",
        "{kind: train, model: m, instances: 0}",
        "{kind: train}",
        "{kind: tain, model: m}",
        "{kind: serve, models: {}}",
        "{kind: serve, models: {a: m}, quantization: {weights: int8, max_accuracy_drop: 2}}",
        "{kind: batch, model: m, schedule: {timezone: UTC}}",
    ],
)
def test_faulty_jobs_fail_the_schema_too(validator, with_jobs, faults, job):
    text = with_jobs(f"  j: {job}\n")
    assert faults(text)
    assert not validator.is_valid(read(text))


def test_schema_has_no_nulls_and_no_private_keys():
    text = json_schema.text()
    assert '"null"' not in text
    assert json_schema.OTHERWISE not in text
    assert json.loads(text)["required"] == ["cluster"]


def test_known_accelerators_are_those_of_the_price_book():
    assert sorted(set(KNOWN) - {CPU}) == sorted(hardware.accelerators())


def test_pyyaml_has_its_fast_parser():
    assert yaml.__with_libyaml__
