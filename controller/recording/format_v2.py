"""The recording format `hpa-recording/2`: syncs of a running controller, one self-contained line each.

A line holds the values that a sync was decided on, exact, so that it can be decided again without the lines before it.
See docs/recording-format.md and docs/decisions/0012-recordings-of-live-runs.md.
"""

import math
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from controller.decide.history import History
from controller.decide.instants import NANOSECONDS, Now, format_rfc3339_ms
from controller.decide.observed import Observation, Pod, PodRequests, Readiness, Reading, Scale, ScaleFailure
from controller.decide.result import Conclusion, Write
from controller.decide.spec import Rules, Settings, Spec
from controller.decide.status import Status
from controller.recording.format import (
    CutOffError,
    Outcome,
    RecordingError,
    check_format,
    decoded,
    first_line,
    read_lines,
)
from controller.wire.errors import printable
from controller.wire.status import status_to

FORMAT: Final = "hpa-recording/2"
DAMAGED_LINES_SHOWN: Final = 3


class Header(msgspec.Struct, omit_defaults=True, kw_only=True):
    """The first line of a file.

    Attributes:
        format: `hpa-recording/2`.
        program: name and version of what recorded.
        start: when recording began, for people (RFC 3339).
        began: the same instant on both clocks; `t` of the ticks is counted from its monotonic one.
        settings: what was decided under.
        sync_period_ns: how often every HPA is synced.
        run: the same in all files of one process.
        part: counts the files of a run from 1.
        hpa: `namespace/name` when the file holds one HPA only.
    """

    format: str
    program: str
    start: str
    began: Now
    settings: Settings
    sync_period_ns: int
    run: str
    part: int = 1
    hpa: str = ""


