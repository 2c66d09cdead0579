"""The screen: tables, and text from outside made fit for it."""

import unicodedata

from rich.console import Console
from rich.text import Text

PIPE_COLUMNS = 150
"""Width where there is no terminal: a table in a log or a pipe should not break its words."""


TURNING = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
"""Unicode's classes of characters that turn the direction of what follows."""


def count(number: int, noun: str) -> str:
    """ "1 node", "2 nodes"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def visible(text: str, *, newlines: bool = False) -> str:
    """Text from outside, fit for a terminal: control characters as escapes such as `\\x1b`, also newlines unless
    kept."""
    return "".join(one if one == "\n" and newlines else _visible(one) for one in text)


def literal(text: str) -> Text:
    """Text from outside for rich, which would take its [brackets] for markup; newlines are kept."""
    return Text(visible(text, newlines=True))


def _visible(character: str) -> str:
    """Controls, line separators and lone surrogates could steer the terminal; so could marks that turn the direction of
    writing."""
    category = unicodedata.category(character)
    turns = category == "Cf" and unicodedata.bidirectional(character) in TURNING
    if turns or category in ("Cc", "Cs", "Zl", "Zp"):
        return character.encode("unicode_escape").decode()
    return character


def wide_console() -> Console:
    """Standard output; as wide as the terminal, or PIPE_COLUMNS without one."""
    console = Console()
    return console if console.is_terminal else Console(width=PIPE_COLUMNS)
