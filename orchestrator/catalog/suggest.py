"""The nearest known word to a misspelt one."""

import difflib
from collections.abc import Iterable

_CUTOFF = 0.6
"""difflib's similarity (0 to 1) below which a word is no longer worth suggesting; 0.6 is also difflib's default."""


def nearest(word: object, known: Iterable[str]) -> str | None:
    """The known word most like `word`, ignoring case and `-` against `_`; None when nothing is close."""
    by_form = {_form(each): each for each in known}
    found = difflib.get_close_matches(_form(str(word)[:100]), by_form, n=1, cutoff=_CUTOFF)
    return by_form[found[0]] if found else None


def by_likeness(word: str, known: Iterable[str]) -> list[str]:
    """All known words, the most like `word` first, ties by name."""

    def distance(each: str) -> tuple[float, str]:
        return -difflib.SequenceMatcher(None, _form(word), _form(each)).ratio(), each

    return sorted(known, key=distance)


def _form(word: str) -> str:
    return word.lower().replace("_", "-").strip()
