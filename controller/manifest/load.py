"""Manifest files to documents that know where they stand; what cannot be read is a value, too."""

import codecs
import re
from collections.abc import Iterator, Sequence
from pathlib import Path as FilePath
from typing import BinaryIO, Final

import msgspec

from controller.manifest import json_text, yaml_text
from controller.manifest.schema import AUTOSCALERS, KIND
from controller.manifest.tree import Node, TextError, describe, find, text_at
from controller.os_errors import why

FILE_BYTES_MAX: Final = 16 * 1024 * 1024
"""Larger files are refused: the API server takes no request of more than 3 MiB, and a List of many is better split."""

STDIN: Final = "-"

_URL: Final = re.compile("https?://")

_SUFFIXES: Final = (".yaml", ".yml", ".json")
_SEPARATOR: Final = "---"
_TEMPLATE: Final = "{{"
_SEPARATOR_LINE: Final = re.compile(rf"^{_SEPARATOR}(.*)$", re.MULTILINE)
# Where files were put one behind the other, each with its mark.
_MARK_OF_CHUNK: Final = re.compile("(\r?\n)?\ufeff")
# Where Python's surrogateescape puts bytes that are not UTF-8.
_ESCAPED_BYTES: Final = 0xDC00
_NOT_UTF8: Final = re.compile("[\udc80-\udcff]")
# Whose lists are taken apart, beside those of autoscaling.
_OTHER_GROUPS: Final = ("", "apps", "batch", "policy")


class Document(msgspec.Struct, frozen=True, eq=False):
    """One object of a file: its tree, and its `apiVersion` and `kind` (empty where they are missing or no text)."""

    file: str
    root: Node

    @property
    def line(self) -> int:
        """Where the object begins."""
        return self.root.line

    @property
    def api_version(self) -> str:
        """As written, `autoscaling/v2`."""
        return text_at(self.root, "apiVersion")

    @property
    def group(self) -> str:
        """The API group; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def kind(self) -> str:
        """As written."""
        return text_at(self.root, "kind")


class Undecodable(msgspec.Struct, frozen=True):
    """A part of a file that is no object, and why; everything else in the file is read all the same."""

    file: str
    line: int
    message: str


Loaded = Document | Undecodable


class UnreadableError(ValueError):
    """A file cannot be read at all; the message begins with its name."""


def load(paths: Sequence[str], stdin: BinaryIO, *, recursive: bool = False) -> list[Loaded]:
    """The documents of files, of folders (their `*.yaml`, `*.yml` and `*.json`, as kubectl does) and of `-`, stdin.

    `recursive` adds those of the folders in them.

    Raises:
        UnreadableError: a file does not exist, cannot be read or is too large, or a folder holds no manifest.
    """
    found: list[Loaded] = []
    for path in paths:
        if not path:
            raise UnreadableError("'': a file without a name; . is the folder where you are")
        try:
            if path == STDIN:
                found.extend(documents("stdin", _limited("stdin", stdin)))
                continue
            for file in _files(FilePath(path), recursive=recursive):
                with file.open("rb") as opened:
                    data = _limited(str(file), opened)
                found.extend(documents(str(file), data))
        except OSError as error:
            if _URL.match(path):
                raise UnreadableError(f"{path}: URLs are not read; pipe it in: curl … | … -f -") from error
            raise UnreadableError(f"{error.filename or path}: {why(error)}") from error
    return found


def documents(file: str, data: bytes) -> list[Loaded]:
    """The objects in a file's bytes, in order: JSON values one after the other, or YAML separated by `---`.

    Lists are replaced by their items; documents without content are left out. Nothing is raised.
    """
    found: list[Loaded] = []
    for part in _parts(_decoded(data)):
        if isinstance(part, TextError):
            found.append(Undecodable(file, part.line, str(part)))
        elif part.value is not None:
            found.extend(_objects(file, part))
    return found


def _decoded(data: bytes) -> str:
    """UTF-16 where a byte order mark says so, as of PowerShell's `>`; else UTF-8."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    # Bytes that are not UTF-8 pass here and are found in the document that holds them.
    return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")


def _files(path: FilePath, *, recursive: bool) -> list[FilePath]:
    """A file itself; of a folder the manifests, in the order in which kubectl walks: by name, folders among files."""
    if not path.is_dir():
        return [path]
    found = []
    left_out = False
    waiting = [path]
    while waiting:
        at = waiting.pop()
        if at == path or _is_folder(at):
            if recursive or at == path:
                waiting.extend(sorted(at.iterdir(), reverse=True))
            else:
                left_out = True
        elif at.suffix in _SUFFIXES:
            found.append(at)
    if not found:
        where = "in or under this folder" if recursive else "in this folder"
        remedy = "; -R reads those under it, too" if left_out else ""
        raise UnreadableError(
            f"{path}: no manifests ({', '.join(f'*{suffix}' for suffix in _SUFFIXES)}) {where}{remedy}"
        )
    return found


def _is_folder(path: FilePath) -> bool:
    # A link is none: it could lead back. As for kubectl, one that is named like a manifest cannot be read.
    return path.is_dir() and not path.is_symlink()


def _limited(name: str, opened: BinaryIO) -> bytes:
    data = opened.read(FILE_BYTES_MAX + 1)
    if len(data) > FILE_BYTES_MAX:
        raise UnreadableError(f"{name}: larger than {FILE_BYTES_MAX // 1024 // 1024} MiB; split it into several files")
    return data


