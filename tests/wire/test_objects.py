"""What all answers have in common: lists, watch lines, errors, identities."""

from typing import Any

import msgspec
import pytest

from controller.wire.autoscalers import decode_autoscaler
from controller.wire.errors import WireError
from controller.wire.objects import (
    SAID_CHARACTERS_MAX,
    Status,
    decode_bookmark,
    decode_list,
    decode_status,
    decode_watch_line,
    git_version,
)


def test_a_list_keeps_its_items_encoded() -> None:
    found = decode_list(b'{"metadata":{"resourceVersion":"5","continue":"x"},"items":[{"a":1},5]}')
    assert (found.metadata.resource_version, found.metadata.continue_) == ("5", "x")
    assert [bytes(item) for item in found.items or ()] == [b'{"a":1}', b"5"]


@pytest.mark.parametrize("body", [b'{"metadata":{}}', b'{"metadata":{},"items":null}'])
def test_an_empty_list(body: bytes) -> None:
    found = decode_list(body)
    assert (found.items, found.metadata.resource_version, found.metadata.continue_) == (None, "", None)


def test_a_watch_line_keeps_its_object_encoded() -> None:
    line = decode_watch_line(b'{"type":"ADDED","object":{"a":1}}\n')
    assert (line.type, bytes(line.object)) == ("ADDED", b'{"a":1}')


END = {"k8s.io/initial-events-end": "true"}


@pytest.mark.parametrize(
    ("annotations", "ends"), [(None, False), ({}, False), (END, True), ({"k8s.io/initial-events-end": "false"}, False)]
)
def test_a_bookmark(annotations: dict[str, str] | None, ends: bool) -> None:  # noqa: FBT001 - a table's column
    """§20.2."""
    body = msgspec.json.encode({"kind": "Pod", "metadata": {"resourceVersion": "7", "annotations": annotations}})
    assert decode_bookmark(body) == ("7", ends)


def test_a_bookmark_without_version() -> None:
    with pytest.raises(WireError, match="a bookmark without resourceVersion"):
        decode_bookmark(b'{"metadata":{}}')


@pytest.mark.parametrize("decode", [decode_list, decode_watch_line, decode_bookmark, decode_autoscaler])
@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"{", b"\xff", b'{"metadata":5,"items":5,"type":5}'])
def test_what_is_none(decode: Any, body: bytes) -> None:
    with pytest.raises(WireError):
        decode(body)


ERRORS: dict[str, tuple[bytes, Status]] = {
    "status": (
        b'{"kind":"Status","message":"gone","reason":"Expired","code":410}',
        Status("gone", "Expired", 410),
    ),
    "with details of any kind": (
        b'{"message":"slow down","code":429,"details":{"retryAfterSeconds":"7"}}',
        Status("slow down", "", 429),
    ),
    "page of a proxy": (b"<html>Bad Gateway</html>\n", Status("<html>Bad Gateway</html>")),
    "nothing": (b"", Status()),
    "no UTF-8": (b"\xff\xfe", Status("\ufffd\ufffd")),
    "another object": (b"[1,2]", Status("[1,2]")),
    "long": (b"x" * 5000, Status("x" * 200)),
    "deep": (b'{"details":' * 100_000, Status('{"details":' * 18 + '{"')),
}


@pytest.mark.parametrize(("body", "expected"), ERRORS.values(), ids=ERRORS)
def test_an_error_of_a_server(body: bytes, expected: Status) -> None:
    """Nothing is raised: it is an error already."""
    found = decode_status(body)
    assert (found.message, found.reason, found.code) == (expected.message, expected.reason, expected.code)


@pytest.mark.parametrize(
    ("body", "version"),
    [
        (b'{"gitVersion":"v1.36.3","major":"1"}', "v1.36.3"),
        (b"{}", "unknown"),
        (b"nothing", "unknown"),
        (b"[]", "unknown"),
    ],
)
def test_version_of_a_server(body: bytes, version: str) -> None:
    assert git_version(body) == version


def test_identity_keeps_the_metadata_as_it_is() -> None:
    """§14.5: it is sent back with every status, so nothing may be lost but managedFields."""
    metadata = {
        "name": "web",
        "namespace": "shop",
        "uid": "u-1",
        "resourceVersion": "17",
        "labels": {"a": "1"},
        "annotations": {"x": "ü"},
        "finalizers": ["f"],
        "ownerReferences": [{"kind": "K", "controller": True}],
        "generation": 12345678901234567890,
    }
    body = msgspec.json.encode({"metadata": metadata | {"managedFields": [{"manager": "m"}]}, "spec": 5})
    decoded = decode_autoscaler(body)
    identity, kept = decoded.identity, decoded.metadata
    assert (identity.name, identity.namespace, identity.uid, identity.resource_version) == ("web", "shop", "u-1", "17")
    assert msgspec.json.decode(kept) == metadata


@pytest.mark.parametrize(
    ("managed", "expected"),
    [
        (None, ()),
        ([], ()),
        ("nonsense", ()),
        (
            [{"manager": "kubectl", "operation": "Apply", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {}}}],
            (),
        ),
        (
            [
                {"manager": "helm", "time": "2026-01-01T00:00:00Z"},
                {"manager": "kcm", "subresource": "status", "time": "2026-01-01T00:00:07Z", "fieldsV1": {"f:x": {}}},
                {"manager": "b", "subresource": "status"},
            ],
            (("kcm", "2026-01-01T00:00:07Z"), ("b", "")),
        ),
    ],
)
def test_who_wrote_the_status_is_known(managed: object, expected: tuple[tuple[str, str], ...]) -> None:
    body = msgspec.json.encode({"metadata": {"name": "web", "managedFields": managed}})
    assert decode_autoscaler(body).status_writes == expected


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"message":"a\\nb\\u001b[31m"}', r"a b\x1b[31m"),
        (b'{"message":"  "}', ""),
        (b"\x08\x00 nothing for people", r"\x08\x00 nothing for people"),
    ],
)
def test_what_a_server_says_is_one_line(body: bytes, message: str) -> None:
    assert decode_status(body).message == message


def test_what_a_server_says_at_great_length_is_cut() -> None:
    assert len(decode_status(msgspec.json.encode({"message": "x" * 10**6})).message) == SAID_CHARACTERS_MAX + 1
