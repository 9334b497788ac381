"""Recordings of version 2 as files: checked, cut off, damaged, and in parts."""

import zlib
from itertools import islice
from pathlib import Path

import msgspec
import pytest

from controller.decide.result import WriteFailed
from controller.recording.check import check_file
from controller.recording.compare import OPEN_QUANTITY
from controller.recording.course import grouped
from controller.recording.lines import RecordingError
from controller.recording.variants import AS_RECORDED, Variant
from tests.builders import cpu, hpa, object_metric, observation, pods_metric, samples, scale, usage, value
from tests.recording.lived import (
    CPU,
    GOOD,
    LINES,
    WINDOWLESS,
    altered,
    desired,
    frames,
    header,
    parts,
    rising_and_falling,
    ticks,
    written,
)


@pytest.mark.parametrize("name", ["plain.jsonl", "packed.jsonl.gz"])
def test_it_replays_to_what_was_decided(tmp_path: Path, name: str) -> None:
    result = check_file(written(tmp_path / name))
    assert (result.compared, result.differing, result.notes) == (8, 0, [])
    scaled = [frame.moments[0].outcome for frame in frames(tmp_path / name)]
    assert len({outcome.scaled_to for outcome in scaled if outcome is not None}) > 2, "with rescales among them"


def test_a_failed_write_is_replayed(tmp_path: Path) -> None:
    lines = ticks(CPU, [observation(scale(2), usage(900, 900))] * 2, [WriteFailed("no such luck")] * 2)
    path = written(tmp_path / "failed.jsonl", b"".join((header(CPU), *lines)))
    for variant in (AS_RECORDED, Variant("unchanged")):
        assert check_file(path, variant).differing == 0, variant.label
    first, _ = frames(path)
    assert first.recorded is not None
    assert first.recorded.events == [("Warning", "FailedRescale")]


def test_another_outcome_is_noticed(tmp_path: Path) -> None:
    outcome = msgspec.json.decode(LINES[2])["outcome"] | {"scaledTo": 9}
    path = written(tmp_path / "other.jsonl", b"".join((header(CPU), *LINES[:2], altered(LINES[2], outcome=outcome))))
    result = check_file(path)
    assert (result.compared, result.differing) == (3, 1)
    assert result.lines[0].startswith("  default/web t=30.5: metrics want ")
    assert result.lines[1].startswith("    scaledTo: recorded 9, decided ")


def test_the_only_hpa_of_a_file_is_not_named_line_by_line(tmp_path: Path) -> None:
    outcome = msgspec.json.decode(LINES[0])["outcome"] | {"scaledTo": 9}
    path = written(tmp_path / "one.jsonl", header(CPU, only=CPU.key) + altered(LINES[0], outcome=outcome))
    assert check_file(path).lines[0].startswith("  t=0: metrics want ")


@pytest.mark.parametrize(
    ("differing", "more"), [(3, []), (4, ["  and 1 more tick"]), (5, ["  and 2 more ticks"])], ids=str
)
def test_the_first_differences_are_shown_and_the_others_counted(
    tmp_path: Path, differing: int, more: list[str]
) -> None:
    others = [
        altered(line, outcome=msgspec.json.decode(line)["outcome"] | {"scaledTo": 9}) for line in LINES[:differing]
    ]
    result = check_file(written(tmp_path / "other.jsonl", b"".join((header(CPU), *others, *LINES[differing:]))))
    assert (result.compared, result.differing) == (8, differing)
    assert [line for line in result.lines if not line.startswith("    ")][3:] == more


def test_writes_are_not_compared_where_the_open_quantity_comes_or_goes(tmp_path: Path) -> None:
    """docs/recording-format.md, equality: here it is in the second and the third outcome (§7.4)."""
    asked = hpa(pods_metric(1000))
    lines = []
    for number, line in enumerate(ticks(asked, [observation(scale(2), samples(1000, 1000))] * 4)):
        outcome = msgspec.json.decode(line)["outcome"]
        outcome["statusWrites"] = 1 - outcome["statusWrites"]
        if number in {1, 2}:
            outcome["status"]["currentMetrics"][0]["pods"]["current"]["averageValue"] = OPEN_QUANTITY
        lines.append(altered(line, outcome=outcome))
    result = check_file(written(tmp_path / "open.jsonl", b"".join((header(asked), *lines))))
    assert (result.compared, result.differing) == (4, 2)
    assert result.lines[1::2] == [f"    statusWrites: recorded {writes}, decided {1 - writes}" for writes in (0, 1)]
    assert [line.split(": ")[0].split()[-1] for line in result.lines[::2]] == ["t=0", "t=30.5"]


def test_ticks_without_an_outcome_are_counted_and_not_compared(tmp_path: Path) -> None:
    lines = [altered(line, outcome=None) for line in LINES[:2]]
    result = check_file(written(tmp_path / "inputs.jsonl", b"".join((header(CPU), *lines, *LINES[2:]))))
    assert (result.inputs_only, result.compared, result.differing) == (2, 6, 0)


