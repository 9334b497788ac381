"""The recording format `hpa-recording/1`, and what all versions share: lines of files (docs/recording-format.md)."""

import gzip
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from controller.wire.errors import printable
from controller.wire.shapes import Int32

FORMAT: Final = "hpa-recording/1"
FORMATS: Final = (FORMAT, "hpa-recording/2")
# A tick with thousands of pods has a few megabytes; beyond this a line is no recording but an accident.
LINE_BYTES_MAX: Final = 256 * 1024 * 1024
_GZIP: Final = b"\x1f\x8b"
_NO_RECORDING: Final = f'it is no recording: one begins with a header line such as {{"format":"{FORMATS[-1]}", …}}'


class RecordingError(ValueError):
    """A file is no readable recording; the message begins with file and, where there is one, line."""


class CutOffError(RecordingError):
    """A file ends in the middle of something; the lines before are fine."""


class Settings(msgspec.Struct, rename="camel"):
    """The header's `settings`; durations in seconds, the tolerance a ratio."""

    sync_period: int = 15
    tolerance: float = 0.1
    downscale_stabilization: int = 300
    cpu_initialization_period: int = 300
    initial_readiness_delay: int = 30
    feature_gates: dict[str, bool] | None = None


class Header(msgspec.Struct):
    """The first line. `hpa` is the HorizontalPodAutoscaler as JSON."""

    format: str
    name: str
    start: str
    hpa: dict[str, Any]
    about: str = ""
    settings: Settings = msgspec.field(default_factory=Settings)


class Scale(msgspec.Struct, rename="camel"):
    """A tick's scale: counts and selector, or `error`."""

    spec: Int32 = 0
    status: Int32 = 0
    selector: str = ""
    error: str | None = None
    update_errors: list[str] | None = None


class Ready(msgspec.Struct):
    """The Ready condition; `since` in seconds from the start."""

    status: str
    since: int


class Container(msgspec.Struct, rename="camel"):
    """A container of a pod."""

    name: str
    requests: dict[str, str] | None = None
    restart_policy: str | None = None


class Pod(msgspec.Struct, rename="camel"):
    """A pod; times in seconds from the start, None for not set."""

    phase: str = ""
    labels: dict[str, str] | None = None
    start: int | None = None
    ready: Ready | None = None
    deleted: int | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    pod_requests: dict[str, str] | None = None


class PodUsage(msgspec.Struct):
    """An item of metrics.k8s.io: end of the window and its length in seconds, usage by container and resource."""

    t: int
    window: int
    usage: dict[str, dict[str, str]]


class ResourceAnswer(msgspec.Struct):
    """The answer of metrics.k8s.io; None and no pods are an empty list."""

    error: str | None = None
    pods: dict[str, PodUsage] | None = None


class PodSample(msgspec.Struct):
    """A custom metric's sample of a pod."""

    t: int
    value: str
    window: int | None = None


class PodsAnswer(msgspec.Struct):
    """The answer of custom.metrics.k8s.io for pods."""

    error: str | None = None
    pods: dict[str, PodSample] | None = None


class ObjectAnswer(msgspec.Struct):
    """The answer of custom.metrics.k8s.io for one object."""

    t: int = 0
    value: str | None = None
    error: str | None = None


class ExternalAnswer(msgspec.Struct):
    """The answer of external.metrics.k8s.io."""

    t: int = 0
    values: list[str] | None = None
    error: str | None = None


class Metrics(msgspec.Struct):
    """Every answer available at a sync."""

    resource: ResourceAnswer | None = None
    pods: dict[str, PodsAnswer] | None = None
    object: dict[str, ObjectAnswer] | None = None
    external: dict[str, ExternalAnswer] | None = None


class Outcome(msgspec.Struct, rename="camel"):
    """What a sync decided: `status` as JSON without condition messages, `events` as [type, reason]."""

    scaled_to: int | None
    status: dict[str, Any]
    status_writes: int
    events: list[tuple[str, str]]


class Tick(msgspec.Struct, rename="camel"):
    """One sync, `t` seconds after the start."""

    t: int
    scale: Scale
    metrics: Metrics = msgspec.field(default_factory=Metrics)
    hpa_spec: dict[str, Any] | None = None
    pods: dict[str, Pod | None] | None = None
    outcome: Outcome | None = None


class Recording:
    """One file: its header, and its ticks read one at a time."""

    def __init__(self, path: Path) -> None:
        """Open the file and read the header.

        Raises:
            RecordingError: the file cannot be read, is empty, or its first line is no header of a format we know.
        """
        self.path = path
        self._lines = read_lines(path)
        first = first_line(path, self._lines)
        # Before anything else of it: another version may have other fields.
        check_format(path, *first, (FORMAT,))
        self.header: Header = decoded(path, *first, _HEADER)

    def ticks(self) -> Iterator[tuple[int, Tick]]:
        """Line number and tick, once, in order.

        Raises:
            RecordingError: a line is malformed, cut off, or earlier than the one before.
        """
        previous: int | None = None
        for number, line in self._lines:
            tick = decoded(self.path, number, line, _TICK)
            if previous is not None and tick.t <= previous:
                raise RecordingError(
                    f"{self.path}:{number}: t is {tick.t}, after {previous} on the tick before; ticks must be in order"
                )
            previous = tick.t
            yield number, tick


def find(paths: list[Path]) -> list[Path]:
    """The recordings among files and folders: files as given, folders searched for `*.jsonl` and `*.jsonl.gz`, sorted.

    A folder's files that do not begin with a recording's header (other JSON lines) are left out.

    Raises:
        RecordingError: a path does not exist or cannot be looked at, or a folder holds no recording.
    """
    found: list[Path] = []
    for path in paths:
        try:
            folder, exists = path.is_dir(), path.exists()
            candidates = sorted((*path.rglob("*.jsonl"), *path.rglob("*.jsonl.gz"))) if folder else []
        except OSError as error:
            raise RecordingError(f"{path}: {(error.strerror or str(error)).lower()}") from error
        if folder:
            recordings = [each for each in candidates if each.is_file() and _looks_like_recording(each)]
            if not recordings:
                raise RecordingError(f"{path}: no recordings (*.jsonl, *.jsonl.gz) in this folder")
            found.extend(recordings)
        elif exists and not path.is_file():
            raise RecordingError(f"{path}: not a file; what comes from a pipe has to be stored first")
        elif exists:
            found.append(path)
        else:
            raise RecordingError(f"{path}: no such file or folder")
    return found


# --- lines of any version ------------------------------------------------------------------------


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
        raise RecordingError(f"{path}: {error.strerror or error}") from error


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
_HEADER: Final = msgspec.json.Decoder(Header)
_TICK: Final = msgspec.json.Decoder(Tick)


def _looks_like_recording(path: Path) -> bool:
    try:
        first = next(read_lines(path), None)
    except RecordingError:
        return True
    return first is not None and b'"format"' in first[1] and b"hpa-recording/" in first[1]
