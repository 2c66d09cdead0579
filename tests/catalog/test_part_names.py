"""Names of a service's parts become names of deployments, and `auto` belongs to the router."""

import pytest

from orchestrator.catalog import CatalogError, load_text

CATALOG = """\
version: 1
cluster: {{provider: local, region: us-east-1, storage: ./s}}
models:
  m: {{source: "s3://bucket/m", params: 1e9, layers: 16, hidden: 2048, heads: 32, kv_heads: 8, head_dim: 64,
      context: 4096, dtype: bf16}}
jobs:
  chat: {{kind: serve, models: {models}}}
"""


def faults(tmp_path, models: str) -> list[str]:
    try:
        load_text(CATALOG.format(models=models), "c.yaml", tmp_path)
    except CatalogError as error:
        return list(error.lines)
    return []


@pytest.mark.parametrize(
    ("models", "message"),
    [("{a.b: m, a_b: m}", "is too like a.b"), ("{auto: m, big: m}", "auto stands for the routes' choice")],
    ids=["dots-and-underscores", "auto"],
)
def test_names_that_cannot_be_told_apart(tmp_path, models, message):
    (line,) = faults(tmp_path, models)
    assert message in line and line.startswith("c.yaml:7:")


def test_names_that_can(tmp_path):
    assert faults(tmp_path, "{a.b: m, a-b: m, automatic: m}") == []


def test_no_budget_is_a_billion_of_billions(tmp_path):
    text = CATALOG.format(models="{only: m}").replace("storage: ./s", "storage: ./s, budget: $99999999999999999999/h")
    with pytest.raises(CatalogError) as error:
        load_text(text, "c.yaml", tmp_path)
    assert "must not be more than $1,000,000,000" in error.value.lines[0]
