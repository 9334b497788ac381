"""The recordings in tests/data, and small ones made on the spot."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from controller.decide.history import History
from controller.decide.result import Decision
from controller.recording.check import CheckResult, check_course
from controller.recording.course import Frame, Moment, WrittenCourse
from controller.recording.format_v1 import Header, Outcome, Recording, Tick
from controller.recording.lines import find
from controller.recording.replay import Replay
from controller.recording.variants import AS_RECORDED, Variant

FOLDER: Final = Path(__file__).parent.parent / "data" / "recordings"

Begin = Callable[[Recording], Replay]


@cache
def paths() -> tuple[Path, ...]:
    """All recordings, in the order of their names."""
    return tuple(find([FOLDER]))


def opened(every: int = 1) -> Iterator[Recording]:
    """All recordings, or every so many, one after the other."""
    for path in paths()[::every]:
        yield Recording(path)


def as_recorded(recording: Recording) -> Replay:
    """The replay of a recording under its own settings and spec."""
    return Replay(recording.header)


def replayed(recording: Recording, begin: Begin = as_recorded) -> Iterator[tuple[Tick, Outcome, Decision]]:
    """Every tick with what is decided at it."""
    replay = begin(recording)
    for _, tick in recording.ticks():
        yield tick, *replay.step(tick)


class Played(WrittenCourse):
    """The course of a recording, which may be an altered one, through a replay, which may be another one."""

    def __init__(self, recording: Recording, begin: Begin) -> None:
        super().__init__(recording.path)
        self._played, self._begin = recording, begin

    def frames(self, variants: Sequence[Variant]) -> Iterator[Frame]:  # noqa: ARG002  # they are as recorded
        """See Course."""
        for tick, outcome, decision in replayed(self._played, self._begin):
            yield Frame(self.hpa, tick.t, tick.outcome, (Moment(outcome, decision),))


def check(recording: Recording, begin: Begin = as_recorded) -> CheckResult:
    """A recording held against a replay of it."""
    return check_course(Played(recording, begin), AS_RECORDED)


def caught_by(begin: Begin, every: int = 1) -> str | None:
    """The name of the first recording that differs when it is replayed so, None if all agree."""
    for recording in opened(every):
        if check(recording, begin).differing:
            return recording.header.name
    return None


class AlteredTicks(Replay):
    """A replay that sees other ticks than those recorded: what rules would see that overlook or mistake something."""

    def __init__(self, header: Header, alter: Callable[[Tick], Tick]) -> None:
        super().__init__(header)
        self._alter = alter

    def step(self, tick: Tick) -> tuple[Outcome, Decision]:
        """As if the tick were another one."""
        return super().step(self._alter(tick))


class AlteredHistory(Replay):
    """A replay that remembers something else than the last sync left."""

    def __init__(self, header: Header, alter: Callable[[History], History]) -> None:
        super().__init__(header)
        self._alter = alter

    def step(self, tick: Tick) -> tuple[Outcome, Decision]:
        """As if the history were another one."""
        self._history = self._alter(self._history)
        return super().step(tick)


HEADER: Final[dict[str, Any]] = {
    "format": "hpa-recording/1",
    "name": "made",
    "start": "2026-01-31T12:00:00Z",
    "hpa": {
        "metadata": {"namespace": "default", "name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "maxReplicas": 10,
            "metrics": [
                {
                    "type": "External",
                    "external": {
                        "metric": {"name": "backlog"},
                        "target": {"type": "AverageValue", "averageValue": "1"},
                    },
                }
            ],
        },
    },
}


def tick(t: int = 15, wanted: int = 2, replicas: int = 1, **fields: object) -> dict[str, Any]:
    """A tick whose metric asks for so many replicas."""
    return {
        "t": t,
        "scale": {"spec": replicas, "status": replicas, "selector": "app=web"},
        "metrics": {"external": {"backlog": {"t": t, "values": [str(wanted)]}}},
    } | fields


def encoded(*lines: object) -> bytes:
    """Lines of a recording."""
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)
