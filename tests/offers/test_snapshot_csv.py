"""The format of price snapshots: what is written is what is read."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import orchestrator.offers
from orchestrator.model.error import InputError
from orchestrator.model.offer import Market
from orchestrator.offers import load_snapshot
from orchestrator.offers.book import build_book
from orchestrator.offers.hardware import Described
from orchestrator.offers.quote import UnknownHardware
from orchestrator.offers.snapshot_csv import OPTIONAL, REQUIRED, SnapshotRow, quote_of, quotes_of, text_of

ROW = SnapshotRow(
    described=Described(
        instance_type="g6.32xlarge",
        accelerator="L4",
        accelerators=4,
        vcpus=128,
        memory_gib=512.0,
        accelerator_memory_mib=22888,
        network_gbit_per_s=37.5,
        efa=True,
    ),
    region="us-east-1",
    zone="use1-az1",
    market=Market.SPOT,
    usd_per_hour=Decimal("2.5"),
    source='EC2, "median"',
    as_of="2026-11-30",
    p90_usd_per_hour=Decimal("3.25"),
)
BARE = "instance_type,region,zone,market,usd_per_hour,source,as_of\n"


def read(text: str):
    return list(quotes_of(text, "p.csv"))


def test_a_row_is_read_as_it_was_written():
    (found,) = read(text_of([ROW]))
    assert found == quote_of(ROW, "p.csv:2")
    assert (found.usd_per_hour, found.p90_usd_per_hour) == (Decimal("2.5"), Decimal("3.25"))
    hardware = found.hardware
    assert (hardware.vcpus, hardware.accelerators, hardware.network_gbit_per_s, hardware.efa) == (128, 4, 37.5, True)


words = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=12)
counts = st.none() | st.integers(min_value=0, max_value=10_000)
money = st.decimals(min_value=0, max_value=1000, places=10)
rows = st.builds(
    SnapshotRow,
    described=st.builds(
        Described,
        instance_type=words,
        accelerator=st.none() | words,
        accelerators=counts | st.just(0.125),
        vcpus=counts,
        memory_gib=st.none() | st.floats(0.5, 1e5),
        accelerator_memory_mib=counts,
        network_gbit_per_s=counts,
        efa=st.booleans(),
    ),
    region=words,
    zone=words,
    market=st.sampled_from(Market),
    usd_per_hour=money,
    source=words,
    as_of=st.dates().map(str) | st.just("unknown"),
    p90_usd_per_hour=st.none() | money,
)


@settings(deadline=None)
@given(found=st.lists(rows, max_size=5))
def test_any_rows_are_read_as_they_were_written(found):
    told = sorted((replace(quote, place="") for quote in read(text_of(found))), key=repr)
    assert told == sorted((quote_of(row, "") for row in found), key=repr)


@given(found=st.lists(rows, max_size=5), order=st.randoms(use_true_random=False))
def test_the_same_rows_are_the_same_text(found, order):
    text = text_of(found)
    order.shuffle(found)
    assert text_of(found) == text


def test_prices_are_written_without_exponent_or_idle_zeros():
    cheap = replace(ROW, usd_per_hour=Decimal("1E-7"), p90_usd_per_hour=Decimal("0.5260000000"))
    assert "0.0000001" in text_of([cheap]) and ",0.526," in text_of([cheap])
    assert ",100," in text_of([replace(ROW, usd_per_hour=Decimal(100))])


def test_a_list_without_the_optional_columns_is_read():
    (found,) = read(f"{BARE}g6.xlarge,us-east-1,*,on-demand,0.8048,test,2026-11-30\n")
    assert found.p90_usd_per_hour is None and found.hardware.name == "g6.xlarge"


def test_the_shipped_list_has_this_format_and_is_the_same_book_as_ever():
    shipped = Path(orchestrator.offers.__file__).with_name("prices.csv").read_text()
    assert shipped.startswith(",".join(REQUIRED)) and not set(OPTIONAL) & set(shipped.splitlines()[0].split(","))
    assert build_book(quotes_of(shipped, "prices.csv")) == replace(load_snapshot(), serverless=())


def test_a_size_that_the_table_lacks_is_unknown_without_its_hardware_columns():
    (found,) = read(f"{BARE}g6.32xlarge,us-east-1,*,on-demand,9,test,2026-11-30\n")
    assert isinstance(found.hardware, UnknownHardware)


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ("g6.xlarge,us-east-1,*,on-demand,cheap,test,2026-11-30", "usd_per_hour"),
        ("g6.xlarge,us-east-1,*,on-demand,,test,2026-11-30", "usd_per_hour"),
        ("g6.xlarge,us-east-1,*,on-demand,nan,test,2026-11-30", "usd_per_hour"),
        ("g6.xlarge,us-east-1,*,on-demand,-1,test,2026-11-30", "usd_per_hour"),
        ("g6.xlarge,us-east-1,*,sport,1,test,2026-11-30", "market"),
        ("g6.xlarge,us-east-1,*,spot,1,test,yesterday", "as_of"),
        ("g6.xlarge,us-east-1,*,spot,1,test,2026-13-45", "as_of"),
        ("g6.xlarge,us-east-1,*,spot,1,test,", "as_of"),
        (",us-east-1,*,spot,1,test,2026-11-30", "instance_type"),
        ("g6.xlarge,,*,spot,1,test,2026-11-30", "region"),
        ("g6.xlarge,us-east-1,,spot,1,test,2026-11-30", "zone"),
        ("g6.xlarge,us-east-1,*,spot,1,,2026-11-30", "source"),
        ("g6.xlarge,us-east-1", "number of fields"),
        ("g6.xlarge,us-east-1,*,spot,1,test,2026-11-30,more", "number of fields"),
        ('g6.xlarge,us-east-1,*,spot,1,"te"st,2026-11-30', "not CSV"),
    ],
)
def test_a_malformed_row_is_bad_input_with_file_line_and_column(row, column):
    with pytest.raises(InputError) as caught:
        read(f"{BARE}g6.xlarge,us-east-1,*,on-demand,0.8,test,2026-11-30\n{row}\n")
    assert "p.csv:3:" in str(caught.value) and column in str(caught.value)


@pytest.mark.parametrize(("column", "value"), [("vcpus", "many"), ("p90_usd_per_hour", "-3"), ("memory_gib", "inf")])
def test_malformed_optional_columns_are_bad_input(column, value):
    text = f"{BARE.strip()},{column}\ng6.xlarge,us-east-1,*,spot,1,test,2026-11-30,{value}\n"
    with pytest.raises(InputError, match=column):
        read(text)


@pytest.mark.parametrize("text", ["", "hello\n", "instance_type,region\ng6.xlarge,us-east-1\n"])
def test_another_kind_of_file_is_bad_input_that_names_what_is_missing(text):
    with pytest.raises(InputError, match=r"not a price snapshot.*usd_per_hour"):
        read(text)
