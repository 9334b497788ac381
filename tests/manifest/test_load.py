"""Files to documents: what kubectl takes for one, and what cannot be read."""

import errno
import io
import os
from pathlib import Path

import pytest

from controller.manifest import json_text, yaml_text
from controller.manifest.load import FILE_BYTES_MAX, Document, Loaded, Undecodable, UnreadableError, documents, load
from controller.manifest.tree import find, nearest_line

A = "{apiVersion: v1, kind: A}"


def _shown(text: str | bytes) -> list[tuple[str, int]]:
    """Kind, or the first words of the message, and line."""
    return [_show(item) for item in documents("file", text.encode() if isinstance(text, str) else text)]


def _show(item: Loaded) -> tuple[str, int]:
    return (item.kind, item.line) if isinstance(item, Document) else (item.message, item.line)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("# only a comment\n", []),
        ("---\n---\n\n--- # c\n", []),
        ("\r\n---\n  \n---\n\r\n\x85\n\u2028\n", []),
        ("null\n---\n~\n", []),
        ("kind: A\n---\nkind: B\n", [("A", 1), ("B", 3)]),
        ("\ufeffkind: A\r\n---\r\n\r\nkind: B\r\n", [("A", 1), ("B", 4)]),
        ("---\n\n\n  kind: A\n---   # c\n#\nkind: B", [("A", 4), ("B", 7)]),
        # As for kubectl, a separator is one wherever it begins a line.
        ("kind: A\ntext: |\n---\nkind: B\n", [("A", 1), ("B", 4)]),
        ('{"kind": "A"}', [("A", 1)]),
        ('\n{"kind":\n"A"}{"kind": "B"}\n\n{"kind": "C"}', [("A", 2), ("B", 3), ("C", 5)]),
        ('{"kind": "A"}\n---\nkind: B\n', [("A", 1), ("B", 3)]),
        # Of a key that is there twice the last counts.
        ("kind: A\nkind: B\n", [("B", 1)]),
        ('{"kind": "A",\n "kind": "B"}{"kind": "C"}', [("B", 1), ("C", 2)]),
        # Not JSON, so it may still be YAML.
        ("{kind: A}\n", [("A", 1)]),
        ('{"kind": "A",}\n---\n{kind: B}', [("A", 1), ("B", 3)]),
        # What has no items is no List.
        ("{apiVersion: v1, kind: AList}", [("AList", 1)]),
        ("{apiVersion: v1, kind: AList, items: null}", []),
    ],
)
def test_documents(text: str, expected: list[tuple[str, int]]) -> None:
    assert _shown(text) == expected


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_mark_says_that_it_is_utf16(encoding: str) -> None:
    """What PowerShell's `>` writes."""
    yaml = "kind: Ä\r\nb: 1\r\n---\r\nkind: B\r\n"
    assert _shown(f"\ufeff{yaml}".encode(encoding)) == [("Ä", 1), ("B", 4)]
    assert _shown('\ufeff{"kind": "A"}\n{"kind": "B"}'.encode(encoding)) == [("A", 1), ("B", 2)]


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("kind: A\n---\n", 3),
        ("kind: A\r\n---\r\n", 3),
        ("kind: A\n--- # c\n", 3),
        ('{"kind": "A"}\n', 2),
        ('{"kind": "A"}', 1),
    ],
)
def test_a_mark_before_a_later_document_is_no_part_of_it(before: str, line: int) -> None:
    """As when files are put one behind the other."""
    assert _shown(f"{before}\ufeffkind: B\nb: 1\n") == [("A", 1), ("B", line)]
    assert _shown(f"{before}\ufeff---\nkind: B\nb: 1\n") == [("A", 1), ("B", line + 1)]


