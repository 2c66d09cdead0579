"""Whatever the text: a Catalog or a CatalogError, and every fault is one well-formed line."""

import re
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.catalog import CatalogError, load_text
from orchestrator.model.catalog import Catalog

LINE = re.compile(r"c\.yaml:[1-9][0-9]*:[1-9][0-9]*: [^\n]+: [^\n]+")
WORDS = """
    { } [ ] : &a *a <<: !!int | # ~ ' " -1 0 1e400 .nan .inf null true no 02:00 10 10m $3/h 2% 40M any run:tune
    run:nightly kind: serve --- ... ? é
"""
SNIPPETS = st.sampled_from(
    [*WORDS.split(), ": ", "- ", "\n", "\n  ", "\t", "{a: 1}", "[1, 2]", "%YAML 1.1\n", "\x00", "\ufeff", "\u2028"]
)
quietly = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def check(text: str) -> None:
    try:
        found = load_text(text, "c.yaml", Path("/base"))
    except CatalogError as error:
        lines = text.count("\n") + text.count("\r") + text.count("\x85") + text.count("\u2028") + text.count("\u2029")
        assert error.lines
        for fault, line in zip(error.faults, error.lines, strict=True):
            assert LINE.fullmatch(line), line
            assert fault.line <= lines + 2
    else:
        assert isinstance(found, Catalog)


@given(st.text())
@quietly
def test_any_text(text):
    check(text)


@given(st.lists(SNIPPETS, max_size=30).map("".join))
@quietly
def test_yaml_like_text(text):
    check(text)


@given(edits=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), SNIPPETS), min_size=1, max_size=4))
@quietly
def test_edits_of_a_valid_catalog(valid, edits):
    text = valid
    for place, removed, inserted in edits:
        at = int(place * len(text))
        text = text[:at] + inserted + text[at + removed :]
    check(text)


WORD = re.compile(r"(?<=: )[A-Za-z0-9$./%_-]+")
VALUES = st.one_of(SNIPPETS, st.integers().map(str), st.floats().map(str), st.text(max_size=5))


@given(index=st.integers(0, 200), value=VALUES)
@quietly
def test_any_value_in_place_of_another(valid, index, value):
    words = list(WORD.finditer(valid))
    word = words[index % len(words)]
    check(valid[: word.start()] + value + valid[word.end() :])


@given(index=st.integers(0, 200))
@quietly
def test_every_line_may_be_missing(valid, index):
    lines = valid.splitlines(keepends=True)
    del lines[index % len(lines)]
    check("".join(lines))


@given(cut=st.floats(0, 1))
@quietly
def test_every_prefix(valid, cut):
    check(valid[: int(cut * len(valid))])
