"""Files of `hpa-recording/2`, read line by line: what is damaged is passed over, and told of."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from controller.recording.format_v2 import Header, Tick
from controller.recording.lines import (
    FORMAT_V2,
    CutOffError,
    RecordingError,
    check_format,
    decoded,
    first_line,
    read_lines,
)
from controller.wire.errors import printable

DAMAGED_LINES_SHOWN: Final = 3
_HEADER: Final = msgspec.json.Decoder(Header)
_TICK: Final = msgspec.json.Decoder(Tick)


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
    check_format(path, *first, (FORMAT_V2,))
    found: Header = decoded(path, *first, _HEADER)
    return found