def test_lists_are_expanded() -> None:
    text = """
apiVersion: v1
kind: List
items:
- {kind: A}
- null
---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscalerList, items: [{metadata: {name: a}}, {kind: C}]}
---
{kind: List}
"""
    assert [kind for kind, _ in _shown(text)] == [
        "A",
        "an object with apiVersion and kind is expected, this is null",
        "HorizontalPodAutoscaler",
        "C",
        "List",
    ]
    of_one_kind = documents("file", text.encode())[2]
    assert isinstance(of_one_kind, Document)
    assert of_one_kind.api_version == "autoscaling/v2"


@pytest.mark.parametrize(
    ("of_list", "item", "api_version", "kind"),
    [
        ("HorizontalPodAutoscalerList", "{a: b}", "autoscaling/v2", "HorizontalPodAutoscaler"),
        ("HorizontalPodAutoscalerList", "{apiVersion: v1}", "v1", "HorizontalPodAutoscaler"),
        ("HorizontalPodAutoscalerList", "{kind: A}", "", "A"),
        ("List", "{a: b}", "", ""),
    ],
)
def test_only_a_list_of_one_kind_names_its_items(of_list: str, item: str, api_version: str, kind: str) -> None:
    (found,) = documents("file", f"{{apiVersion: autoscaling/v2, kind: {of_list}, items: [{item}]}}".encode())
    assert isinstance(found, Document)
    assert (found.api_version, found.kind) == (api_version, kind)


def test_an_item_of_a_list_of_one_kind_may_be_no_object() -> None:
    (found,) = _shown("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscalerList, items: [null]}")
    assert found == ("an object with apiVersion and kind is expected, this is null", 1)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('{"kind": "A"}\n---\n{"b": [}\n', 3, "not YAML: did not find expected node content"),
        ('{"kind": "A"}\nb: [}\n', 2, "not YAML: did not find expected node content"),
        ('{"kind": "A"}\n{"b": [}\n', 2, "not JSON: found '}' where a value is expected"),
        ("kind: A\n---\n{b: [}\n", 3, "not YAML: did not find expected node content"),
    ],
)
def test_what_is_not_json_is_said_only_of_what_could_be_json(text: str, line: int, words: str) -> None:
    first, second = _shown(text)
    assert first == ("A", 1)
    assert (second[0][: len(words)], second[1]) == (words, line)


@pytest.mark.parametrize(
    ("api_version", "kind", "words"),
    [
        ("", "List", "a List whose apiVersion is null, which kubectl refuses"),
        ("2", "List", "a List whose apiVersion is the number 2, which kubectl refuses"),
        ("v2", "List", "v2 has no List"),
        ("foo/v1", "FooList", "foo/v1 has no FooList, so that kubectl refuses all that is in it"),
        ("autoscaling/v3", "HorizontalPodAutoscalerList", "has no HorizontalPodAutoscalerList"),
        ("autoscaling/v2", "ScaleList", "autoscaling/v2 has no ScaleList"),
        ("v1", "List", ""),
        ("v1", "PodList", ""),
        ("apps/v1", "List", ""),
        ("batch/v1", "JobList", ""),
        ("policy/v1", "PodDisruptionBudgetList", ""),
        ("autoscaling/v1", "List", ""),
        ("autoscaling/v1", "HorizontalPodAutoscalerList", ""),
        ("example.com/v1", "FooList", ""),
    ],
)
def test_lists_that_kubectl_does_not_know(api_version: str, kind: str, words: str) -> None:
    text = f"\napiVersion: {api_version}\nkind: {kind}\nitems:\n- kind: A\n"
    (found,) = _shown(text)
    assert words in found[0]
    assert found == ("A", 5) or words


