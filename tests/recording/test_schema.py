"""The published schema is that of the types: what others read does not change unnoticed."""

from pathlib import Path
from typing import Final

import msgspec

from controller.recording.check import check_file
from tests.recording.lived import CPU, header, rising_and_falling
from tests.recording.schema import PATH, schema

KEPT: Final = Path(__file__).with_name("kept")


def test_the_published_schema_is_current() -> None:
    """If the change is meant and old recordings are still read: python -m tests.recording.schema."""
    assert PATH.read_bytes() == schema()


def test_every_field_of_a_line_is_in_it() -> None:
    definitions = msgspec.json.decode(PATH.read_bytes())["$defs"]
    for line, kind in ((header(CPU), "Header"), (rising_and_falling()[2], "Tick")):
        assert msgspec.json.decode(line).keys() <= definitions[kind]["properties"].keys()


def test_what_earlier_versions_recorded_is_still_read() -> None:
    """Of a run in the lab, as it was written then; decisions that change on purpose need another one beside it."""
    [path] = KEPT.glob("*.jsonl.gz")
    result = check_file(path)
    assert (result.differing, result.notes, result.lines) == (0, [], [])
    assert result.compared == 96