def test_what_cannot_be_told_is_not_compared(tmp_path: Path) -> None:
    """A status whose times are beyond the year 9999 has no JSON."""
    lines = ticks(CPU, [observation(scale(2), usage(900, 900))] * 2, first_s=300e9)
    assert [msgspec.json.decode(line)["time"] for line in lines] == ["", ""]
    path = written(tmp_path / "far.jsonl", b"".join((header(CPU), *lines)))
    for variant in (AS_RECORDED, Variant("unchanged")):
        result = check_file(path, variant)
        assert (result.compared, result.differing, result.inputs_only, result.notes) == (0, 0, 0, [])
    assert desired(path, variant=Variant("unchanged")) == [(4, 4)] * 2


def test_what_became_of_a_write_does_not_matter_where_none_is_made(tmp_path: Path) -> None:
    """Another program may have decided to write."""
    steady = ticks(CPU, [observation(scale(2), usage(500, 500))] * 2)
    lines = [altered(line, write={"type": "Written"}) for line in steady]
    path = written(tmp_path / "steady.jsonl", b"".join((header(CPU), *lines)))
    for variant in (AS_RECORDED, Variant("unchanged")):
        assert check_file(path, variant).differing == 0, variant.label


def test_any_line_can_be_decided_by_itself(tmp_path: Path) -> None:
    """So that files may be deleted, and lines be lost."""
    for number, line in enumerate(LINES):
        assert check_file(written(tmp_path / f"{number}.jsonl", header(CPU) + line)).differing == 0


# --- damage --------------------------------------------------------------------------------------


def test_a_line_that_is_cut_off_ends_it(tmp_path: Path) -> None:
    path = written(tmp_path / "cut.jsonl", GOOD[:-200])
    result = check_file(path)
    assert (result.compared, result.differing) == (7, 0)
    cut = "Input data was truncated; the line is cut off, the lines before it are fine"
    assert result.notes == [f"{path}:9: {cut}; partial: the 7 syncs before are used"]


def test_one_line_before_the_cut_is_no_plural(tmp_path: Path) -> None:
    [note] = check_file(written(tmp_path / "cut.jsonl", header(CPU) + LINES[0] + LINES[1][:-200])).notes
    assert note.endswith("partial: the sync before is used")


def test_where_nothing_is_before_the_cut_it_is_said_so(tmp_path: Path) -> None:
    [note] = check_file(written(tmp_path / "cut.jsonl", header(CPU) + LINES[0][:-200])).notes
    assert note.endswith("partial: the 0 syncs before are used")