def test_a_list_in_a_list_is_refused() -> None:
    nested = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscalerList, items: []}"
    found = _shown(
        f"apiVersion: v1\nkind: List\nitems:\n- kind: A\n- {nested}\n"
        "- {kind: B, items: []}\n- kind: BList\n- {kind: CList, items: }\n"
    )
    assert [kind for kind, _ in found] == [
        "A",
        "a List inside a List: kubectl refuses the outer one for it; move its items out of it",
        "B",
        "BList",
        "CList",
    ]
    assert found[1][1] == 5


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a:\n\tb: 1\n", 2, "indent with spaces"),
        ("a: b\n\t\n", 2, "indent with spaces"),
        ("a: b\n---\n\t\n", 3, "indent with spaces"),
        ("a: b\n--- # c\n \t # d\n", 3, "indent with spaces"),
        ("a: b\n---\n\n\x0c\n", 4, "character"),
        ("a: b\n---\n\xa0\n", 3, "an object with apiVersion and kind is expected"),
        ("a: [1\n", 1, "expected ',' or ']'"),
        ("a: *nowhere\n", 1, "no anchor &nowhere"),
        ("a: &a [*a]\n", 1, "contains itself"),
        ("a: 1\n\nb: \x01\n", 3, "character"),
        ("a: .inf\n", 1, "JSON has no infinity"),
        ("~: a\n", 1, "a key must not be null"),
        ("[a]: b\n", 1, "a key must be a text"),
        ("{{ .Values.x }}\n", 1, "this looks like a template, render it first"),
        ("a: {{ .Values.x }}\n", 1, "this looks like a template, render it first"),
        ("a: !!int b\n", 1, "the tag !!int does not fit"),
        ("a: 1\n...\nb: 2\n", 3, "--- between two documents"),
        ("--- a: 1\n", 1, "only a comment may follow"),
        ("<<: 5\n", 1, "<< merges objects"),
        ("- a\n", 1, "an object with apiVersion and kind is expected, this is a list"),
        ("apiVersion: v1\nkind: List\nitems:\n  kind: A\n", 3, "items: a list is expected, found an object; begin"),
        ("{kind: AList, items: []}", 1, "a AList without apiVersion"),
        ("{apiVersion: v1, kind: AList, items: a}", 1, 'items: a list is expected, found the text "a"'),
        ("just words\n", 1, 'this is the text "just words"'),
        ("[" * 300, 1, "nested more than 200 levels deep"),
        ('{"a":' * 300 + "1" + "}" * 300, 1, "nested more than 200 levels deep"),
        ("a: " + "[" * 100_000, 1, "nested more than"),
        ('{"a": "\\x"}', 1, "escape that JSON does not know"),
        ('{"a": 1} {"a": 2} {"a": 01}', 1, "not JSON: found '01"),
        ('{"a": tru}{}', 1, "found 'tru}{}'"),
        ('{"a": "b', 1, "no closing quote"),
        ("%YAML 1.2\n---\na: 1", 1, "a directive such as %YAML"),
        ('{"a": 1', 1, "ends too early"),
    ],
)
def test_undecodable(text: str, line: int, words: str) -> None:
    first = next(item for item in documents("file", text.encode()) if isinstance(item, Undecodable))
    assert words in first.message
    assert (first.file, first.line) == ("file", line)
    # What follows is read all the same.
    *_, last = documents("file", f"{text}\n---\nkind: Z\n".encode())
    assert isinstance(last, Undecodable) == text.startswith('{"a": 1} {')
    assert isinstance(last, Undecodable) or last.kind == "Z"


def test_a_document_that_is_not_utf8_leaves_the_others_alone() -> None:
    assert _shown(b"kind: A\n---\n# \xff\nkind: B\n---\nkind: C\n") == [
        ("A", 1),
        ("not UTF-8: the byte 0xff; save the file as UTF-8", 3),
        ("C", 6),
    ]
    assert _shown(b'{"kind": "A"}\n{"kind": "\xe4"}\n{"kind": "C"}') == [
        ("A", 1),
        ("not UTF-8: the byte 0xe4; save the file as UTF-8", 2),
        ("C", 3),
    ]
    assert "not UTF-8" in _shown("kind: A".encode("utf-16-le") + b"\xff")[0][0]


