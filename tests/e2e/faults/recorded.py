"""What controllers have recorded of their own syncs: a second witness beside the audit log.

The audit log tells what was asked and written, a recording what was decided on which readings. So it knows for certain
whether a metric was understood, and that every decision is the one which its readings lead to.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from controller.recording.lines import CutOffError, read_lines
from tests.e2e.faults.invariants import Violation
from tests.recording.replaying import ReplayDiffersError, check_recordings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path


def judged(folder: Path) -> list[Violation]:
    """What should not have happened, by the recordings of a folder; lives that ended before their first sync are fine.

    Raises RecordingError, when a recording is damaged otherwise than by the end of its process.
    """
    files = {path: list(ticks(path)) for path in sorted(folder.glob("*.jsonl.gz"))}
    found = [violation for ticks in files.values() for violation in held(ticks)]
    if any(files.values()):
        try:
            check_recordings(folder)
        except ReplayDiffersError as error:
            found.append(Violation("replayed", str(error)))
    return found


def held(ticks: Iterable[Mapping[str, Any]]) -> list[Violation]:
    """Scale-downs of syncs in which the reading of a metric had failed (§6.1)."""
    found = []
    for tick in ticks:
        failed = [one["message"] for one in tick.get("readings") or () if one["type"] == "ReadFailure"]
        wanted, replicas = (tick.get("outcome") or {}).get("scaledTo"), tick["scale"].get("replicas")
        if failed and None not in (wanted, replicas) and wanted < replicas:
            found.append(
                Violation("held", f"{tick['hpa']} went from {replicas} to {wanted} at {tick['time']}, on: {failed[0]}")
            )
    return found


def ticks(path: Path) -> Iterator[dict[str, Any]]:
    """The syncs of a file, as far as it goes."""
    try:
        for number, line in read_lines(path):
            if number > 1 and line.endswith(b"\n"):  # the first is the header, the last may be half a line
                yield json.loads(line)
    except CutOffError:
        return