def test_compressed_data_that_is_cut_off_ends_it(tmp_path: Path) -> None:
    """As a crash leaves it: what was flushed is there."""
    compressor = zlib.compressobj(1, zlib.DEFLATED, 31)
    flushed = compressor.compress(b"".join((header(CPU), *LINES[:5]))) + compressor.flush(zlib.Z_SYNC_FLUSH)
    rest = compressor.compress(LINES[5]) + compressor.flush(zlib.Z_SYNC_FLUSH)
    path = tmp_path / "crashed.jsonl.gz"
    path.write_bytes(flushed + rest[: len(rest) // 2])
    result = check_file(path)
    assert (result.compared, result.differing) == (5, 0)
    [note] = result.notes
    assert note.startswith(f"{path}:7: the file ends here or later, in the middle of compressed data; partial: ")


def test_a_damaged_line_is_passed_over(tmp_path: Path) -> None:
    damaged = [line.replace(b'"scale"', b'"scole"') for line in LINES[1:7]]
    path = written(tmp_path / "damaged.jsonl", b"".join((header(CPU), LINES[0], *damaged, LINES[7])))
    result = check_file(path)
    assert (result.compared, result.differing) == (2, 0)
    missing = "Object missing required field `scale`; partial: this line is passed over"
    assert result.notes == [
        *(f"{path}:{number}: {missing}" for number in (3, 4, 5)),
        f"{path}:6: partial: this and all further damaged lines are passed over",
    ]


@pytest.mark.parametrize(
    ("damaged", "problem"),
    [
        (b"}{\n", "JSON is malformed: invalid character (byte 0)"),
        (LINES[1][:-200] + b"\n", "Input data was truncated"),
        (LINES[1].replace(b'"t":15.25', b'"t":1e999'), "Number out of range - at `$.t`"),
    ],
    ids=["no JSON", "an end too early", "a time without end"],
)
def test_a_line_that_is_no_tick_does_not_hide_those_after_it(tmp_path: Path, damaged: bytes, problem: str) -> None:
    path = written(tmp_path / "damaged.jsonl", b"".join((header(CPU), LINES[0], damaged, LINES[2])))
    result = check_file(path)
    assert (result.compared, result.differing, result.damaged) == (2, 0, True)
    [note] = result.notes
    assert note.startswith(f"{path}:3: {problem}")
    assert note.endswith("; partial: this line is passed over")


def test_what_is_wrong_is_said_without_control_characters(tmp_path: Path) -> None:
    line = altered(LINES[0], scale={"type": "\x00\u2028"})
    [note] = check_file(written(tmp_path / "odd.jsonl", header(CPU) + line)).notes
    assert "Invalid value '\\x00\\u2028' - at `$.scale.type`; partial: this line is passed over" in note


HITS = hpa(object_metric(value_milli=1000))
WITHOUT_BOUNDS = b'"value_milli":' + b"9" * 400
NONE = '; it is no recording: one begins with a header line such as {"format":"hpa-recording/2", …}'
TEXTS: dict[str, tuple[bytes, str]] = {
    "a newer version": (
        GOOD.replace(b"hpa-recording/2", b"hpa-recording/9"),
        (
            ":1: its format is 'hpa-recording/9'; this version reads 'hpa-recording/1' and 'hpa-recording/2', "
            "a newer hpa-controller may read it"
        ),
    ),
    "no header": (
        GOOD.partition(b"\n")[2],
        f":1: Object missing required field `format`{NONE}",
    ),
    "a header without settings": (
        b'{"format":"hpa-recording/2","program":"x","start":"","began":{"wall_ns":0,"monotonic_ns":0}}\n',
        ":1: Object missing required field `settings`",
    ),
    "the same moment again": (
        b"".join((header(CPU), LINES[0], LINES[0])),
        (
            ":3: default/web is synced at 5000000000000000 ns, after 5000000000000000 ns on its tick before; "
            "ticks must be in order"
        ),
    ),
    "out of order": (
        b"".join((header(CPU), LINES[1], LINES[0])),
        (
            ":3: default/web is synced at 5000000000000000 ns, after 5000015250000000 ns on its tick before; "
            "ticks must be in order"
        ),
    ),
    "a number without bounds": (
        header(HITS) + ticks(HITS, [observation(scale(2), value(5))])[0].replace(b'"value_milli":5', WITHOUT_BOUNDS),
        ":2: a number is beyond all bounds: int too large to convert to float",
    ),
    "no template": (
        header(CPU) + altered(LINES[0], templates=[]),
        ":2: a pod's template is not among the templates",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_cannot_be_replayed_is_said_in_a_line(tmp_path: Path, name: str) -> None:
    data, said = TEXTS[name]
    path = written(tmp_path / "bad.jsonl", data)
    with pytest.raises(RecordingError) as raised:
        check_file(path)
    assert str(raised.value) == f"{path}{said}"


def test_hpas_of_one_file_have_orders_of_their_own(tmp_path: Path) -> None:
    api = hpa(cpu(50), name="api", settings=CPU.settings)
    others = rising_and_falling(api)
    mixed = [line for pair in zip(LINES, others, strict=True) for line in pair]
    path = written(tmp_path / "two.jsonl", b"".join((header(CPU), *mixed)))
    assert [frame.hpa for frame in frames(path)] == ["default/web", "default/api"] * 8
    assert check_file(path).differing == 0


# --- parts of a run -------------------------------------------------------------------------------


def test_the_files_of_a_run_are_one_course(tmp_path: Path) -> None:
    one, two, three = parts(tmp_path)
    whole = written(tmp_path / "whole.jsonl")
    for order in ((one, two, three), (three, one, two)):
        [opening] = grouped(order)
        course = opening()
        assert course.about.endswith(", 3 files")
        assert [frame.t for frame in course.frames((AS_RECORDED,))] == [15.25 * number for number in range(8)]
        assert desired(*order, variant=WINDOWLESS) == desired(whole, variant=WINDOWLESS)


def test_a_missing_part_is_said(tmp_path: Path) -> None:
    one, two, three = parts(tmp_path)
    [opening] = grouped((one, three))
    course = opening()
    assert len(list(course.frames((AS_RECORDED,)))) == 5
    assert course.notes == [f"{tmp_path}: partial: files of run c0ffee00 between others are missing"]
    [opening] = grouped((two, three))
    assert opening().notes == [], "the oldest are deleted to make room"


def test_a_part_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    """It would hide one that is missing, too."""
    one, two, three = parts(tmp_path)
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(one.read_bytes())
    [opening] = grouped((one, copy, two, three))
    course = opening()
    assert len(list(course.frames((AS_RECORDED,)))) == 8
    assert course.notes == [f"{copy}: left out: it is part 1 of run c0ffee00, as is {one}"]
    [opening] = grouped((one, copy, three))
    assert opening().notes[-1] == f"{tmp_path}: partial: files of run c0ffee00 between others are missing"


def test_a_damaged_part_does_not_stop_those_after_it(tmp_path: Path) -> None:
    one, two, three = parts(tmp_path)
    lines = two.read_bytes().splitlines(keepends=True)
    two.write_bytes(b"".join((lines[0], lines[2], lines[1], lines[3])))
    [opening] = grouped((one, two, three))
    going = opening().frames((AS_RECORDED,))
    assert [frame.t for frame in islice(going, 6)] == [15.25 * number for number in (0, 1, 2, 4, 6, 7)]
    with pytest.raises(RecordingError, match=f"{two}:3: .*ticks must be in order"):
        next(going)
    course = opening()
    one.unlink()
    three.unlink()
    with pytest.raises(RecordingError, match=f"{three}: no such file or directory"):
        list(course.frames((AS_RECORDED,)))
    assert course.notes[0] == f"{one}: no such file or directory"
