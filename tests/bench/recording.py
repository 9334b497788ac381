"""`--record`: what it takes of the loop's time, of its thread's, and of the disk."""

import tempfile
from pathlib import Path

from controller.decide.instants import Now
from controller.decide.spec import Settings
from controller.ports import Sync
from controller.recorder import BATCH_MAX, Recorder, Source
from controller.recording.flags import RecordSettings
from controller.recording.segments import Segments
from tests.bench.calibration import json_loads_us, per_call_us
from tests.bench.deciding import START_NS, Syncs
from tests.bench.measured import Figure

HANDOVER_GOAL = 0.2
LINE_GOAL = 6.0
BYTES_MAX = 2**30
_YARDSTICK = "times json.loads of 1 kB"


def figures() -> list[Figure]:
    """A sync with ten pods and two metrics: handed over by the loop, then encoded and written by a thread."""
    json_us = json_loads_us()
    source = Source(Settings(), 15.0, Now(START_NS, START_NS))
    stories = Syncs()
    syncs = [stories.sync() for _ in range(BATCH_MAX)]
    lines = [source.line(sync) for sync in syncs]
    with tempfile.TemporaryDirectory() as folder:
        settings = RecordSettings(Path(folder), BYTES_MAX)
        handover_us = per_call_us(lambda: _handed_over(Recorder(settings, source), syncs), 20) / len(syncs)
        line_us = per_call_us(lambda: source.line(syncs[-1]), 2_000)
        segments = Segments(Path(folder), source.stem, header=source.header, bytes_max=BYTES_MAX)
        segments.open()
        begun = segments.bytes_written
        segments.append(lines)
        size = (segments.bytes_written - begun) / len(lines)
        write_us = per_call_us(lambda: segments.append(lines), 20) / len(lines)
        segments.close()
    return [
        Figure("record a sync: hand it over", handover_us, "µs", _YARDSTICK, handover_us / json_us, HANDOVER_GOAL),
        Figure("record a sync: encode it, in a thread", line_us, "µs", _YARDSTICK, line_us / json_us, LINE_GOAL),
        Figure("record a sync: compress and write it, without the lock", write_us, "µs"),
        Figure("record a sync: encoded", sum(map(len, lines)) / len(lines), "bytes"),
        Figure("record a sync: on disk", size, "bytes"),
    ]


def _handed_over(recorder: Recorder, syncs: list[Sync]) -> None:
    for sync in syncs:
        recorder(sync)
