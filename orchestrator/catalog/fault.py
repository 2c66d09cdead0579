"""A fault of a catalog, and the error that carries all of them."""

from dataclasses import dataclass

from orchestrator.model.error import InputError

Path = tuple[str | int, ...]
"""Where a value stands: mapping keys and list indexes (from 0), outermost first."""

ROOT = "catalog"
"""What a fault of the whole file gives as its path."""


def dotted(path: Path) -> str:
    """The path as text: ("jobs", "copilot", "route", 0, "if") is `jobs.copilot.route[0].if`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".") or ROOT


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing wrong with a catalog; `line` and `col` count from 1, `file` is as the user gave it."""

    file: str
    line: int
    col: int
    path: str
    message: str
    suggestion: str | None = None

    def __str__(self) -> str:
        """The fault as one line: `FILE:LINE:COL: PATH: message (did you mean …?)`."""
        hint = f" (did you mean {self.suggestion}?)" if self.suggestion is not None else ""
        return f"{self.file}:{self.line}:{self.col}: {self.path}: {self.message}{hint}"


class CatalogError(InputError):
    """A catalog that cannot be used. `faults` are in the order of their positions, at least one."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        self.faults = faults
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        super().__init__(f"the catalog has {count}:\n" + "\n".join(self.lines))

    @property
    def lines(self) -> tuple[str, ...]:
        """One line for each fault."""
        return tuple(str(fault) for fault in self.faults)
