"""The tables of docs/catalog.md, from the schema: `python -m orchestrator.catalog.reference docs/catalog.md`."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from orchestrator.catalog.json_schema import OTHERWISE, annotated_schema

MARKER = "<!-- From here on made from the schema: python -m orchestrator.catalog.reference docs/catalog.md -->\n"
_HEADINGS = {
    "Document": "The file",
    "Cluster": "`cluster`",
    "Engineer": "`cluster.engineer`",
    "Card": "`models.NAME`",
    "Train": "`jobs.NAME` of kind `train`",
    "Checkpoint": "`checkpoint` of a train job",
    "Batch": "`jobs.NAME` of kind `batch`",
    "Schedule": "`schedule` of a batch job",
    "Serve": "`jobs.NAME` of kind `serve`",
    "Rule": "A rule of `route`",
    "Traffic": "`traffic` of a serve job",
    "Slo": "`slo` of a serve job",
    "Replicas": "`replicas` of a serve job",
    "Speculative": "`speculative` of a serve job",
    "Overflow": "`overflow` of a serve job",
    "Quantization": "`quantization` of a batch or serve job",
    "Engine": "`engine` of a batch or serve job",
    "Span": "`instances` as a range",
}


def renewed(page: str) -> str:
    """The page with everything below its marker made anew."""
    return page.partition(MARKER)[0] + MARKER + tables()


def tables() -> str:
    """One table for each section: every key with its value, its default and its meaning."""
    schema = annotated_schema()
    sections = {"Document": schema, **schema["$defs"]}
    return "".join(_section(_HEADINGS[name], sections[name]) for name in _HEADINGS)


def _section(heading: str, section: Mapping[str, Any]) -> str:
    rows = "".join(_rows(section))
    summary = str(section["description"])
    return f"\n## {heading}\n\n{summary}\n\n| key | value | default | meaning |\n|---|---|---|---|\n{rows}"


def _rows(section: Mapping[str, Any]) -> Iterator[str]:
    needed = section.get("required", ())
    for key, field in section["properties"].items():
        default = "**required**" if key in needed else field.get(OTHERWISE) or f"`{json.dumps(field.get('default'))}`"
        cells = (f"`{key}`", _value(field), default.replace('"', ""), field["description"])
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _value(field: Mapping[str, Any]) -> str:
    """A value's form in words."""
    if "enum" in field:
        return ", ".join(f"`{each}`" for each in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    if "examples" in field:
        return f"such as `{field['examples'][0]}`"
    if "anyOf" in field:
        return " or ".join(_value(each) for each in field["anyOf"])
    if "$ref" in field:
        return "a mapping, see below"
    names = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true`, `false`"}
    kinds = {"object": "a mapping", "array": "a list"}
    return (names | kinds).get(str(field.get("type")), "see below")


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(renewed(page.read_text("utf-8")), "utf-8")
