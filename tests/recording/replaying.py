"""What a controller has recorded of its own run, replayed in this process."""

from pathlib import Path
from typing import Final

from controller.recording.check import check_file
from controller.recording.course import grouped
from controller.recording.lines import find
from controller.recording.variants import AS_RECORDED, Variant

_CUT_OFF: Final = "in the middle of compressed data"


class ReplayDiffersError(Exception):
    """A recording replays to other decisions than those that were made, or is damaged."""


def check_recordings(folder: Path) -> int:
    """Replays every file of a folder; gives how many syncs were compared.

    A process that was killed leaves a file without an end, which is used as far as it goes. Raises ReplayDiffersError.
    """
    compared = 0
    for path in find([folder]):
        result = check_file(path)
        damaged = [note for note in result.notes if _CUT_OFF not in note]
        if result.differing or damaged:
            raise ReplayDiffersError("\n".join([f"{path}: {result.differing} differ", *result.lines, *damaged]))
        compared += result.compared
    return compared


def check_unchanged(folder: Path) -> None:
    """Replays every run of a folder under a variant that changes nothing, which has to desire the same replicas.

    It does so from memories of its own, so this shows that they go on as those of the controller did. Raises
    ReplayDiffersError.
    """
    for opening in grouped(find([folder])):
        for frame in opening().frames((AS_RECORDED, Variant("unchanged"))):
            recorded, unchanged = (moment.decision.desired for moment in frame.moments)
            if recorded != unchanged:
                raise ReplayDiffersError(f"{folder}: {frame.hpa} at {frame.t} s: {unchanged} instead of {recorded}")