def test_aliases_are_followed_but_not_without_end() -> None:
    laughs = "a0: &a0 [1,1,1,1,1,1,1,1,1]\n" + "".join(
        f"a{n + 1}: &a{n + 1} [{','.join([f'*a{n}'] * 9)}]\n" for n in range(9)
    )
    (bomb,) = documents("file", laughs.encode())
    assert isinstance(bomb, Undecodable)
    assert "stand for more than 400000 values" in bomb.message
    merges = "a: &a {" + ", ".join(f"k{n}: 1" for n in range(1000)) + "}\n"
    merges += "".join(f"b{n}: {{<<: *a}}\n" for n in range(1000))
    (bomb,) = documents("file", merges.encode())
    assert isinstance(bomb, Undecodable)
    (document,) = documents("file", b"kind: &a A\nb: {x: *a}\nc: &c {p: 1}\nd: {<<: *c, z: 2}\n")
    assert isinstance(document, Document)
    alias = find(document.root, ("b", "x"))
    assert alias is not None
    assert alias.value == "A"
    merged = find(document.root, ("d", "p"))
    assert merged is not None
    assert merged.line == 3


def nested(levels: int, inner: str) -> str:
    return "[" * levels + inner + "]" * levels


@pytest.mark.parametrize(
    ("lines", "refused"),
    [
        ((f"&a {nested(100, '1')}", nested(99, "*a")), None),
        ((f"&a {nested(100, '1')}", nested(100, "*a")), 3),
        ((f"&a {nested(60, '1')}", f"&b {nested(60, '*a')}", f"&c {nested(60, '*b')}", nested(19, "*c")), None),
        ((f"&a {nested(60, '1')}", f"&b {nested(60, '*a')}", f"&c {nested(60, '*b')}", nested(20, "*c")), 5),
        # Only what an anchor holds itself counts, and all of it.
        ((nested(150, "1"), "&a [1]", nested(150, "*a")), None),
        ((f"&a [{nested(100, '1')}, &b [1], 2]", nested(150, "*b"), nested(150, "*a")), 4),
        ((nested(199, "&a 1"), nested(199, "*a")), None),
    ],
)
def test_what_aliases_stand_for_is_nested_as_if_written_out(lines: tuple[str, ...], refused: int | None) -> None:
    found = _shown("kind: A\n" + "".join(f"x{number}: {line}\n" for number, line in enumerate(lines)))
    assert found == [("A", 1) if refused is None else ("not YAML: nested more than 200 levels deep", refused)]


def test_what_stands_beside_each_other_is_not_nested() -> None:
    beside = "[" + "[], " * 300 + "[]]"
    for node in (yaml_text.read(beside), json_text.read(beside)):
        assert node is not None
        assert isinstance(node.value, list)
        assert len(node.value) == 301


def test_values_know_their_lines() -> None:
    text = "kind: A\nspec:\n  list:\n\n  - a: 1\n    b:\n      2\n  - c\n"
    (document,) = documents("file", text.encode())
    assert isinstance(document, Document)
    lines = {
        path: nearest_line(document.root, path)
        for path in (("spec", "list", 0, "b"), ("spec", "list", 1), ("spec", "x", 3))
    }
    assert list(lines.values()) == [6, 8, 2]
    (document,) = documents("file", b'{"kind":\n"A", "spec": {\n"list": [{\n"a": 1},\n2]}}')
    assert isinstance(document, Document)
    assert [
        nearest_line(document.root, path) for path in (("kind",), ("spec", "list", 0, "a"), ("spec", "list", 1))
    ] == [1, 4, 5]


