"""Collects the faults of one catalog, with positions."""

from orchestrator.catalog.fault import CatalogError, Fault, Path, dotted
from orchestrator.catalog.node import Mark, Node, locate


class Report:
    """All faults found so far. Checks that build on a value found broken stay quiet, so that one slip is one fault."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._faults: dict[Fault, None] = {}
        self._broken: set[Path] = set()
        self._with_broken_parts: set[Path] = set()
        self._root: Node | None = None

    def use(self, root: Node) -> None:
        """Take positions from this tree from now on."""
        self._root = root

    def note_at(self, mark: Mark, path: Path, message: str, suggestion: str | None = None) -> None:
        """Record a fault at a known position that does not keep the value at `path` from being used."""
        fault = Fault(
            file=self._file,
            line=mark[0],
            col=mark[1],
            path=dotted(path),
            message=_one_line(message),
            suggestion=_one_line(suggestion) if suggestion is not None else None,
        )
        self._faults[fault] = None

    def note_key(self, path: Path, message: str) -> None:
        """Record a fault of the key at `path` that does not keep its value from being used."""
        self.note_at(self._mark(path, key=True), path, message)

    def add(self, path: Path, message: str, suggestion: str | None = None, *, at_key: bool = False) -> None:
        """Record a fault of the value at `path`, or of its key."""
        self.note_at(self._mark(path, key=at_key), path, message, suggestion)
        self.mark_broken(path)

    def mark_broken(self, path: Path) -> None:
        """Keep checks that need this value quiet; the fault behind it is reported elsewhere."""
        self._broken.add(path)
        self._with_broken_parts.update(path[:end] for end in range(len(path)))

    def check(self, path: Path, message: str, *involved: Path, suggestion: str | None = None) -> None:
        """Record a fault that follows from the values at `path` and `involved`, unless one of them is broken."""
        if not any(self.is_broken(each) for each in (path, *involved)):
            self.add(path, message, suggestion)

    def _mark(self, path: Path, *, key: bool) -> Mark:
        return (1, 1) if self._root is None else locate(self._root, path, key=key)

    def is_broken(self, path: Path) -> bool:
        """Whether a fault is known of this value, of a part of it or of what holds it."""
        whole = any(path[:end] in self._broken for end in range(1, len(path) + 1))
        return whole or path in self._with_broken_parts

    def raise_if_any(self) -> None:
        """Raise CatalogError with every fault, in order of position."""
        if self._faults:
            raise CatalogError(tuple(sorted(self._faults, key=lambda fault: (fault.line, fault.col, fault.message))))


def _one_line(text: str) -> str:
    return " ".join(text.split())
