"""Recordings held against what is decided now (`replay --check`)."""

from collections.abc import Callable, Iterator

import msgspec

from controller.recording.compare import differences, open_quantities
from controller.recording.format import Outcome, Recording
from controller.recording.replay import Replay, replayed
from controller.recording.timeline import why

DIFFERING_TICKS_SHOWN = 3


class Verdict(msgspec.Struct):
    """What came of one recording: ticks compared, ticks that differ, and lines that show where."""

    name: str
    compared: int = 0
    differing: int = 0
    lines: list[str] = []


def check(recording: Recording, begin: Callable[[Recording], Replay]) -> Verdict:
    """Replay a recording and compare every outcome it holds; the first few differences are shown.

    Raises:
        RecordingError: the recording is malformed.
    """
    verdict = Verdict(recording.header.name, lines=[])
    previous: Outcome | None = None
    for tick, decided, decision in replayed(recording, begin):
        recorded = tick.outcome
        if recorded is None:
            continue
        verdict.compared += 1
        # A tick in which the open quantity comes or goes may or may not have needed a status write.
        compare_writes = bool(open_quantities(previous)) == bool(open_quantities(recorded))
        previous = recorded
        found = differences(recorded, decided, compare_writes=compare_writes)
        if found:
            verdict.differing += 1
            if verdict.differing <= DIFFERING_TICKS_SHOWN:
                verdict.lines.extend(_shown(tick.t, found, why(decision)))
    if verdict.differing > DIFFERING_TICKS_SHOWN:
        verdict.lines.append(f"  and {verdict.differing - DIFFERING_TICKS_SHOWN} more ticks")
    return verdict


def _shown(t: int, found: list[str], reasons: str) -> Iterator[str]:
    yield f"  t={t}: {reasons}"
    for difference in found:
        yield f"    {difference}"
