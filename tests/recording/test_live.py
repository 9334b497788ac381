"""Recordings of version 2 as files: checked, cut off, damaged, in parts, and under variants."""

import gzip
import zlib
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from controller.decide.result import Decision, WriteFailed
from controller.decide.result import Path as DecisionPath
from controller.recording.check import check_file
from controller.recording.course import Frame, grouped
from controller.recording.lines import RecordingError
from controller.recording.variants import AS_RECORDED, Variant
from tests.builders import cpu, external_metric, hpa, observation, scale, series, settings, usage
from tests.recording.lived import CPU, header, rising_and_falling, ticks

LINES = rising_and_falling()
GOOD = b"".join((header(CPU), *LINES))


def written(path: Path, data: bytes = GOOD) -> Path:
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def frames(*paths: Path, variants: tuple[Variant, ...] = (AS_RECORDED,)) -> list[Frame]:
    return [frame for opening in grouped(paths) for frame in opening().frames(variants)]


def decisions(*paths: Path, variant: Variant) -> list[tuple[Decision, Decision]]:
    """What was decided as recorded, and under a variant."""
    found = []
    for frame in frames(*paths, variants=(AS_RECORDED, variant)):
        recorded, other = frame.moments
        found.append((recorded.decision, other.decision))
    return found


def desired(*paths: Path, variant: Variant) -> list[tuple[int | None, int | None]]:
    """The replicas they asked for."""
    return [(recorded.desired, other.desired) for recorded, other in decisions(*paths, variant=variant)]


@pytest.mark.parametrize("name", ["plain.jsonl", "packed.jsonl.gz"])
def test_it_replays_to_what_was_decided(tmp_path: Path, name: str) -> None:
    result = check_file(written(tmp_path / name))
    assert (result.compared, result.differing, result.notes) == (8, 0, [])
    scaled = [frame.moments[0].outcome for frame in frames(tmp_path / name)]
    assert len({outcome.scaled_to for outcome in scaled if outcome is not None}) > 2, "with rescales among them"


def test_a_failed_write_is_replayed(tmp_path: Path) -> None:
    lines = ticks(CPU, [observation(scale(2), usage(900, 900))] * 2, [WriteFailed("no such luck")] * 2)
    path = written(tmp_path / "failed.jsonl", b"".join((header(CPU), *lines)))
    assert check_file(path).differing == 0
    first, _ = frames(path)
    assert first.recorded is not None
    assert first.recorded.events == [("Warning", "FailedRescale")]


def altered(line: bytes, **fields: Any) -> bytes:
    return msgspec.json.encode(msgspec.json.decode(line) | fields) + b"\n"


def test_another_outcome_is_noticed(tmp_path: Path) -> None:
    outcome = msgspec.json.decode(LINES[2])["outcome"] | {"scaledTo": 9}
    path = written(tmp_path / "other.jsonl", b"".join((header(CPU), *LINES[:2], altered(LINES[2], outcome=outcome))))
    result = check_file(path)
    assert (result.compared, result.differing) == (3, 1)
    assert result.lines[0].startswith("  default/web t=30.5: metrics want ")
    assert result.lines[1].startswith("    scaledTo: recorded 9, decided ")


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


def test_what_is_wrong_is_said_without_control_characters(tmp_path: Path) -> None:
    line = altered(LINES[0], scale={"type": "\x00\u2028"})
    [note] = check_file(written(tmp_path / "odd.jsonl", header(CPU) + line)).notes
    assert "Invalid value '\\x00\\u2028' - at `$.scale.type`; partial: this line is passed over" in note


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


def parts(folder: Path) -> list[Path]:
    """Three files of one run."""
    return [
        written(folder / f"{part}.jsonl", b"".join((header(CPU, part=part), *LINES[first : first + 3])))
        for part, first in ((1, 0), (2, 3), (3, 6))
    ]


WINDOWLESS = Variant("at once", ("downscaleStabilization=0s",))


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


# --- variants -------------------------------------------------------------------------------------


def test_a_variant_remembers_what_it_decided_itself(tmp_path: Path) -> None:
    """With a window, the high recommendations of the beginning hold; without, the fall is followed at once."""
    found = desired(written(tmp_path / "run.jsonl"), variant=WINDOWLESS)
    assert found == [(2, 2), (3, 3), (4, 4), (4, 4), (4, 2), (4, 1), (4, 1), (2, 1)]


