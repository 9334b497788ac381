"""Files that are no recordings, or damaged ones: errors name the file, the line if there is one, and the fault."""

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.recording.check import check_file
from controller.recording.course import Frame, WrittenCourse, grouped
from controller.recording.format_v1 import Recording
from controller.recording.lines import RecordingError, find
from controller.recording.variants import AS_RECORDED
from tests.recording.recorded import HEADER, encoded, paths, tick

GOOD = encoded(HEADER, tick(15), tick(30))


def frames(path: Path) -> Iterator[Frame]:
    """What is decided at every tick of a file of version 1."""
    return WrittenCourse(path).frames((AS_RECORDED,))


def read(path: Path) -> int:
    """How many ticks can be replayed."""
    return sum(1 for _ in frames(path))


def complaint(path: Path, data: bytes) -> str:
    """What is said about such a file, without its path."""
    path.write_bytes(data)
    with pytest.raises(RecordingError) as raised:
        read(path)
    message = str(raised.value)
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("plain.jsonl", GOOD),
        ("packed.jsonl.gz", gzip.compress(GOOD)),
        ("without last newline.jsonl", GOOD[:-1]),
        ("indented.jsonl", b"  " + GOOD),
        ("blank lines.jsonl", b"\n" + GOOD.replace(b"\n", b"\n \n")),
    ],
)
def test_read(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert read(path) == 2


def test_a_recording_may_have_no_ticks(tmp_path: Path) -> None:
    path = tmp_path / "header.jsonl"
    path.write_bytes(encoded(HEADER))
    assert read(path) == 0


def header(**fields: object) -> dict[str, Any]:
    return HEADER | fields


def hpa(**fields: object) -> dict[str, Any]:
    return HEADER | {"hpa": HEADER["hpa"] | fields}


def second(**fields: object) -> bytes:
    """A good tick, then one with these fields."""
    return encoded(HEADER, tick(15), tick(30) | fields)


LATER = {"format": "hpa-recording/3", "name": "later", "start": 0.5, "settings": {"syncPeriod": 1.5}}
IS = (
    "its format is 'hpa-recording/3'; this version reads 'hpa-recording/1' and 'hpa-recording/2', "
    "a newer hpa-controller may read it"
)
EMPTY = ": it is empty; a recording begins with a header line"
NO_QUANTITY = "is not a quantity such as 500m, 2 or 1.5Gi"
NONE = 'it is no recording: one begins with a header line such as {"format":"hpa-recording/2", …}'
CUT = "Input data was truncated; the line is cut off, the lines before it are fine"

TEXTS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", EMPTY),
    "blank": (b"\n \n", EMPTY),
    "cut tick": (GOOD[:-20], f":3: {CUT}"),
    "cut header": (GOOD[:40], f":1: {CUT}"),
    "another version": (encoded(header(format="hpa-recording/3")), f":1: {IS}"),
    "another version with other fields": (encoded(LATER, {"at": 1.5}), f":1: {IS}"),
    "a version that is read elsewhere": (
        encoded(header(format="hpa-recording/2")),
        ":1: its format is 'hpa-recording/2'; this version reads 'hpa-recording/1'",
    ),
    "no format": (encoded({"name": "x"}), f":1: Object missing required field `format`; {NONE}"),
    "no header": (encoded(tick()), f":1: Object missing required field `format`; {NONE}"),
    "no name": (encoded({"format": "hpa-recording/1"}), ":1: Object missing required field `name`"),
    "list": (b"[]\n", f":1: {NONE}"),
    "number": (b"3.14", f":1: {NONE}"),
    "text": (b"# Title\n\nText.\n", f":1: {NONE}"),
    "text without an end": (b"hello", f":1: {NONE}"),
    "setting of a wrong type": (
        encoded(header(settings={"tolerance": "0.1"})),
        ":1: Expected `float`, got `str` - at `$.settings.tolerance`",
    ),
    "gate of a wrong type": (
        encoded(header(settings={"featureGates": {"HPAScaleToZero": "yes"}})),
        ":1: Expected `bool`, got `str` - at `$.settings.featureGates[...]`",
    ),
    "start": (
        encoded(header(start="noon")),
        ":1: 'noon' is not an RFC 3339 time such as 2026-01-31T12:00:00Z - at `$.start`",
    ),
    "hpa of a wrong type": (encoded(header(hpa="web")), ":1: Expected `object`, got `str` - at `$.hpa`"),
    "metadata of a wrong type": (
        encoded(hpa(metadata="web")),
        ":1: Expected `object`, got 'web' - at `$.hpa.metadata`",
    ),
    "no spec": (encoded(header(hpa={})), ":1: Expected `object`, got `null` - at `$.hpa.spec`"),
    "spec": (
        encoded(hpa(spec={"scaleTargetRef": {}, "maxReplicas": "5"})),
        ":1: Expected `int`, got `str` - at `$.hpa.spec.maxReplicas`",
    ),
    "status": (
        encoded(hpa(status={"conditions": [{"type": "A"}]})),
        ":1: Object missing required field `status` - at `$.hpa.status.conditions[0]`",
    ),
    "second header": (encoded(HEADER, HEADER), ":2: Object missing required field `t`"),
    "null": (encoded(HEADER, None), ":2: Expected `object`, got `null`"),
    "no scale": (encoded(HEADER, {"t": 15}), ":2: Object missing required field `scale`"),
    "t of a wrong type": (second(t="30"), ":3: Expected `int`, got `str` - at `$.t`"),
    "t of a wrong type in a last line": (second(t="30")[:-1], ":3: Expected `int`, got `str` - at `$.t`"),
    "fraction of a second": (second(t=30.5), ":3: Expected `int`, got `float` - at `$.t`"),
    "t again": (second(t=15), ":3: t is 15, after 15 on the tick before; ticks must be in order"),
    "t back": (second(t=-5), ":3: t is -5, after 15 on the tick before; ticks must be in order"),
    "t beyond all years": (
        second(t=10**12),
        ":3: 1001769860800 s since the epoch is outside the years 1 to 9999 - at `$.t`",
    ),
    "replicas beyond int32": (
        second(scale={"spec": 2**31}),
        ":3: Expected `int` <= 2147483647 - at `$.scale.spec`",
    ),
    "spec of a tick": (second(hpaSpec={}), ":3: Object missing required field `scaleTargetRef` - at `$.hpaSpec`"),
    "request": (
        second(pods={"web-0": {"containers": [{"name": "app", "requests": {"cpu": "lots"}}]}}),
        f":3: 'lots' {NO_QUANTITY} - at `$.pods.web-0`",
    ),
    "pod without a name of a container": (
        second(pods={"web-0": {"containers": [{}]}}),
        ":3: Object missing required field `name` - at `$.pods[...].containers[0]`",
    ),
    "value": (
        second(metrics={"external": {"backlog": {"values": ["1", "lots"]}}}),
        f":3: 'lots' {NO_QUANTITY} - at `$.metrics.external.backlog`",
    ),
    "outcome": (second(outcome={"scaledTo": 3}), ":3: Object missing required field `status` - at `$.outcome`"),
    "nesting": (encoded(HEADER) + b'{"t":15,"outcome":' + b'{"status":' * 100_000 + b"\n", ":2: "),
    "no UTF-8": (
        encoded(HEADER) + b'{"t":15,"scale":{"selector":"\xff"}}\n',
        ":2: 'utf-8' codec can't decode byte 0xff",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_malformed(tmp_path: Path, name: str) -> None:
    data, expected = TEXTS[name]
    found = complaint(tmp_path / "bad.jsonl", data)
    assert found.startswith(expected) if expected.endswith(("malformed", "0xff", ": ")) else found == expected


@pytest.mark.parametrize("name", TEXTS)
def test_malformed_and_packed(tmp_path: Path, name: str) -> None:
    """Compression changes nothing about what is said."""
    data, _ = TEXTS[name]
    packed = complaint(tmp_path / "bad.jsonl.gz", gzip.compress(data))
    assert packed == complaint(tmp_path / "bad.jsonl", data)


@pytest.mark.parametrize("name", [name for name in TEXTS if name != "a version that is read elsewhere"])
def test_malformed_and_checked(tmp_path: Path, name: str) -> None:
    """`replay` says the same, whatever it does with it."""
    data, _ = TEXTS[name]
    path = tmp_path / "bad.jsonl"
    said = complaint(path, data)
    with pytest.raises(RecordingError) as raised:
        check_file(path)
    assert str(raised.value) == f"{path}{said}"


@pytest.mark.parametrize(
    ("metadata", "named"),
    [
        ({"namespace": "shop", "name": "web"}, "shop/web"),
        ({"name": "web"}, "default/web"),
        ({}, "default/made"),
        (None, "default/made"),
    ],
    ids=str,
)
def test_whose_recording_it_is(tmp_path: Path, metadata: object, named: str) -> None:
    path = tmp_path / "named.jsonl"
    path.write_bytes(encoded(hpa(metadata=metadata), tick()))
    [opening] = grouped([path])
    course = opening()
    assert [course.hpa, *(frame.hpa for frame in course.frames((AS_RECORDED,)))] == [named, named]


def test_damaged_compression(tmp_path: Path) -> None:
    path, packed = tmp_path / "bad.jsonl.gz", gzip.compress(GOOD)
    ends = "the file ends here or later, in the middle of compressed data"
    assert complaint(path, packed[:-1]) == f":4: {ends}"
    assert complaint(path, packed[:12]) == f":1: {ends}"
    assert complaint(path, GOOD).startswith(":1: it is not gzip, or damaged here or later: ")
    broken = bytearray(packed)
    broken[-8] ^= 255
    assert complaint(path, bytes(broken)).startswith(":4: it is not gzip, or damaged here or later: ")
    assert complaint(tmp_path / "bad.jsonl", packed) == ":1: it is compressed; give it a name that ends in .gz"
    assert (
        complaint(tmp_path / "bad.jsonl.gz", gzip.compress(packed)) == ":1: it is compressed twice; decompress it once"
    )


def test_what_comes_before_the_fault_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_bytes(GOOD[:-20])
    ticks = frames(path)
    assert next(ticks).t == 15
    with pytest.raises(RecordingError):
        next(ticks)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"nowhere.jsonl: no such file or directory"):
        Recording(tmp_path / "nowhere.jsonl")
    with pytest.raises(RecordingError, match="is a directory"):
        Recording(tmp_path)


def test_find(tmp_path: Path) -> None:
    """Files as given, folders searched, in the order of their paths; other JSON lines in a folder are left out."""
    inner = tmp_path / "inner"
    inner.mkdir()
    for name in ("b.jsonl", "inner/a.jsonl", "notes.txt"):
        (tmp_path / name).write_bytes(GOOD)
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(GOOD))
    (tmp_path / "other.jsonl").write_text(json.dumps({"manifest": {}}) + "\n")
    (tmp_path / "log.jsonl").write_text(json.dumps({"message": "this version reads hpa-recording/2"}) + "\n")
    (tmp_path / "table.jsonl").write_text(json.dumps({"format": "table/1"}) + "\n")
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "later.jsonl").write_bytes(encoded(LATER))
    # A damaged file is no other file: it is found, so that it is complained about.
    (tmp_path / "damaged.jsonl.gz").write_bytes(GOOD)
    assert [path.relative_to(tmp_path).as_posix() for path in find([tmp_path])] == [
        "b.jsonl",
        "c.jsonl.gz",
        "damaged.jsonl.gz",
        "inner/a.jsonl",
        "later.jsonl",
    ]
    assert find([tmp_path / "other.jsonl", inner]) == [tmp_path / "other.jsonl", inner / "a.jsonl"]


def test_find_nothing(tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text("{}\n")
    with pytest.raises(RecordingError) as raised:
        find([tmp_path])
    assert str(raised.value) == f"{tmp_path}: no recordings (*.jsonl, *.jsonl.gz) in this folder"
    with pytest.raises(RecordingError) as raised:
        find([tmp_path / "nowhere"])
    assert str(raised.value) == f"{tmp_path / 'nowhere'}: no such file or folder"
    with pytest.raises(RecordingError, match=r"^-: .*; standard input is not read, store it in a file first$"):
        find([Path("-")])
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(RecordingError, match="no recordings"):
        find([tmp_path])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RecordingError, match="not a file; what comes from a pipe has to be stored first"):
        find([tmp_path / "pipe"])


def test_the_recordings_are_found() -> None:
    assert len(paths()) == len({path.name for path in paths()}) > 0