class SeenPod(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pod; its requests are `templates[template]` of the tick. Labels are left out: only matching pods are here."""

    name: str
    phase: str
    template: int = 0
    deleted: bool = False
    started_ns: int | None = None
    ready: Readiness | None = None


class Tick(msgspec.Struct, omit_defaults=True):
    """One sync; see Sync in controller/ports/syncs.py for the values. `t` is in seconds from the header's `began`.

    `withheld` is a label that says why nothing was written, empty where writing was allowed. `taken_up`: the history is
    what an earlier term of leadership had left, and does not go on from the tick before.
    """

    t: float
    time: str
    hpa: str
    now: Now
    concluded: Now
    spec: Spec
    scale: Scale | ScaleFailure
    status: Status
    history: History
    templates: tuple[PodRequests, ...] = ()
    pods: tuple[SeenPod, ...] = ()
    readings: tuple[Reading, ...] = ()
    overlapping: tuple[str, ...] = ()
    write: Write | None = None
    withheld: str = ""
    taken_up: bool = False
    scale_read_ns: int | None = None
    outcome: Outcome | None = None

    def observation(self) -> Observation:
        """What the sync saw.

        Raises:
            IndexError: a pod names a template that is not there.
        """
        pods = tuple(
            Pod(pod.name, {}, pod.phase, self.templates[pod.template], pod.deleted, pod.started_ns, pod.ready)
            for pod in self.pods
        )
        return Observation(self.scale, self.status, pods, self.readings, self.overlapping, self.scale_read_ns)


def header(
    *, program: str, began: Now, settings: Settings, sync_period_ns: int, run: str, part: int = 1, hpa: str = ""
) -> bytes:
    """A header's line; see Header."""
    start = _instant(began.wall_ns)
    tolerance = _finite(settings.tolerance)
    shown = replace(settings, tolerance=settings.tolerance if tolerance is None else tolerance)
    return _line(
        Header(
            format=FORMAT,
            program=program,
            start=start,
            began=began,
            settings=shown,
            sync_period_ns=sync_period_ns,
            run=run,
            part=part,
            hpa=hpa,
        )
    )


def tick(
    *,
    key: str,
    spec: Spec,
    observation: Observation,
    history: History,
    now: Now,
    write: Write | None,
    conclusion: Conclusion,
    concluded: Now,
    began: Now,
    withheld: str = "",
    taken_up: bool = False,
) -> bytes:
    """A sync's line.

    Raises:
        ValueError: a text in it is not Unicode.
    """
    templates: dict[int, int] = {}
    requests: list[PodRequests] = []
    pods = []
    for pod in observation.pods:
        index = templates.setdefault(id(pod.requests), len(requests))
        if index == len(requests):
            requests.append(pod.requests)
        pods.append(SeenPod(pod.name, pod.phase, index, pod.deleted, pod.started_ns, pod.ready))
    scale = observation.scale
    return _line(
        Tick(
            t=round((now.monotonic_ns - began.monotonic_ns) / NANOSECONDS, 6),
            time=_instant(now.wall_ns),
            hpa=key,
            now=now,
            concluded=concluded,
            spec=_printable(spec),
            scale=Scale(scale.replicas, scale.status_replicas, scale.selector) if isinstance(scale, Scale) else scale,
            status=observation.status,
            history=history,
            templates=tuple(requests),
            pods=tuple(pods),
            readings=observation.readings,
            overlapping=observation.overlapping,
            write=write,
            withheld=withheld,
            taken_up=taken_up,
            scale_read_ns=observation.scale_read_ns,
            outcome=outcome_of(observation.status, conclusion),
        )
    )


def outcome_of(previous: Status, conclusion: Conclusion) -> Outcome | None:
    """What a sync came to, as version 1 has it; None when a time of the status is beyond what can be printed."""
    status = told(conclusion.status if conclusion.status_changed else previous)
    if status is None:
        return None
    events = (*conclusion.events, *conclusion.events_after_status)
    return Outcome(
        scaled_to=conclusion.scaled_to,
        status=status,
        status_writes=int(conclusion.status_changed),
        events=[(event.type, event.reason) for event in events],
    )


def told(status: Status) -> dict[str, Any] | None:
    """A status as an outcome holds it: JSON without the messages of conditions; None when a time has no date."""
    try:
        body = status_to(status)
    except ValueError:
        return None
    for condition in body.get("conditions", ()):
        condition.pop("message", None)
    return body


class LiveRecording:
    """One file of version 2: its header, and its ticks read one at a time.

    Attributes:
        notes: what is missing or damaged, a sentence each that begins with file and line; grows while ticks are read.
        passed_over: how many lines could not be used.
    """

    def __init__(self, path: Path) -> None:
        """Open the file and read the header.

        Raises:
            RecordingError: the file cannot be read, is empty, or its first line is no header of this version.
        """
        self.path = path
        self.notes: list[str] = []
        self.passed_over = 0
        self._lines = read_lines(path)
        self.header = _header_of(path, self._lines)

    def ticks(self) -> Iterator[tuple[int, Tick]]:
        """Line number and tick, once, in order.

        Every line stands for itself, so a damaged one is passed over, and a file that was cut off gives what it has;
        `notes` say so.

        Raises:
            RecordingError: an HPA's tick is earlier than its one before, or the file is damaged from some line on.
        """
        previous: dict[str, int] = {}
        used = 0
        try:
            for number, line in self._lines:
                try:
                    found: Tick = decoded(self.path, number, line, _TICK)
                except CutOffError:
                    raise
                except RecordingError as error:
                    self._pass_over(number, str(error))
                    continue
                if not math.isfinite(found.t):
                    self._pass_over(number, f"{self.path}:{number}: t is {found.t}")
                    continue
                before, monotonic_ns = previous.get(found.hpa), found.now.monotonic_ns
                if before is not None and monotonic_ns <= before:
                    raise RecordingError(
                        f"{self.path}:{number}: {printable(found.hpa)} is synced at {monotonic_ns} ns, "
                        f"after {before} ns on its tick before; ticks must be in order"
                    )
                previous[found.hpa] = monotonic_ns
                used += 1
                yield number, found
        except CutOffError as error:
            rest = "sync before is" if used == 1 else f"{used} syncs before are"
            self.notes.append(f"{error}; partial: the {rest} used")

    def _pass_over(self, number: int, problem: str) -> None:
        self.passed_over += 1
        if self.passed_over <= DAMAGED_LINES_SHOWN:
            self.notes.append(f"{problem}; partial: this line is passed over")
        elif self.passed_over == DAMAGED_LINES_SHOWN + 1:
            self.notes.append(f"{self.path}:{number}: partial: this and all further damaged lines are passed over")


def header_of(path: Path) -> Header:
    """The header of a file, without keeping it open.

    Raises:
        RecordingError: the file cannot be read, or is no recording of this version.
    """
    with closing(read_lines(path)) as lines:
        return _header_of(path, lines)


def _header_of(path: Path, lines: Iterator[tuple[int, bytes]]) -> Header:
    first = first_line(path, lines)
    check_format(path, *first, (FORMAT,))
    found: Header = decoded(path, *first, _HEADER)
    return found


_HEADER: Final = msgspec.json.Decoder(Header)
_TICK: Final = msgspec.json.Decoder(Tick)
_ENCODER: Final = msgspec.json.Encoder()


def _line(value: Header | Tick) -> bytes:
    return _ENCODER.encode(value) + b"\n"


def _instant(wall_ns: int) -> str:
    """RFC 3339 with milliseconds, for people; empty where there is no such date."""
    try:
        return format_rfc3339_ms(wall_ns)
    except ValueError:
        return ""


def _printable(spec: Spec) -> Spec:
    """The spec with tolerances that JSON can hold."""
    behavior = spec.behavior
    if behavior is None or (_holds(behavior.scale_up) and _holds(behavior.scale_down)):
        return spec
    up = replace(behavior.scale_up, tolerance=_finite(behavior.scale_up.tolerance))
    down = replace(behavior.scale_down, tolerance=_finite(behavior.scale_down.tolerance))
    return replace(spec, behavior=replace(behavior, scale_up=up, scale_down=down))


def _holds(rules: Rules) -> bool:
    return rules.tolerance == _finite(rules.tolerance)


def _finite(number: float | None) -> float | None:
    """The number, or the largest of all for one without an end: no ratio is beyond either."""
    if number is None:
        return None
    return min(max(number, -sys.float_info.max), sys.float_info.max)
