"""YAML text to a tree of nodes; everything that is wrong with the text itself becomes a fault.

Reads libyaml's event stream, which is several times faster than a pure Python loader and bounds how deep text may nest.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml

from orchestrator.catalog import scalar
from orchestrator.catalog.fault import Path
from orchestrator.catalog.node import ListNode, MapNode, Mark, Node, ScalarNode

AddFault = Callable[[Mark, Path, str], None]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAX_DEPTH = 40
"""No catalog needs more levels; a bound keeps hostile text from exhausting the stack."""

_MAX_NODES = 1_000_000
"""About 25,000 jobs; a bound keeps aliases of aliases from exhausting memory."""

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters YAML does not allow (YAML 1.2.2, c-printable)."""

_MERGE = "<<"
_TAG = "tag:yaml.org,2002:"


class _TextError(Exception):
    """The text cannot be read further."""

    def __init__(self, mark: Mark, message: str) -> None:
        super().__init__(message)
        self.mark = mark
        self.message = message


def parse(text: str, add: AddFault) -> Node | None:
    """The tree of the text's only document; None after a fault that leaves nothing to check."""
    try:
        _refuse_unprintable(text)
        return _Builder(add).build(text)
    except _TextError as error:
        add(error.mark, (), error.message)
    except yaml.MarkedYAMLError as error:
        add(_error_mark(error), (), f"not valid YAML: {_words(error)}")
    except yaml.YAMLError as error:
        add((1, 1), (), f"not valid YAML: {' '.join(str(error).split())}")
    return None


def mark_at(text: str, offset: int) -> Mark:
    """Line and column of a character."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def _refuse_unprintable(text: str) -> None:
    if match := _UNPRINTABLE.search(text):
        raise _TextError(mark_at(text, match.start()), f"character U+{ord(match[0]):04X} is not allowed in YAML")


def _error_mark(error: yaml.MarkedYAMLError) -> Mark:
    mark = error.problem_mark or error.context_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _words(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or "cannot be read"
    if problem == "found character that cannot start any token":
        problem = "a tab or another character that cannot start a value; indent with spaces"
    return f"{problem} ({error.context})" if error.context else problem


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come yet; `key` is a mapping's key that waits for its value."""

    node: ListNode | MapNode
    path: Path
    anchor: str | None = None
    key: tuple[Mark, str] | None = None
    merges: list[Node] = field(default_factory=list)


class _Builder:
    """Assembles nodes from events, without recursion."""

    def __init__(self, add: AddFault) -> None:
        self._add = add
        self._open: list[_Open] = []
        self._anchors: dict[str, Node] = {}
        self._sizes: dict[int, int] = {}
        self._root: Node | None = None

    def build(self, text: str) -> Node | None:
        for event in yaml.parse(text, Loader=_LOADER):
            self._take(event)
        if self._root is None:
            raise _TextError((1, 1), "is empty; it needs at least `version` and `cluster`")
        return self._root

    def _take(self, event: Any) -> None:
        mark = (event.start_mark.line + 1, event.start_mark.column + 1)
        match event:
            case yaml.DocumentStartEvent() if self._root is not None:
                raise _TextError(mark, "holds a second document; a catalog is one document")
            case yaml.ScalarEvent():
                self._leaf(event, mark)
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                self._begin(event, mark)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._end()
            case yaml.AliasEvent():
                self._alias(event.anchor, mark)

    def _leaf(self, event: Any, mark: Mark) -> None:
        if self._awaits_key():
            self._open[-1].key = (mark, event.value)
            return
        value = self._value(event, mark)
        node = ScalarNode(mark, value)
        self._sizes[id(node)] = 1
        self._remember(event.anchor, node)
        self._place(node)

    def _value(self, event: Any, mark: Mark) -> scalar.Scalar:
        if event.tag and event.tag not in ("!", f"{_TAG}str"):
            self._add(mark, self._path(), f"tag {event.tag.replace(_TAG, '!!')} is not used in catalogs; drop it")
        if event.tag in ("!", f"{_TAG}str") or event.style:
            return str(event.value)
        return scalar.resolve(event.value)

    def _begin(self, event: Any, mark: Mark) -> None:
        if self._awaits_key():
            raise _TextError(mark, "a key must be a word, not a list or a mapping")
        if len(self._open) >= _MAX_DEPTH:
            raise _TextError(mark, f"nests deeper than {_MAX_DEPTH} levels")
        if event.tag:
            self._add(mark, self._path(), f"tag {event.tag.replace(_TAG, '!!')} is not used in catalogs; drop it")
        is_list = isinstance(event, yaml.SequenceStartEvent)
        node = ListNode(mark, []) if is_list else MapNode(mark, {})
        self._open.append(_Open(node, self._path(), event.anchor))

    def _end(self) -> None:
        done = self._open.pop()
        node = done.node
        if isinstance(node, MapNode):
            for merged in done.merges:
                self._merge(node, merged, done.path)
            children: list[Node] = [value for _, value in node.entries.values()]
        else:
            children = node.items
        self._sizes[id(node)] = size = 1 + sum(self._sizes[id(child)] for child in children)
        if size > _MAX_NODES:
            raise _TextError(node.mark, f"expands to more than {_MAX_NODES:,} values")
        self._remember(done.anchor, node)
        self._place(node)

    def _alias(self, anchor: str, mark: Mark) -> None:
        if self._awaits_key():
            raise _TextError(mark, "a key must be a word, not an alias")
        if anchor not in self._anchors:
            raise _TextError(mark, f"alias *{anchor} stands for nothing that is complete before it")
        self._place(self._anchors[anchor])

    def _remember(self, anchor: str | None, node: Node) -> None:
        if anchor is not None:
            self._anchors[anchor] = node

    def _awaits_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].node, MapNode) and self._open[-1].key is None

    def _path(self) -> Path:
        """Path of the value that comes next."""
        if not self._open:
            return ()
        parent = self._open[-1]
        if isinstance(parent.node, ListNode):
            return (*parent.path, len(parent.node.items))
        return (*parent.path, parent.key[1]) if parent.key else parent.path

    def _place(self, node: Node) -> None:
        if not self._open:
            self._root = node
            return
        parent = self._open[-1]
        if isinstance(parent.node, ListNode):
            parent.node.items.append(node)
            return
        assert parent.key is not None
        (mark, key), parent.key = parent.key, None
        if key == _MERGE:
            parent.merges.append(node)
        elif key in parent.node.entries:
            line = parent.node.entries[key][0][0]
            self._add(mark, (*parent.path, key), f"is given twice, first in line {line}; the first counts, remove one")
        else:
            parent.node.entries[key] = (mark, node)

    def _merge(self, node: MapNode, merged: Node, path: Path) -> None:
        """Give `node` the entries of `merged` that it lacks (YAML's `<<`)."""
        for source in merged.items if isinstance(merged, ListNode) else [merged]:
            if not isinstance(source, MapNode):
                self._add(source.mark, (*path, _MERGE), "merges something that is not a mapping")
                continue
            for key, entry in source.entries.items():
                node.entries.setdefault(key, entry)
