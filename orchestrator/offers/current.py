"""Which price list is in force: the one that `offers refresh` wrote for this user, else the snapshot shipped here."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from orchestrator.model.error import InputError
from orchestrator.model.offer import PriceBook
from orchestrator.offers.book import build_book
from orchestrator.offers.serverless import load_serverless
from orchestrator.offers.snapshot import load_snapshot
from orchestrator.offers.snapshot_csv import quotes_of

PRICES_VARIABLE = "ORCHESTRATOR_PRICES"
DATA_HOME_VARIABLE = "XDG_DATA_HOME"
SHIPPED = "the snapshot shipped with orchestrator"


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """A price book and where it came from: a path, or `SHIPPED`."""

    book: PriceBook
    origin: str


def prices_path(environ: Mapping[str, str]) -> Path:
    """Where refreshed prices live: ORCHESTRATOR_PRICES, else orchestrator/prices.csv in the XDG data folder.

    Absolute; XDG_DATA_HOME counts only if it is absolute, as its specification demands.
    """
    named = environ.get(PRICES_VARIABLE)
    if named:
        return Path(named).expanduser().absolute()
    home = Path(environ.get(DATA_HOME_VARIABLE, ""))
    data = home if home.is_absolute() else Path(environ.get("HOME") or Path.home()) / ".local" / "share"
    return (data / "orchestrator" / "prices.csv").absolute()


def current_list(environ: Mapping[str, str] | None = None) -> PriceList:
    """The refreshed list of `environ` (default: this process's), else the shipped one.

    InputError when ORCHESTRATOR_PRICES names no file, or when the file is malformed: other prices than those asked for
    are never used in silence.
    """
    environ = os.environ if environ is None else environ
    path = prices_path(environ)
    try:
        return PriceList(book=read_snapshot(path), origin=str(path))
    except FileNotFoundError as error:
        if environ.get(PRICES_VARIABLE):
            raise InputError(
                f"{PRICES_VARIABLE} names {path}, which is not there.",
                "Write it with `orchestrator offers refresh`, or unset the variable.",
            ) from error
        return PriceList(book=load_snapshot(), origin=SHIPPED)


def current_prices() -> PriceBook:
    """The price book in force for this process."""
    return current_list().book


def read_snapshot(path: Path) -> PriceBook:
    """The price book of a snapshot file; FileNotFoundError where there is none, InputError where it cannot be used."""
    try:
        status = path.stat()
        return _read(path, status.st_mtime_ns, status.st_size, status.st_ino)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(path) from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).", "Make it readable, or remove it.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text.", "Remove it, or name another file.") from error


@lru_cache(maxsize=2)
def _read(path: Path, _mtime_ns: int, _size: int, _inode: int) -> PriceBook:
    """Cached by what changes when the file is replaced: a controller plans often, prices change seldom."""
    quotes = list(quotes_of(path.read_text(encoding="utf-8-sig"), str(path)))
    if not quotes:
        raise InputError(f"{path}: holds no price.", "Write it anew with `orchestrator offers refresh`, or remove it.")
    return replace(build_book(quotes), serverless=load_serverless())
