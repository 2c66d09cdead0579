"""A catalog's text as a tree that remembers where every key and value stands."""

from dataclasses import dataclass
from typing import Any

from orchestrator.catalog.fault import Path
from orchestrator.catalog.scalar import Scalar

Mark = tuple[int, int]
"""Line and column, both from 1."""


@dataclass(slots=True)
class ScalarNode:
    """A leaf, already resolved to what it means."""

    mark: Mark
    value: Scalar


@dataclass(slots=True)
class ListNode:
    """A sequence."""

    mark: Mark
    items: "list[Node]"


@dataclass(slots=True)
class MapNode:
    """A mapping; of a key given twice the first value counts."""

    mark: Mark
    entries: "dict[str, tuple[Mark, Node]]"


Node = ScalarNode | ListNode | MapNode


def plain(node: Node) -> Any:
    """The tree as fresh dicts, lists and scalars, without positions."""
    match node:
        case ScalarNode():
            return node.value
        case ListNode():
            return [plain(item) for item in node.items]
        case MapNode():
            return {key: plain(value) for key, (_, value) in node.entries.items()}


def locate(root: Node, path: Path, *, key: bool = False) -> Mark:
    """Position of the value at `path`, or of its key; of the nearest parent that exists where it does not.

    For a missing entry this is the key of the mapping it is missing from, as that is what a reader looks for.
    """
    node, mark, key_mark = root, root.mark, root.mark
    for depth, part in enumerate(path):
        child = _child(node, part)
        if child is None:
            return key_mark if depth else root.mark
        key_mark, node = child
        mark = node.mark
    empty = isinstance(node, ScalarNode) and node.value is None
    return key_mark if key or empty else mark


def _child(node: Node, part: str | int) -> tuple[Mark, Node] | None:
    if isinstance(node, MapNode) and isinstance(part, str):
        return node.entries.get(part)
    if isinstance(node, ListNode) and isinstance(part, int) and part < len(node.items):
        return node.items[part].mark, node.items[part]
    return None
