"""Lists taken apart while they arrive: the same items as of the whole, however they are written and cut."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.wire.errors import WireError
from controller.wire.slices import SLICE_BYTES, ItemSlices

TRICKY = '},{"metadata":{"name":"'
"""In a string it ends nothing."""

NESTED: dict[str, Any] = {"metadata": {"items": [{"metadata": {}}, {"metadata": {}}]}}
TEXTS = st.sampled_from(("", TRICKY, '"items":[', "\\", '"', "]}", "ä" * 7))
ITEMS = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries({"name": TEXTS, "labels": st.dictionaries(TEXTS, TEXTS, max_size=3)}),
        "containers": st.lists(st.one_of(st.just(NESTED), st.fixed_dictionaries({"name": TEXTS})), max_size=3),
        "padding": st.integers(0, 6000).map("x".__mul__),
    }
)
WRITTEN = st.sampled_from(({"separators": (",", ":")}, {"indent": 1}, {"separators": (" , ", " : ")}, {"sort_keys": 1}))
BEGINNINGS = st.sampled_from(({}, {"kind": "List", "metadata": {"note": '"items":[{"metadata"'}}, NESTED))
ENDS = st.sampled_from(({}, {"metadata": {"continue": TRICKY}}))


def taken_apart(body: bytes, part_bytes: int) -> tuple[list[Any], int]:
    """All items, and how many of them had been given before the end."""
    slices = ItemSlices()
    given = [item for at in range(0, len(body), part_bytes) for item in slices.feed(body[at : at + part_bytes])]
    rest = slices.end()
    return [json.loads(bytes(item)) for item in (*given, *rest)], len(given)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(ITEMS, max_size=60),
    WRITTEN,
    BEGINNINGS,
    ENDS,
    st.sampled_from((SLICE_BYTES // 9, SLICE_BYTES, 3 * SLICE_BYTES)),
)
def test_the_items_are_those_of_the_whole(
    items: list[Any], written: dict[str, Any], beginning: dict[str, Any], end: dict[str, Any], part_bytes: int
) -> None:
    body = json.dumps({**beginning, "items": items, **end}, **written).encode()
    assert taken_apart(body, part_bytes)[0] == items


def plain(count: int) -> list[dict[str, Any]]:
    return [
        {"metadata": {"name": f"web-{number}"}, "containers": [{"name": "a"}, {"name": "b"}]} for number in range(count)
    ]


@pytest.mark.parametrize("separators", [(",", ":"), (" ,\n", " : ")])
def test_of_a_long_list_only_the_last_slice_is_left_for_the_end(separators: tuple[str, str]) -> None:
    items = plain(20_000)
    body = json.dumps({"kind": "List", "items": items}, separators=separators).encode()
    assert len(body) > 20 * SLICE_BYTES
    found, early = taken_apart(body, SLICE_BYTES)
    assert found == items
    assert early >= 19 / 20 * len(items)


def test_a_list_that_begins_each_item_otherwise_is_taken_at_its_end() -> None:
    items = [dict(sorted(item.items(), reverse=bool(number % 2))) for number, item in enumerate(plain(5_000))]
    body = json.dumps({"items": items}).encode()
    assert taken_apart(body, SLICE_BYTES)[0] == items


@pytest.mark.parametrize("body", [b'{"items":null}', b"{}", b'{"items":[]}', b' {"kind":"x","items": [ ]} '])
def test_a_list_may_be_empty(body: bytes) -> None:
    assert taken_apart(body, 5) == ([], 0)


def test_what_is_cut_off_or_no_list_is_an_error() -> None:
    body = json.dumps({"items": plain(5_000)}).encode()
    for damaged in (body[:-1], body[:-2], body[: len(body) // 2], body + b"}", b"[]", b"", b"<html>", b'{"items":{}}'):
        with pytest.raises(WireError):
            taken_apart(damaged, SLICE_BYTES)
