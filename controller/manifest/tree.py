"""A manifest as it was written: JSON values that know their lines."""

from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec

DEPTH_MAX: Final = 200
"""How deep lists and objects may be nested; no Kubernetes object comes near."""

Path = tuple[str | int, ...]
"""Keys and indices from the top of a document to a value."""

Value: TypeAlias = "bool | str | Number | list[Node] | dict[str, Node] | None"
"""What a node holds; a mapping's keys are texts, whatever they were in YAML."""


class Number(msgspec.Struct, frozen=True, gc=False):
    """A number as JSON writes it, a text: quantities are exact, and `1.0` is no integer to an API server."""

    text: str


class Node(msgspec.Struct, frozen=True, eq=False):
    """A value and its line, counted from 1: that of its key where it has one.

    `replaced_line` is that of the value before it with the same key in the same object, which does not count; 0 when
    there is none.
    """

    value: Value
    line: int
    replaced_line: int = 0


class TextError(ValueError):
    """The text is no YAML or JSON that we read; `line` says where, the message why."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def show(path: Path) -> str:
    """The path as the API server writes it: `spec.metrics[0].type`."""
    text = ""
    for step in path:
        if isinstance(step, int) or "." in step or "/" in step:
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def find(node: Node, path: Path) -> Node | None:
    """The node at a path, or None."""
    found: Node | None = node
    for step in path:
        found = None if found is None else _child(found, step)
    return found


def nearest_line(node: Node, path: Path) -> int:
    """The line of what is written at a path, or of the innermost thing around it that is written."""
    for step in path:
        child = _child(node, step)
        if child is None:
            break
        node = child
    return node.line


def text_at(node: Node, *path: str | int) -> str:
    """The text at a path; empty when there is none."""
    found = find(node, path)
    return found.value if found is not None and isinstance(found.value, str) else ""


def replacing(node: Node, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    """The nodes that replace another with their key, and where they are; `path` is that of the node itself."""
    if node.replaced_line:
        yield path, node
    if isinstance(node.value, dict):
        for key, field in node.value.items():
            yield from replacing(field, (*path, key))
    elif isinstance(node.value, list):
        for index, item in enumerate(node.value):
            yield from replacing(item, (*path, index))


def why_no_text(node: Node, key: str, example: str, remedy: str) -> str:
    """Why an object has no text at a key, for messages; `remedy` follows where nothing like the key is written."""
    written = find(node, (key,))
    if written is not None:
        return f"a text such as {example} is expected, found {describe(written)}"
    fields = node.value if isinstance(node.value, dict) else {}
    similar = next((field for field in fields if field.lower() == key.lower()), "")
    return f"{key} is missing" + (f"; did you mean it by {similar}?" if similar else remedy)


def describe(node: Node) -> str:
    """The value in a few words, for messages: `the number 5`, `the text "five"`, `a list`."""
    match node.value:
        case None:
            return "null"
        case bool():
            return "true" if node.value else "false"
        case str():
            shown = node.value if len(node.value) <= 40 else node.value[:40] + "…"  # noqa: PLR2004 - enough to find it
            return f'the text "{shown}"'
        case Number():
            return f"the number {node.value.text[:40]}"
        case list():
            return "a list"
        case _:
            return "an object"


def _child(node: Node, step: str | int) -> Node | None:
    if isinstance(step, str):
        return node.value.get(step) if isinstance(node.value, dict) else None
    return node.value[step] if isinstance(node.value, list) and step < len(node.value) else None
