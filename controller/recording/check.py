"""Recordings held against what is decided now (`replay --check`)."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from controller.decide.result import Decision
from controller.recording.compare import differences, open_quantities
from controller.recording.course import Course, grouped
from controller.recording.format_v1 import Outcome
from controller.recording.timeline import clock, why
from controller.recording.variants import AS_RECORDED, Variant

DIFFERING_TICKS_SHOWN = 3


class CheckResult(msgspec.Struct):
    """What came of one recording: ticks compared, ticks that differ, and lines that show where.

    `notes` say what is missing of it; `damaged`: whether lines of it could not be used; `inputs_only`: ticks that say
    nothing of what was decided.
    """

    name: str
    compared: int = 0
    differing: int = 0
    lines: list[str] = []
    notes: list[str] = []
    damaged: bool = False
    inputs_only: int = 0


def check_file(path: Path, variant: Variant = AS_RECORDED) -> CheckResult:
    """Replay a file of either version and compare every outcome it holds; the first few differences are shown.

    A version 2 file that was cut off is compared as far as it goes.

    Raises:
        RecordingError: the recording cannot be read, or is malformed.
    """
    [opened] = grouped([path])
    return check_course(opened(), variant)


def check_course(course: Course, variant: Variant) -> CheckResult:
    """The same for a recording that has been opened.

    Raises:
        RecordingError: it is malformed.
    """
    comparison = _Comparison(course.name)
    for frame in course.frames((variant,)):
        [moment] = frame.moments
        if moment.outcome is not None:
            named = "" if course.hpa else f"{frame.hpa} "
            comparison.take(named, frame.t, frame.recorded, moment.outcome, moment.decision)
    result = comparison.result()
    result.notes, result.damaged = course.notes, bool(course.passed_over)
    return result


class _Comparison:
    """Ticks compared one after the other."""

    def __init__(self, name: str) -> None:
        self._result = CheckResult(name)
        self._previous: dict[str, Outcome] = {}

    def take(self, named: str, t_s: float, recorded: Outcome | None, decided: Outcome, decision: Decision) -> None:
        result = self._result
        if recorded is None:
            result.inputs_only += 1
            return
        result.compared += 1
        # A tick in which the open quantity comes or goes may or may not have needed a status write.
        compare_writes = bool(open_quantities(self._previous.get(named))) == bool(open_quantities(recorded))
        self._previous[named] = recorded
        found = differences(recorded, decided, compare_writes=compare_writes)
        if found:
            result.differing += 1
            if result.differing <= DIFFERING_TICKS_SHOWN:
                result.lines.extend(_shown(f"{named}t={clock(t_s).removesuffix(' s')}", found, why(decision)))

    def result(self) -> CheckResult:
        result = self._result
        if result.differing > DIFFERING_TICKS_SHOWN:
            more = result.differing - DIFFERING_TICKS_SHOWN
            result.lines.append(f"  and {more} more {'tick' if more == 1 else 'ticks'}")
        return result


def _shown(which: str, found: list[str], reasons: str) -> Iterator[str]:
    yield f"  {which}: {reasons}"
    for difference in found:
        yield f"    {difference}"
