"""Lines of recordings, whatever their version: files are found, opened, and told by their header."""

import gzip
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from controller.os_errors import is_folder, why
from controller.wire.errors import printable

FORMAT_V1: Final = "hpa-recording/1"
FORMAT_V2: Final = "hpa-recording/2"
FORMATS: Final = (FORMAT_V1, FORMAT_V2)
# A tick with thousands of pods has a few megabytes; beyond this a line is no recording but an accident.
LINE_BYTES_MAX: Final = 256 * 1024 * 1024
_GZIP: Final = b"\x1f\x8b"
_NO_RECORDING: Final = f'it is no recording: one begins with a header line such as {{"format":"{FORMATS[-1]}", …}}'


class RecordingError(ValueError):
    """A file is no readable recording; the message begins with file and, where there is one, line."""


class CutOffError(RecordingError):
    """A file ends in the middle of something; the lines before are fine."""


def find(paths: list[Path]) -> list[Path]:
    """The recordings among files and folders: files as given, folders searched for `*.jsonl` and `*.jsonl.gz`, sorted.

    A folder's files that do not begin with a recording's header (other JSON lines) are left out.

    Raises:
        RecordingError: a path does not exist or cannot be looked at, or a folder holds no recording.
    """
    found: list[Path] = []
    for path in paths:
        try:
            folder = is_folder(path)
            if folder:
                next(path.iterdir(), None)  # `rglob` passes over what may not be read
            candidates = sorted((*path.rglob("*.jsonl"), *path.rglob("*.jsonl.gz"))) if folder else []
        except FileNotFoundError as error:
            piped = "; standard input is not read, store it in a file first" if str(path) == "-" else ""
            raise RecordingError(f"{path}: no such file or folder{piped}") from error
        except OSError as error:
            raise RecordingError(f"{path}: {why(error)}") from error
        if folder:
            recordings = [each for each in candidates if each.is_file() and _looks_like_recording(each)]
            if not recordings:
                raise RecordingError(f"{path}: no recordings (*.jsonl, *.jsonl.gz) in this folder")
            found.extend(recordings)
        elif path.is_file():
            found.append(path)
        else:
            raise RecordingError(f"{path}: not a file; what comes from a pipe has to be stored first")
    return found


def read_lines(path: Path) -> Generator[tuple[int, bytes], None, None]:
    """Line numbers and lines, blank ones left out.

    Raises:
        CutOffError: the file ends in the middle of compressed data.
        RecordingError: it cannot be read, or its compressed data is damaged.
    """
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            while line := file.readline(LINE_BYTES_MAX):
                number += 1
                if not line.endswith(b"\n") and len(line) >= LINE_BYTES_MAX:
                    raise RecordingError(f"{path}:{number}: the line is longer than {LINE_BYTES_MAX} bytes")
                if line.strip():
                    yield number, line
    except EOFError as error:
        raise CutOffError(
            f"{path}:{number + 1}: the file ends here or later, in the middle of compressed data"
        ) from error
    except (zlib.error, gzip.BadGzipFile) as error:
        raise RecordingError(f"{path}:{number + 1}: it is not gzip, or damaged here or later: {error}") from error
    except OSError as error:
        raise RecordingError(f"{path}: {why(error)}") from error


def first_line(path: Path, lines: Iterator[tuple[int, bytes]]) -> tuple[int, bytes]:
    """The header's line.

    Raises:
        RecordingError: there is none.
    """
    first = next(lines, None)
    if first is None:
        raise RecordingError(f"{path}: it is empty; a recording begins with a header line")
    return first


def check_format(path: Path, number: int, line: bytes, known: tuple[str, ...]) -> str:
    """The format that a header line names, one of those known.

    Raises:
        RecordingError: it is no header, or one of another format.
    """
    if line.startswith(_GZIP) and path.suffix == ".gz":
        raise RecordingError(f"{path}:{number}: it is compressed twice; decompress it once")
    if line.startswith(_GZIP):
        raise RecordingError(f"{path}:{number}: it is compressed; give it a name that ends in .gz")
    if not line.lstrip().startswith(b"{"):
        raise RecordingError(f"{path}:{number}: {_NO_RECORDING}")
    try:
        found: str = decoded(path, number, line, _VERSION).format
    except CutOffError:
        raise
    except RecordingError as error:
        raise RecordingError(f"{error}; {_NO_RECORDING}") from error
    if found not in known:
        newer = "" if found in FORMATS else ", a newer hpa-controller may read it"
        versions = " and ".join(map(repr, known if not newer else FORMATS))
        named = printable(repr(found), 80)
        raise RecordingError(f"{path}:{number}: its format is {named}; this version reads {versions}{newer}")
    return found


def decoded(path: Path, number: int, line: bytes, decoder: Any) -> Any:
    """What the decoder makes of a line.

    Raises:
        CutOffError: the line has no end.
        RecordingError: it is not what it should be.
    """
    try:
        return decoder.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        # Of a line that is cut off, msgspec finds the end too early before it finds anything else.
        if line.endswith(b"\n") or isinstance(error, msgspec.ValidationError):
            raise RecordingError(f"{path}:{number}: {printable(str(error))}") from error
        cut = "the line is cut off, the lines before it are fine"
        raise CutOffError(f"{path}:{number}: {printable(str(error))}; {cut}") from error


class _Version(msgspec.Struct):
    format: str


_VERSION: Final = msgspec.json.Decoder(_Version)


def _looks_like_recording(path: Path) -> bool:
    try:
        first = next(read_lines(path), None)
    except RecordingError:
        return True
    return first is not None and b'"format"' in first[1] and b"hpa-recording/" in first[1]
