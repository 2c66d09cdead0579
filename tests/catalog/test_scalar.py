"""Plain scalars by YAML 1.2, where YAML 1.1 set traps."""

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.catalog.scalar import resolve


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("02:00", "02:00"),
        ("1:30:00", "1:30:00"),
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("no", "no"),
        ("NO", "NO"),
        ("1_000", "1_000"),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("1e9", 1e9),
        ("8.03e9", 8.03e9),
        ("45e6", 45e6),
        ("+3", 3),
        (".5", 0.5),
        ("5.", 5.0),
        ("-.inf", -math.inf),
        ("true", True),
        ("False", False),
        ("", None),
        ("~", None),
        ("null", None),
        ("2026-01-05", "2026-01-05"),
        ("=", "="),
        ("40M", "40M"),
        ("٣", "٣"),
    ],
)
def test_resolve(text, value):
    found = resolve(text)
    assert found == value
    assert type(found) is type(value)


def test_not_a_number():
    found = resolve(".nan")
    assert isinstance(found, float)
    assert math.isnan(found)


@given(st.one_of(st.integers(-(10**12), 10**12), st.floats(allow_nan=False, allow_infinity=False), st.booleans()))
def test_what_a_yaml_writer_writes_is_read_back(value):
    written = yaml.safe_dump(value).split("\n")[0]
    assert resolve(written) == value
