"""What recordings of either version hold, sync by sync, decided again under any number of variants at once."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from controller.decide.result import Decision
from controller.decide.spec import Settings, Spec
from controller.recording.format_v1 import Outcome, Recording
from controller.recording.format_v2 import Header, Tick
from controller.recording.lines import FORMAT_V2, FORMATS, RecordingError, check_format, first_line, read_lines
from controller.recording.live import WhatIf, decided_again
from controller.recording.live_file import LiveRecording, header_of
from controller.recording.replay import Replay, settings_of
from controller.recording.variants import AS_RECORDED, Variant, varied
from controller.wire.autoscalers import spec_from
from controller.wire.errors import WireError


class Moment(msgspec.Struct, frozen=True):
    """A sync under one variant; `outcome` None: it cannot be told."""

    outcome: Outcome | None
    decision: Decision


class Frame(msgspec.Struct, frozen=True):
    """A sync under all variants, in their order; `t` in seconds since the start of the recording."""

    hpa: str
    t: float
    recorded: Outcome | None
    moments: tuple[Moment, ...]


class Course(Protocol):
    """A recording, or the files of one run, whose syncs can be gone through once.

    Attributes:
        name, about: for people.
        hpa: the only HPA in it, empty if there may be several.
        settings: what was decided under.
        notes: what is missing or damaged; grows while frames are read.
        passed_over: how many lines could not be used; grows as well.
    """

    name: str
    about: str
    hpa: str
    settings: Settings
    notes: list[str]
    passed_over: int

    def frames(self, variants: Sequence[Variant]) -> Iterator[Frame]:
        """Every sync.

        Raises:
            RecordingError: it is malformed, or one of its files is; nothing comes after it.
        """
        ...


class WrittenCourse:
    """A recording of version 1; see Course."""

    def __init__(self, path: Path) -> None:
        """Open it.

        Raises:
            RecordingError: it cannot be read.
        """
        self._recording = Recording(path)
        header = self._recording.header
        self.name, self.about, self.settings = header.name, header.about, settings_of(header.settings)
        metadata = header.hpa.get("metadata")
        found = metadata if isinstance(metadata, dict) else {}
        self.hpa = f"{found.get('namespace') or 'default'}/{found.get('name') or header.name}"
        self.notes: list[str] = []
        self.passed_over = 0

    def frames(self, variants: Sequence[Variant]) -> Iterator[Frame]:
        """See Course."""
        path, header = self._recording.path, self._recording.header
        try:
            replays = [Replay(header, varied(self.settings, variant.assignments), variant.spec) for variant in variants]
        except WireError as error:
            raise RecordingError(f"{path}:1: {error}") from error
        for number, tick in self._recording.ticks():
            try:
                moments = tuple(Moment(*replay.step(tick)) for replay in replays)
            except WireError as error:
                raise RecordingError(f"{path}:{number}: {error}") from error
            yield Frame(self.hpa, tick.t, tick.outcome, moments)


class LiveCourse:
    """The files of one run, in order; see Course."""

    def __init__(self, parts: Sequence[tuple[Path, Header]]) -> None:
        """`parts`: paths and headers, at least one, all of the same run."""
        self.notes: list[str] = []
        self.passed_over = 0
        by_number: dict[int, tuple[Path, Header]] = {}
        for path, header in parts:
            known, _ = by_number.setdefault(header.part, (path, header))
            if known != path:
                self.notes.append(f"{path}: left out: it is part {header.part} of run {header.run}, as is {known}")
        self._parts = [by_number[number] for number in sorted(by_number)]
        (first_path, first), (_, last) = self._parts[0], self._parts[-1]
        self.name = first.run
        files = "" if len(self._parts) == 1 else f", {len(self._parts)} files"
        self.about = f"{first.program} since {first.start}{files}"
        self.hpa, self.settings = first.hpa, first.settings
        if last.part - first.part + 1 != len(self._parts):
            self.notes.append(f"{first_path.parent}: partial: files of run {self.name} between others are missing")

    def frames(self, variants: Sequence[Variant]) -> Iterator[Frame]:
        """See Course. A file that is damaged, or has gone since, does not stop those after it."""
        what_ifs = [
            None if variant == AS_RECORDED else WhatIf(varied(self.settings, variant.assignments), _spec(variant))
            for variant in variants
        ]
        failed: RecordingError | None = None
        for path, _ in self._parts:
            recording: LiveRecording | None = None
            try:
                recording = LiveRecording(path)
                for number, tick in recording.ticks():
                    yield _frame(recording, number, tick, what_ifs)
            except RecordingError as error:
                if failed is not None:
                    self.notes.append(str(failed))
                failed = error
            finally:
                if recording is not None:
                    self.notes.extend(recording.notes)
                    self.passed_over += recording.passed_over
        if failed is not None:
            raise failed


def _frame(recording: LiveRecording, number: int, tick: Tick, what_ifs: Sequence[WhatIf | None]) -> Frame:
    settings = recording.header.settings
    try:
        moments = tuple(
            Moment(*(decided_again(tick, settings) if what_if is None else what_if.step(tick))) for what_if in what_ifs
        )
    except IndexError as error:
        raise RecordingError(f"{recording.path}:{number}: a pod's template is not among the templates") from error
    except ArithmeticError as error:
        raise RecordingError(f"{recording.path}:{number}: a number is beyond all bounds: {error}") from error
    return Frame(tick.hpa, tick.t, tick.outcome, moments)


def grouped(paths: Sequence[Path]) -> Iterator[Callable[[], Course]]:
    """Recordings as they are to be shown: the files of one run together, at the place of the first one.

    Calling one opens it and raises RecordingError where it cannot be read.
    """
    runs: dict[str, list[tuple[Path, Header]]] = {}
    shown: list[tuple[Path, str | None]] = []
    for path in paths:
        run = None
        try:
            header = _live_header(path)
        except RecordingError:
            header = None  # said when it is opened
        if header is not None:
            # What was streamed of one HPA is a run of its own: its file has no other parts.
            run = str(path) if header.hpa else header.run
            runs.setdefault(run, []).append((path, header))
        shown.append((path, run))
    for path, run in shown:
        if run is None:
            yield partial(_opened, path)
        elif (parts := runs.pop(run, None)) is not None:
            yield partial(LiveCourse, parts)


def _live_header(path: Path) -> Header | None:
    """The header of a version 2 file, None for another version."""
    with closing(read_lines(path)) as lines:
        found = check_format(path, *first_line(path, lines), FORMATS)
    return header_of(path) if found == FORMAT_V2 else None


def _opened(path: Path) -> Course:
    """A file of version 1, or one that cannot be read."""
    header = _live_header(path)
    return WrittenCourse(path) if header is None else LiveCourse([(path, header)])


def _spec(variant: Variant) -> Spec | None:
    if variant.spec is None:
        return None
    try:
        return spec_from(variant.spec)
    except WireError as error:
        raise RecordingError(f"{variant.label}: {error}") from error
