"""Kubernetes' own controller on recordings: what it decides in worlds, and whether we decide the same."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Final

from controller.recording.check import CheckResult, check_file
from controller.recording.lines import find, read_lines
from tests.e2e.programs import find_program
from tests.recording.recorded import paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tests.e2e.reference.draws import Json

PROGRAM: Final = "hpa-reference"
_TIMEOUT_S: Final = 1800.0


class ReferenceFailedError(Exception):
    """The program failed; the message is the end of what it said."""


def recorded() -> list[list[Json]]:
    """The lines of all recordings in tests/data."""
    return [[json.loads(line) for _, line in read_lines(path)] for path in paths()]


def decided(worlds: Iterable[tuple[str, Iterable[Json]]], folder: Path) -> Path:
    """The folder, made within another one, with a recording of each world by its name: what the original decides.

    Raises ProgramError when the program is not built, ReferenceFailedError when it fails.
    """
    given, recordings = folder / "worlds", folder / "recordings"
    given.mkdir()
    recordings.mkdir()
    for name, lines in worlds:
        (given / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = [str(find_program(PROGRAM)), f"-worlds={given}", f"-recordings={recordings}"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)  # noqa: S603
    if ended.returncode != 0:
        raise ReferenceFailedError("\n".join((ended.stdout + ended.stderr).splitlines()[-20:]))
    return recordings


def checked(recordings: Path) -> Iterator[tuple[Path, CheckResult]]:
    """Every recording of a folder, and where we decide something else."""
    for path in find([recordings]):
        yield path, check_file(path)
