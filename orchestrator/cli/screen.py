"""The screen for tables."""

from rich.console import Console

PIPE_COLUMNS = 150
"""Width where there is no terminal: a table in a log or a pipe should not break its words."""


def count(number: int, noun: str) -> str:
    """ "1 node", "2 nodes"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def wide_console() -> Console:
    """Standard output; as wide as the terminal, or PIPE_COLUMNS without one."""
    console = Console()
    return console if console.is_terminal else Console(width=PIPE_COLUMNS)
