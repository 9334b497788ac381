"""What a controller has recorded of its own run, replayed in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controller.recording.check import Verdict, check_file
from controller.recording.format import find

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.control_plane import ControlPlane

_CUT_OFF = "in the middle of compressed data"


class ReplayDiffersError(Exception):
    """A recording replays to other decisions than those that were made, or is damaged."""


def recordings_of(plane: ControlPlane, name: str) -> Path:
    """Where the controller of that name records."""
    return plane.files.logs / f"{name}-recordings"


def check_recordings(folder: Path) -> int:
    """Replays every file of a folder; gives how many syncs were compared.

    A process that was killed leaves a file without an end, which is used as far as it goes. Raises ReplayDiffersError.
    """
    compared = 0
    for path in find([folder]):
        verdict: Verdict = check_file(path)
        damaged = [note for note in verdict.notes if _CUT_OFF not in note]
        if verdict.differing or damaged:
            raise ReplayDiffersError("\n".join([f"{path}: {verdict.differing} differ", *verdict.lines, *damaged]))
        compared += verdict.compared
    return compared