def test_a_variant_begins_anew_where_the_controller_did(tmp_path: Path) -> None:
    """After a time without the Lease, nothing is remembered."""
    again = ticks(CPU, [observation(scale(4), usage(100, 100, 100, 100))] * 2, first_s=122)
    path = written(tmp_path / "twice.jsonl", b"".join((header(CPU), *LINES[:4], *again)))
    longer = Variant("longer", ("downscaleStabilization=10m",))
    assert desired(path, variant=longer)[-1] == (4, 4)
    assert check_file(path).differing == 0


def test_what_the_first_sync_began_with_is_recorded_with_its_time(tmp_path: Path) -> None:
    """It is out of a window of 0 (§4.5)."""
    at_once = hpa(cpu(50), settings=settings(downscale_stabilization_s=0))
    lines = ticks(at_once, [observation(scale(5), usage(*[300] * 5), read_s=-0.001)])
    path = written(tmp_path / "first.jsonl", b"".join((header(at_once), *lines)))
    assert check_file(path).differing == 0
    assert desired(path, variant=Variant("unchanged")) == [(3, 3)]


def test_a_variant_that_changes_nothing_decides_the_same(tmp_path: Path) -> None:
    """From its own memories; also where a status could not be stored, and the next sync found the old one."""
    path = written(tmp_path / "run.jsonl")
    assert check_file(path, Variant("unchanged")).differing == 0
    at_once = settings(scale_to_zero=True, downscale_stabilization_s=0)
    zero = hpa(external_metric(average_milli=1000), replicas_min=0, settings=at_once)
    falls, stays = observation(scale(1), series(0)), observation(scale(0), series(0))
    begun = ticks(zero, [falls, falls])
    # The status that says who has scaled to zero is lost: the next sync takes the target for paused.
    [lost] = ticks(zero, [stays], first_s=30.5)
    lost = altered(lost, history=msgspec.json.decode(begun[1])["history"])
    path = written(tmp_path / "zero.jsonl", b"".join((header(zero), *begun, lost)))
    paths = [(recorded.path, unchanged.path) for recorded, unchanged in decisions(path, variant=Variant("unchanged"))]
    assert paths == [(DecisionPath.METRICS,) * 2, (DecisionPath.METRICS,) * 2, (DecisionPath.PAUSED,) * 2]
    assert desired(path, variant=Variant("unchanged")) == [(1, 1), (0, 0), (0, 0)]


def external_spec(name: str) -> dict[str, Any]:
    target = {"type": "AverageValue", "averageValue": "1"}
    return {
        "scaleTargetRef": {"kind": "Deployment", "name": "web"},
        "maxReplicas": 10,
        "metrics": [{"type": "External", "external": {"metric": {"name": name}, "target": target}}],
    }


def test_another_spec_finds_the_answers_to_its_questions(tmp_path: Path) -> None:
    both = hpa(cpu(50), external_metric(average_milli=9000))
    seen = observation(scale(2), usage(500, 500), series(6000))
    path = written(tmp_path / "both.jsonl", b"".join((header(both), *ticks(both, [seen]))))
    assert desired(path, variant=Variant("other", spec=external_spec("backlog"))) == [(2, 4)]
    [frame] = frames(path, variants=(Variant("unasked", spec=external_spec("other")),))
    assert frame.moments[0].decision.desired is None
    assert "the recording has no answer for this metric" in (frame.moments[0].decision.error or "")


def test_a_variant_goes_on_from_a_history_that_was_taken_up(tmp_path: Path) -> None:
    """In the middle of a run, as after a gap in leadership: it is not what the tick before has left."""
    header_line, *lines = GOOD.splitlines(keepends=True)
    held = {"recommendations": [{"replicas": 9, "at_ns": msgspec.json.decode(lines[-1])["now"]["monotonic_ns"]}]}
    last = altered(lines[-1], history=held, taken_up=True)
    path = written(tmp_path / "taken-up.jsonl", b"".join([header_line, *lines[:-1], last]))
    recorded, varied = desired(path, variant=Variant("unchanged"))[-1]
    assert recorded == varied
    path = written(tmp_path / "gone-on.jsonl", b"".join([header_line, *lines[:-1], altered(lines[-1], history=held)]))
    recorded, varied = desired(path, variant=Variant("unchanged"))[-1]
    assert recorded != varied, "without the mark the memory of the variant counts"
