"""YAML to nodes, as sigs.k8s.io/yaml (and so kubectl) understands it: YAML 1.1 by the rules of Go's yaml.v2."""

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from controller.manifest import scalars
from controller.manifest.tree import DEPTH_MAX, Node, TextError

_LOADER: Final = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_EXPANDED_MAX: Final = 400_000
"""How many values a document with aliases may stand for; Go refuses from about the same number on."""

_UNPRINTABLE: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufeff\uff00-\ufffd\U00010000-\U0010ffff]")


def read(text: str, first_line: int = 1) -> Node | None:
    """The one document of a text that begins at a line of its file; None when it holds nothing but comments.

    Raises:
        TextError: not YAML, or aliases and nesting go beyond all reason.
    """
    composer = _Composer(text, first_line)
    try:
        return composer.document()
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text, first_line) from error
    except yaml.YAMLError as error:
        unprintable = _UNPRINTABLE.search(text)
        line = first_line + text.count("\n", 0, unprintable.start()) if unprintable else first_line
        found = f"the character {unprintable[0]!r} is not allowed" if unprintable else str(error)
        raise TextError(f"not YAML: {found}", line) from error


def _syntax_error(error: yaml.MarkedYAMLError, text: str, first_line: int) -> TextError:
    mark = error.problem_mark or error.context_mark
    lines = text.rstrip("\n ").split("\n")
    # What is missing at the end is found on a line that there is not.
    index = min(mark.line if mark else 0, len(lines) - 1)
    line = lines[index]
    indentation = line[: len(line) - len(line.lstrip())]
    if "\t" in indentation:
        return TextError("not YAML: a tab in the indentation; indent with spaces", first_line + index)
    problem = error.problem or error.context or "malformed"
    if "document start" in problem:
        problem = "more follows where the document ends; are quotes, or --- between two documents, missing?"
    context = f" {error.context}" if error.context and error.context != problem else ""
    return TextError(f"not YAML: {problem}{context}", first_line + index)


class _Composer:
    """The events of one document, put together."""

    def __init__(self, text: str, first_line: int) -> None:
        self._first_line = first_line
        self._events: Iterator[Any] = iter(yaml.parse(text, Loader=_LOADER))
        # The value, how many values it holds and how many levels; None while it is still being read.
        self._anchors: dict[str, tuple[Node, int, int] | None] = {}
        self._values = 0
        self._expanded = 0
        self._depth = 0
        # The depth that was reached since the innermost anchor that is still being read.
        self._deepest = 0

    def document(self) -> Node | None:
        next(self._events)
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        node = self._node(next(self._events))
        # The end of the document; the parser complains where something but the end of the stream follows.
        next(self._events)
        next(self._events)
        return node

    def _node(self, event: Any) -> Node:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        before, deepest = self._values, self._deepest
        self._values += 1
        if event.anchor:
            self._anchors[event.anchor] = None
            self._deepest = self._depth
        if isinstance(event, yaml.ScalarEvent):
            try:
                node = Node(scalars.json_value(self._scalar(event)), self._line(event))
            except ValueError as error:
                raise self._error(event, str(error)) from error
        else:
            node = self._nested(event)
        if event.anchor:
            self._anchors[event.anchor] = node, self._values - before, self._deepest - self._depth
            self._deepest = max(self._deepest, deepest)
        return node

    def _nested(self, event: Any) -> Node:
        self._depth += 1
        self._reach(event, self._depth)
        node = self._mapping(event) if isinstance(event, yaml.MappingStartEvent) else self._sequence(event)
        self._depth -= 1
        return node

    def _reach(self, event: Any, depth: int) -> None:
        if depth > DEPTH_MAX:
            raise self._error(event, f"nested more than {DEPTH_MAX} levels deep")
        self._deepest = max(self._deepest, depth)

    def _sequence(self, start: Any) -> Node:
        items = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._node(event))
        return Node(items, self._line(start))

    def _mapping(self, start: Any) -> Node:
        fields: dict[str, Node] = {}
        given: dict[str, int] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if self._is_merge(event):
                fields.update(self._merged(next(self._events)))
                continue
            key, line = self._key(event), self._line(event)
            fields[key] = Node(self._node(next(self._events)).value, line, given.get(key, 0))
            given[key] = line
        return Node(fields, self._line(start))

    def _is_merge(self, event: Any) -> bool:
        if not isinstance(event, yaml.ScalarEvent) or event.value != "<<":
            return False
        return event.tag == scalars.MERGE_TAG or (event.tag is None and event.implicit[0])

    def _merged(self, event: Any) -> dict[str, Node]:
        node = self._node(event)
        nodes = node.value if isinstance(node.value, list) else [node]
        merged: dict[str, Node] = {}
        for part in reversed(nodes):
            if not isinstance(part.value, dict):
                raise self._error(event, "<< merges objects, and this is none")
            merged.update(part.value)
        return merged

    def _key(self, event: Any) -> str:
        if isinstance(event, yaml.AliasEvent):
            node = self._alias(event)
            if isinstance(node.value, str):
                return node.value
            raise self._error(event, "a key must be a text")
        if not isinstance(event, yaml.ScalarEvent):
            raise self._error(event, "a key must be a text, and this is a list or an object; are quotes missing?")
        try:
            value = self._scalar(event)
            if event.anchor:
                self._anchors[event.anchor] = Node(scalars.json_value(value), self._line(event)), 1, 0
            return scalars.key_text(value)
        except ValueError as error:
            raise self._error(event, str(error)) from error

    def _scalar(self, event: Any) -> scalars.Resolved:
        return scalars.resolve(event.value, event.tag, plain=event.implicit[0])

    def _alias(self, event: Any) -> Node:
        if event.anchor not in self._anchors:
            raise self._error(event, f"no anchor &{event.anchor} stands before the alias *{event.anchor}")
        anchored = self._anchors[event.anchor]
        if anchored is None:
            raise self._error(event, f"the anchor &{event.anchor} contains itself")
        node, size, height = anchored
        self._reach(event, self._depth + height)
        self._values += size
        self._expanded += size
        if self._expanded > _EXPANDED_MAX:
            raise self._error(event, f"the aliases up to here stand for more than {_EXPANDED_MAX} values; write it out")
        return node

    def _line(self, event: Any) -> int:
        return self._first_line + int(event.start_mark.line)

    def _error(self, event: Any, problem: str) -> TextError:
        return TextError(f"not YAML: {problem}", self._line(event))