def test_files_folders_and_stdin(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("kind: B")
    (tmp_path / "a.json").write_text('{"kind": "A"}')
    (tmp_path / "c.yml").write_text("kind: C")
    (tmp_path / "notes.txt").write_text("kind: D")
    found = load([str(tmp_path), "-", str(tmp_path / "notes.txt")], io.BytesIO(b"kind: E"))
    assert [_show(item)[0] for item in found] == ["A", "B", "C", "E", "D"]
    assert [item.file for item in found][3] == "stdin"


def test_folders_in_folders(tmp_path: Path) -> None:
    """In the order of kubectl, which walks by name."""
    for name in ("b.yaml", "a/z.json", "a/b/c.yml", ".d/e.yaml", "c.yaml/f.yaml", "notes/g.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("kind: A")
    (tmp_path / "a" / "back").symlink_to(tmp_path)
    for recursive, names in (
        (False, ["b.yaml"]),
        (True, [".d/e.yaml", "a/b/c.yml", "a/z.json", "b.yaml", "c.yaml/f.yaml"]),
    ):
        found = load([str(tmp_path)], io.BytesIO(), recursive=recursive)
        assert [str(Path(item.file).relative_to(tmp_path)) for item in found] == names
    # What is named itself is followed, even where it is a link.
    (through_link,) = load([str(tmp_path / "a" / "back")], io.BytesIO())
    assert through_link.file == str(tmp_path / "a" / "back" / "b.yaml")
    only_under = tmp_path / "c.yaml"
    (only_under / "g").mkdir()
    (only_under / "f.yaml").rename(only_under / "g" / "f.yaml")
    with pytest.raises(UnreadableError, match=r"no manifests .* in this folder; -R reads those under it"):
        load([str(only_under)], io.BytesIO())
    with pytest.raises(UnreadableError, match=r"in or under this folder$"):
        load([str(tmp_path / "notes")], io.BytesIO(), recursive=True)
    (tmp_path / "link.yaml").symlink_to(only_under)
    with pytest.raises(UnreadableError, match=r"link\.yaml: is a directory"):
        load([str(tmp_path)], io.BytesIO())


def test_files_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "led").mkdir()
    (tmp_path / "led" / "astray.yaml").symlink_to(tmp_path / "gone.yaml")
    huge = tmp_path / "huge.yaml"
    with huge.open("wb") as file:
        file.truncate(FILE_BYTES_MAX + 1)
    for path, words in (
        (tmp_path / "none.yaml", "no such file"),
        (tmp_path / "empty", "no manifests"),
        (huge, "16 MiB"),
        (tmp_path / ("long" * 1000), "too long"),
        (tmp_path / "led" / "astray.yaml", "no such file"),
    ):
        with pytest.raises(UnreadableError, match=words) as caught:
            load([str(path)], io.BytesIO())
        assert str(caught.value).startswith(f"{path}: ")


def test_a_file_may_be_as_large_as_is_said() -> None:
    assert load(["-"], io.BytesIO(b" " * FILE_BYTES_MAX)) == []
    with pytest.raises(UnreadableError, match=r"^stdin: larger than 16 MiB"):
        load(["-"], io.BytesIO(b" " * (FILE_BYTES_MAX + 1)))


class _Torn(io.BytesIO):
    def read(self, _: int | None = -1, /) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_an_error_that_names_no_file_is_of_the_one_that_was_read() -> None:
    with pytest.raises(UnreadableError, match=r"^-: "):
        load(["-"], _Torn())


def test_a_url_is_no_file() -> None:
    with pytest.raises(UnreadableError, match=r"^https://127\.0\.0\.1:1/x\.yaml: URLs are not read; "):
        load(["https://127.0.0.1:1/x.yaml"], io.BytesIO())


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_what_is_missing_at_the_end_is_missing_in_the_last_line(end: str) -> None:
    (cut,) = documents("file", f"kind: A\nspec:\n  metrics: [{{type: Resource,{end}".encode())
    assert isinstance(cut, Undecodable)
    assert (cut.line, "did not find expected" in cut.message) == (3, True)


def test_a_link_in_a_folder_that_leads_nowhere_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: A")
    (tmp_path / "b.yaml").symlink_to(tmp_path / "gone")
    with pytest.raises(UnreadableError, match=r"b\.yaml: no such file"):
        load([str(tmp_path)], io.BytesIO())


def test_an_empty_name_is_not_the_folder_where_we_are() -> None:
    with pytest.raises(UnreadableError, match="without a name"):
        load([""], io.BytesIO())
