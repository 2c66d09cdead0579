"""The catalog's JSON Schema, for editors: `python -m orchestrator.catalog.json_schema > docs/catalog.schema.json`."""

import json
import sys
from typing import Any

from orchestrator.catalog.schema.document import Document

OTHERWISE = "x-default"
"""Where a field's description of its default is kept until it is put into words."""


def json_schema() -> dict[str, Any]:
    """The schema as editors read it: defaults that are no YAML value stand in the descriptions."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **annotated_schema()}
    _finish(schema)
    return schema


def annotated_schema() -> dict[str, Any]:
    """The schema as pydantic makes it, without titles and nulls; defaults in words stand under `x-default`."""
    schema = Document.model_json_schema(by_alias=True)
    _clean(schema)
    return schema


def text() -> str:
    """The schema as it is committed."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _clean(node: Any) -> None:
    """Drop what pydantic adds for itself: titles, the OpenAPI discriminator, and null as a value of optional keys."""
    if isinstance(node, list):
        for each in node:
            _clean(each)
        return
    if not isinstance(node, dict):
        return
    if isinstance(node.get("title"), str):
        del node["title"]
    node.pop("discriminator", None)
    if node.get("default", "") is None:
        del node["default"]
    kept = [each for each in node.get("anyOf", []) if each != {"type": "null"}]
    if len(kept) == 1:
        del node["anyOf"]
        node.update({**kept[0], **node})
    elif kept:
        node["anyOf"] = kept
    for each in node.values():
        _clean(each)


def _finish(node: Any) -> None:
    if isinstance(node, list):
        for each in node:
            _finish(each)
    if not isinstance(node, dict):
        return
    otherwise = node.pop(OTHERWISE, None)
    if isinstance(otherwise, str):
        node.pop("default", None)
        node["description"] = f"{node['description']} Default: {otherwise}.".replace("`", "")
    for each in node.values():
        _finish(each)


if __name__ == "__main__":
    sys.stdout.write(text())
