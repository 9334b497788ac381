"""The surfaces that take bytes from elsewhere, each with its sound documents and what it may say about others."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from controller.kube.errors import error_of
from controller.kube.framing import Lines, LineTooLong
from controller.kube.list_watch import decode_watched_autoscaler, decode_watched_pod
from controller.manifest import render
from controller.manifest.admission import DefaultGates
from controller.manifest.lint import lint
from controller.manifest.load import documents
from controller.manifest.query_annotation import read_queries
from controller.promql.literals import PromqlError
from controller.promql.queries import confined
from controller.recording import timeline
from controller.recording.course import grouped
from controller.recording.lines import RecordingError
from controller.recording.variants import AS_RECORDED, Variant
from controller.wire.errors import WireError
from controller.wire.objects import decode_bookmark, decode_list, decode_watch_line, git_version
from controller.wire.samples import decode_external_values, decode_metric_values
from controller.wire.scales import decode_scale, decode_workload
from tests.sweep import corpus
from tests.sweep.damage import encoded
from tests.wire.lists import each_pod_metrics

RECORDING_FILE: Final = "sweep.jsonl"
MANIFEST_FILE: Final = "sweep.yaml"


class Said(msgspec.Struct, frozen=True):
    """What came of an input: whether it was taken, and every message about it.

    `placed` False: the surface has no places to name (errors of HTTP).
    """

    taken: bool
    messages: tuple[str, ...] = ()
    placed: bool = True


class Surface(msgspec.Struct, frozen=True):
    """A decoder, lint or replay. `read` raises nothing at all: whatever it raises is a finding.

    `in_lines`: its documents are lines of JSON, each to be damaged by itself.
    """

    name: str
    documents: tuple[bytes, ...]
    read: Callable[[bytes], Said]
    in_lines: bool = False


def surfaces() -> tuple[Surface, ...]:
    """All of them."""
    manifests = tuple(map(encoded, (corpus.autoscaler_v1(), corpus.autoscaler(), *corpus.manifests())))
    recordings = tuple(b"".join(encoded(line) + b"\n" for line in lines) for lines in corpus.recordings())
    return (
        Surface("pod", (encoded(corpus.pod()),), _decoder(decode_watched_pod)),
        Surface("autoscaler", (encoded(corpus.autoscaler()), encoded(corpus.autoscaler_v1())), _autoscaler),
        Surface("scale", (encoded(corpus.scale()),), _decoder(decode_scale)),
        Surface("workload", (encoded(corpus.workload()),), _decoder(lambda body: decode_workload(body, "Deployment"))),
        Surface(
            "replication controller",
            (encoded(corpus.replication_controller()),),
            _decoder(lambda body: decode_workload(body, "ReplicationController")),
        ),
        Surface("pod metrics", (encoded(corpus.pod_metrics()),), _pod_metrics),
        Surface(
            "metric values",
            (encoded(corpus.metric_values()), encoded(corpus.metric_values("v1beta1"))),
            _decoder(decode_metric_values),
        ),
        Surface("external values", (encoded(corpus.external_values()),), _decoder(decode_external_values)),
        Surface("list", (encoded(corpus.listing()),), _decoder(decode_list)),
        Surface("watch line", (encoded(corpus.watch_line()), encoded(corpus.watch_line("ADDED"))), _watch),
        Surface("bookmark", (encoded(corpus.bookmark()),), _decoder(decode_bookmark)),
        Surface("error answer", (encoded(corpus.failure()),), _failure),
        Surface("queries", (encoded(corpus.queries()),), _queries),
        Surface("lint", manifests, _lint),
        Surface("replay", recordings, _replay, in_lines=True),
        Surface("replay of a live run", (corpus.live_recording(),), _replay, in_lines=True),
    )


def _decoder(decode: Callable[[bytes], object]) -> Callable[[bytes], Said]:
    def read(data: bytes) -> Said:
        try:
            decode(data)
        except WireError as error:
            return Said(taken=False, messages=(str(error),))
        return Said(taken=True)

    return read


def _autoscaler(data: bytes) -> Said:
    try:
        watched, _ = decode_watched_autoscaler(data)
    except WireError as error:
        return Said(taken=False, messages=(str(error),))
    return Said(taken=watched.problem is None, messages=() if watched.problem is None else (watched.problem,))


def _pod_metrics(data: bytes) -> Said:
    try:
        items = each_pod_metrics(data)
    except WireError as error:
        return Said(taken=False, messages=(str(error),))
    problems = tuple(str(item) for item in items if isinstance(item, WireError))
    return Said(taken=not problems, messages=problems)


def _watch(data: bytes) -> Said:
    """A stream in two pieces: lines out of it, events out of lines, pods out of events."""
    lines, messages = Lines(), []
    half = len(data) // 2
    try:
        for line in _fed(lines, data[:half], data[half:], b"\n"):
            try:
                decode_watched_pod(bytes(decode_watch_line(line).object))
            except WireError as error:
                messages.append(str(error))
    except LineTooLong as error:
        messages.append(str(error))
    return Said(taken=not messages, messages=tuple(messages))


def _fed(lines: Lines, *chunks: bytes) -> Iterator[bytes]:
    for chunk in chunks:
        yield from lines.feed(chunk)


def _failure(data: bytes) -> Said:
    git_version(data)
    return Said(taken=True, messages=(str(error_of(503, {"Retry-After": "1"}, data)),), placed=False)


def _queries(data: bytes) -> Said:
    """The text of an annotation, and what becomes of each query in it."""
    found = read_queries(data.decode(errors="replace"))
    messages = [found.problem] if found.problem else []
    for query in found.by_metric.values():
        try:
            confined(query, "shop")
        except PromqlError as error:
            messages.append(str(error))
    return Said(taken=not messages, messages=tuple(messages), placed=False)


def _lint(data: bytes) -> Said:
    results = lint(documents(MANIFEST_FILE, data), DefaultGates())
    for line in render.json_lines(results):
        line.encode()
    # The last line is the summary.
    messages = tuple(render.text(results)[:-1])
    return Said(taken=not any(result.errors for result in results), messages=messages)


def _replay(data: bytes) -> Said:
    path = _folder() / RECORDING_FILE
    path.write_bytes(data)
    notes: list[str] = []
    try:
        [opening] = grouped([path])
        course = opening()
        notes = course.notes
        for frame in course.frames((AS_RECORDED, Variant("what if", ("tolerance=0.2",)))):
            for moment in frame.moments:
                scaled_to = None if moment.outcome is None else moment.outcome.scaled_to
                timeline.line(frame.t, scaled_to, moment.decision, frame.hpa)
                msgspec.json.encode(moment.outcome)
    except RecordingError as error:
        notes = [*notes, str(error)]
    return Said(taken=not notes, messages=tuple(note.replace(str(path), RECORDING_FILE) for note in notes))


_folders: Final = contextlib.ExitStack()
_made: Final[list[Path]] = []


def _folder() -> Path:
    """A folder for the recording that is being read; it goes with the process."""
    if not _made:
        _made.append(Path(_folders.enter_context(tempfile.TemporaryDirectory(prefix="sweep-"))))
    return _made[0]
