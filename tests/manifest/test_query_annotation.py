"""The annotation that names queries: what it may hold, and what advice there is about it."""

import tracemalloc

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.manifest.admission import DefaultGates
from controller.manifest.advice import advise
from controller.manifest.query_annotation import ANNOTATION, TEXT_MAX, Queries, queries_of, read_queries
from tests.manifest.manifests import admitted, metric, v2

AVERAGE = {"type": "AverageValue", "averageValue": "10"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: up\n", {"a": "up"}),
        ('{"a": "up", "b.c/d é": "down"}', {"a": "up", "b.c/d é": "down"}),
        ("a: sum(up{b='c'})\nx: |\n  sum(\n    up)\n", {"a": "sum(up{b='c'})", "x": "sum(\n  up)\n"}),
        ("1: 2\ntrue: null", {"1": "2", "true": "null"}),
        ("? a\n: >-\n  up +\n  up", {"a": "up + up"}),
    ],
)
def test_names_and_queries(text: str, expected: dict[str, str]) -> None:
    assert read_queries(text) == Queries(expected)


def test_what_is_kept_of_texts_that_change_again_and_again_is_bounded() -> None:
    """Whoever may write an HPA may do so every second."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(300):
            assert read_queries(f"a: up\nb{number}: {'😀' * 31_000}").problem == ""
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 48 * 1024 * 1024, "all of them would be 74 MB"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "names no metric"),
        ("{}", "names no metric"),
        ("up", "line 1: names of metrics and their queries"),
        ("[a]", "line 1: names of metrics"),
        ('a: {b="c"}', "line 1: names of metrics"),
        ("a:\n  b: up", "line 2: names of metrics"),
        ("a: &x up\nb: *x", "line 2: names of metrics"),
        ("---\na: up\n---\nb: up", "line 1: names of metrics"),
        ("a: up\na: down", "line 2: a is there twice"),
        ('"": up', "no name"),
        ('a: x{b="c: d"}', "line 1 is no YAML"),
        ("a: 'up", "is no YAML"),
        ("a: \x00", "not allowed"),
        ("[" * TEXT_MAX, "line 1"),
        ("a: " + "x" * TEXT_MAX, "are the most"),
    ],
)
def test_what_cannot_be_read_says_where_and_why(text: str, part: str) -> None:
    found = read_queries(text)
    assert part in found.problem
    assert found.by_metric == {}


@given(st.dictionaries(st.text(min_size=1, max_size=20), st.text(max_size=40), min_size=1, max_size=4))
def test_every_name_of_a_metric_fits(queries: dict[str, str]) -> None:
    text = "\n".join(f"? {_json(name)}\n: {_json(query)}" for name, query in queries.items())
    assert read_queries(text) == Queries(queries)


def _json(text: str) -> str:
    """A text of YAML in double quotes, with everything escaped that is no ASCII letter."""
    return '"' + "".join(one if one.isascii() and one.isalnum() else f"\\U{ord(one):08x}" for one in text) + '"'


def test_where_it_stands_in_an_hpa() -> None:
    encode = msgspec.json.encode
    assert queries_of(b"{}") == Queries()
    assert queries_of(b'{"annotations":null,"name":"queries"}') == Queries()
    assert queries_of(encode({"annotations": {"other/queries": "a: up"}})) == Queries()
    assert queries_of(encode({"annotations": {ANNOTATION: "a: up"}, "uid": "1"})) == Queries({"a": "up"})
    assert queries_of(b'{"annotations":{"hpa-controller.io\\/queries":"a: up"}}') == Queries({"a": "up"})
    assert queries_of(encode({"annotations": {ANNOTATION: 1}})).problem


@pytest.mark.parametrize(
    ("text", "selector", "expected"),
    [
        ("rps: up", None, []),
        ("rps: up{", None, ["query-refused"]),
        ("rps: up", {"matchLabels": {"a": "b"}}, ["query-refused"]),
        ("rps: up\ndepth: up", None, ["query-unused"]),
        ("rps", None, ["queries-unreadable"]),
    ],
)
def test_advice(text: str, selector: dict[str, object] | None, expected: list[str]) -> None:
    identifier = {"name": "rps"} | ({} if selector is None else {"selector": selector})
    manifest = v2(
        {"metadata.annotations": {ANNOTATION: text}, "spec.metrics": [metric("pods", AVERAGE, metric=identifier)]}
    )
    found = [one for one in advise(admitted(manifest), DefaultGates()) if one.path[-1] == ANNOTATION]
    assert [one.code for one in found] == expected


def test_queries_for_objects_and_for_what_is_outside_are_used() -> None:
    described = {"apiVersion": "v1", "kind": "Service", "name": "front"}
    value = {"type": "Value", "value": "10"}
    manifest = v2(
        {
            "metadata.annotations": {ANNOTATION: "hits: up\nbacklog: up"},
            "spec.metrics": [
                metric("object", value, describedObject=described, metric={"name": "hits"}),
                metric("external", value, metric={"name": "backlog"}),
            ],
        }
    )
    assert advise(admitted(manifest), DefaultGates()) == []