def _parts(text: str) -> Iterator[Node | TextError]:
    """As kubectl: a text that begins with a brace is JSON, until at most one value was read and the next is none."""
    position, line = 0, 1
    failure: TextError | None = None
    if text.lstrip().startswith("{"):
        reader = json_text.Reader(text)
        count = 0
        while failure is None:
            position, line = reader.position, reader.line
            try:
                if reader.at_end():
                    return
                node = reader.value()
                count += 1
                yield _encoding_error(text[position : reader.position], line) or node
            except TextError as error:
                failure = error
        if count > 1:
            yield failure
            return
    yield from _yaml_parts(text[position:], line, failure)


def _yaml_parts(text: str, first_line: int, json_failure: TextError | None) -> Iterator[Node | TextError]:
    """`json_failure` is why the beginning is not JSON: the better message where it is not YAML either."""
    for chunk, line in _chunks(text, first_line):
        of_this, json_failure = json_failure, None
        try:
            node = _yaml_part(chunk, line)
        except TextError as error:
            failure = of_this if of_this is not None and chunk.lstrip().startswith("{") else error
            if _TEMPLATE in chunk:
                failure = TextError(f"{failure}; this looks like a template, render it first", failure.line)
            yield failure
        else:
            if node is not None:
                yield node


def _yaml_part(chunk: str, line: int) -> Node | None:
    broken = _encoding_error(chunk, line)
    if broken is not None:
        raise broken
    if chunk.startswith(_SEPARATOR):
        raise TextError("behind --- only a comment may follow on the same line", line)
    if chunk.startswith("%"):
        raise TextError("a directive such as %YAML: kubectl takes the --- behind it for its end; leave it out", line)
    marked = _MARK_OF_CHUNK.match(chunk)
    if marked is not None:
        chunk = (marked[1] or "") + chunk[marked.end() :]
    return yaml_text.read(chunk, line)


def _encoding_error(text: str, line: int) -> TextError | None:
    broken = _NOT_UTF8.search(text)
    if broken is None:
        return None
    byte = ord(broken[0]) - _ESCAPED_BYTES
    return TextError(
        f"not UTF-8: the byte 0x{byte:02x}; save the file as UTF-8", line + text.count("\n", 0, broken.start())
    )


def _chunks(text: str, first_line: int) -> Iterator[tuple[str, int]]:
    """The texts between separator lines; a separator with more than a comment behind it opens its own chunk."""
    begin, line = 0, first_line
    for matched in _SEPARATOR_LINE.finditer(text):
        yield text[begin : matched.start()], line
        rest = matched[1].strip()
        previous, begin = begin, matched.end() if not rest or rest.startswith("#") else matched.start()
        line += text.count("\n", previous, begin)
    yield text[begin:], line


def _objects(file: str, node: Node) -> Iterator[Loaded]:
    """The object, or those in it when it is a List."""
    items = _items(node)
    if items is None:
        yield _object(file, node)
        return
    problem = _unknown_list(node)
    if problem:
        yield Undecodable(file, node.line, problem)
        return
    if items.value is not None and not isinstance(items.value, list):
        found = f"items: a list is expected, found {describe(items)}; begin each item with a dash"
        yield Undecodable(file, items.line, found)
        return
    for item in items.value or ():
        named = _of_list(node, item)
        inner = _items(named)
        if inner is None or not isinstance(inner.value, list):
            yield _object(file, named)
        else:
            nested = "a List inside a List: kubectl refuses the outer one for it; move its items out of it"
            yield Undecodable(file, named.line, nested)


def _object(file: str, node: Node) -> Loaded:
    if isinstance(node.value, dict):
        return Document(file, node)
    return Undecodable(file, node.line, f"an object with apiVersion and kind is expected, this is {describe(node)}")


def _items(node: Node) -> Node | None:
    """What a List has for its items; None when it is none."""
    return find(node, ("items",)) if text_at(node, "kind").endswith("List") else None


def _unknown_list(node: Node) -> str:
    """Why kubectl takes nothing out of a list, empty if it does: each version has a List and one for each of its kinds.

    Which groups of custom resources (they have a dot) a cluster has we cannot know.
    """
    api_version, kind = text_at(node, "apiVersion"), text_at(node, "kind")
    group = api_version.rpartition("/")[0]
    if not api_version:
        written = find(node, ("apiVersion",))
        lacking = "without apiVersion" if written is None else f"whose apiVersion is {describe(written)}"
        return f"a {kind} {lacking}, which kubectl refuses; write apiVersion: v1 and kind: List"
    if "." in group or (group in _OTHER_GROUPS and (group or api_version == "v1")):
        return ""
    if api_version in AUTOSCALERS and kind in ("List", f"{KIND}List"):
        return ""
    return (
        f"{api_version} has no {kind}, so that kubectl refuses all that is in it; write apiVersion: v1 and kind: List"
    )


def _of_list(of_list: Node, item: Node) -> Node:
    """An item with the kind of its list, where it is a list of one kind and the item does not name its own."""
    kind = text_at(of_list, "kind")
    if not isinstance(item.value, dict) or kind == "List" or "kind" in item.value:
        return item
    named = {"kind": Node(kind.removesuffix("List"), of_list.line)}
    api_version = find(of_list, ("apiVersion",))
    if api_version is not None:
        named["apiVersion"] = api_version
    return Node(named | item.value, item.line)
