"""Which price list is in force."""

from datetime import date
from pathlib import Path

import pytest

from orchestrator.model.error import InputError
from orchestrator.offers import current_list, current_prices, load_snapshot
from orchestrator.offers.current import SHIPPED, prices_path

TEXT = (
    "instance_type,region,zone,market,usd_per_hour,source,as_of\n"
    "g6.xlarge,us-east-1,*,on-demand,{price},test,2026-11-29\n"
)


def write(path: Path, price: str = "0.81") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TEXT.format(price=price))
    return path


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        ({"HOME": "/home/u"}, "/home/u/.local/share/orchestrator/prices.csv"),
        ({"HOME": "/home/u", "XDG_DATA_HOME": "/data"}, "/data/orchestrator/prices.csv"),
        ({"HOME": "/home/u", "XDG_DATA_HOME": "data"}, "/home/u/.local/share/orchestrator/prices.csv"),
        ({"HOME": "/home/u", "XDG_DATA_HOME": ""}, "/home/u/.local/share/orchestrator/prices.csv"),
        ({"HOME": "/home/u", "XDG_DATA_HOME": "/data", "ORCHESTRATOR_PRICES": "/p.csv"}, "/p.csv"),
        ({"HOME": "/home/u", "ORCHESTRATOR_PRICES": ""}, "/home/u/.local/share/orchestrator/prices.csv"),
    ],
    ids=["home", "xdg", "relative-xdg-does-not-count", "empty-xdg", "variable", "empty-variable"],
)
def test_where_refreshed_prices_live(environ, path):
    assert str(prices_path(environ)) == path


def test_a_relative_variable_is_below_the_working_folder():
    assert prices_path({"ORCHESTRATOR_PRICES": "p.csv"}) == Path.cwd() / "p.csv"


def test_without_a_refreshed_list_it_is_the_shipped_one(tmp_path):
    found = current_list({"HOME": str(tmp_path)})
    assert found.origin == SHIPPED and found.book is load_snapshot()


def test_a_refreshed_list_comes_first_and_says_where_it_is(tmp_path):
    path = write(tmp_path / ".local/share/orchestrator/prices.csv")
    found = current_list({"HOME": str(tmp_path)})
    assert found.origin == str(path) and [str(offer.price_usd_per_hour) for offer in found.book.offers] == ["0.81"]
    assert found.book.as_of == "2026-11-29" == str(date(2026, 11, 29))


def test_the_process_environment_counts_by_default(tmp_path, monkeypatch):
    monkeypatch.setenv("ORCHESTRATOR_PRICES", str(write(tmp_path / "p.csv")))
    assert len(current_prices().offers) == 1


def test_a_list_that_is_replaced_is_read_again(tmp_path):
    environ = {"ORCHESTRATOR_PRICES": str(write(tmp_path / "p.csv"))}
    before = current_list(environ).book
    assert current_list(environ).book is before, "kept in memory while the file stays the same"
    write(tmp_path / "new.csv", "0.99").replace(tmp_path / "p.csv")
    assert str(current_list(environ).book.offers[0].price_usd_per_hour) == "0.99"


def test_a_named_list_that_is_not_there_is_an_error_and_never_the_shipped_one(tmp_path):
    with pytest.raises(InputError, match=r"ORCHESTRATOR_PRICES names .*p\.csv, which is not there.*offers refresh"):
        current_list({"ORCHESTRATOR_PRICES": str(tmp_path / "p.csv")})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"hello\n", "not a price snapshot"), (b"\xff\xfe\x00", "UTF-8"),
        (TEXT.splitlines(keepends=True)[0].encode(), "no price"),
    ],
    ids=["another-file", "binary", "only-a-header"],
)  # fmt: skip
def test_a_broken_list_is_an_error_that_names_it(tmp_path, content, said):
    path = tmp_path / "p.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said) as caught:
        current_list({"ORCHESTRATOR_PRICES": str(path)})
    assert str(path) in str(caught.value)


def test_a_folder_is_an_error(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        current_list({"ORCHESTRATOR_PRICES": str(tmp_path)})


def test_tests_plan_with_the_shipped_prices():
    assert current_prices() is load_snapshot()
