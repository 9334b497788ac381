"""`hpa-controller record`: what a running controller decides for one HPA, for some time, into a file."""

import argparse
import asyncio
import gzip
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import IO, Final, Self, cast
from urllib.parse import quote

import msgspec

from controller.cli.explain_flags import add_hpa, add_whereabouts, hpa_of, misnamed, whereabouts_of
from controller.cli.outcome import BAD_INPUT, DONE, NO, UNREACHED, UNREAD, complain, nobody_reads, say
from controller.clock import SystemClock
from controller.decide.instants import format_rfc3339
from controller.decide.spec import Settings
from controller.explain.answer import Refusal
from controller.explain.findings import plural
from controller.flag_values import seconds
from controller.os_errors import why
from controller.recording import timeline
from controller.recording.format_v2 import Header, Tick
from controller.recording.live import decided_again
from controller.wire.errors import UNDECODABLE, escaped, printable

USAGE = "[NAMESPACE/]NAME [-n NAMESPACE] [--for DURATION] [-o FILE] [FLAGS]"
SILENCE_S: Final = 30.0
"""The controller sends at least a blank line every ten seconds."""

LINE_BYTES_MAX: Final = 64 * 1024 * 1024
_ENDED: Final = "the recording has ended early"
_UNTOLD: Final = f"{_ENDED}: the controller stops or is out of reach"
_NOTHING: Final = "nothing came in this time; is that the port of --introspection-bind-address?"
_REFUSAL: Final = b'{"error":'


class Unrecordable(Exception):
    """Nothing comes, or nothing more; the message says why and `code` is the exit code."""

    def __init__(self, message: str, code: int = UNREACHED) -> None:
        super().__init__(message)
        self.code = code


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Which HPA, for how long, where to, and from where."""
    add_hpa(parser)
    parser.add_argument(
        "--for",
        type=seconds,
        default=None,
        dest="duration_s",
        metavar="DURATION",
        help="end after this time, such as 10m (default: at Ctrl-C)",
    )
    parser.add_argument(
        "-o",
        "--output",
        default="",
        metavar="FILE",
        help="where to; compressed if it ends in .gz, - for standard output (default NAMESPACE-NAME-TIME.jsonl.gz)",
    )
    add_whereabouts(parser)


def run(parsed: argparse.Namespace) -> int:
    """Record until the time is over, Ctrl-C, or the controller is gone."""
    if problem := misnamed(parsed):
        return complain(f"record: {problem}", BAD_INPUT)
    taken = _Taken(parsed.output)
    try:
        ended = _ended(parsed, taken)
    except (OSError, _UnwritableError) as error:
        if isinstance(error.__cause__, BrokenPipeError):
            nobody_reads()  # `record -o - | head` has what it wants
            return UNREAD
        # Closing a file that is full fails once more.
        reason = str(error) if isinstance(error, _UnwritableError) else why(error)
        kept = "" if taken.header is None else f"; {_are_recorded(taken.syncs)}"
        return complain(f"{taken.name}: {reason}{kept}", BAD_INPUT)
    if taken.header is None:
        return complain(str(ended or _NOTHING), UNREACHED if ended is None else ended.code)
    if ended is not None:
        complain(f"{ended}; partial: {_are_recorded(taken.syncs)}", ended.code)
    if taken.name != "-":
        what = f"{taken.syncs} {plural('sync', taken.syncs)} of {taken.header.hpa} in {taken.name}"
        say(f"{what}; `hpa-controller replay {taken.name}` shows them")
    return DONE if ended is None else ended.code


def _ended(parsed: argparse.Namespace, taken: "_Taken") -> Unrecordable | None:
    """Record; gives why it ended before its time. Raises OSError or _UnwritableError for the file."""
    # These libraries take half a second, which `--help` and bad flags need not wait for.
    from controller.cli.explain_whereabouts import NotReached  # noqa: PLC0415
    from controller.kube.kubeconfig_files import ConfigurationError  # noqa: PLC0415

    with taken:
        try:
            asyncio.run(_record(parsed, taken.take))
        except Unrecordable as error:
            return error
        except NotReached as error:
            return Unrecordable(str(error) if taken.header is None else _UNTOLD)
        except ConfigurationError as error:
            return Unrecordable(f"{error}; or give --introspection-address HOST:PORT", BAD_INPUT)
    return None


class _Taken:
    """Lines on their way into the file, shown as they pass. In a block, at whose end the file is closed.

    There is no file, and one from before stays as it is, until a header has come: what has none is no recording. `name`
    is the file's, empty until the header says which HPA it is named after.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._show = name != "-"
        self._file: IO[bytes] | None = None
        self._is_new = False
        self.header: Header | None = None
        self.syncs = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None and self._file is not sys.stdout.buffer:
            self._file.close()

    def take(self, line: bytes) -> None:
        """Take a line: into the file at once, so that nothing is lost whatever happens next.

        Raises:
            Unrecordable: it should be a header, and is none; or it says why there are no more.
            _UnwritableError: the file can take no more.
        """
        begun = self.header
        header = begun or _header_of(line)
        if line.startswith(_REFUSAL):
            raise Unrecordable(f"{_ENDED}: {_said(line)}")
        try:
            if self._file is None:
                self.name = self.name or _default_name(header.hpa)
                self._is_new = self._show and not os.path.lexists(self.name)
                self._file = _opened(self.name)
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            if self.header is None and self._is_new:
                with suppress(OSError):
                    Path(self.name).unlink(missing_ok=True)  # what has no header is no recording
            # Who speaks to the controller takes an OSError for one of the connection.
            raise _UnwritableError(why(error)) from error
        self.header = header
        if begun is not None:
            self.syncs += 1
            if self._show:
                self._shown(line, header.settings)

    def _shown(self, line: bytes, settings: Settings) -> None:
        try:
            tick = msgspec.json.decode(line, type=Tick)
            outcome, decision = decided_again(tick, settings)
            text = timeline.line(tick.t, None if outcome is None else outcome.scaled_to, decision)
        except (*UNDECODABLE, LookupError, ArithmeticError) as error:
            text = f"recorded, but another version has to show it: {printable(str(error))}"
        try:
            say(escaped(text))
            sys.stdout.flush()
        except BrokenPipeError:
            nobody_reads()  # the recording goes on for as long as was asked for
            self._show = False


async def _record(parsed: argparse.Namespace, take: Callable[[bytes], None]) -> None:
    """Take lines until the time is over or a signal comes.

    Raises:
        NotReached: the controller does not answer, or no longer.
        ConfigurationError: there is no usable kubeconfig.
        Unrecordable: it has said no, or ended the stream.
    """
    from controller.cli.explain_reach import reached  # noqa: PLC0415

    loop, current = asyncio.get_running_loop(), asyncio.current_task()
    assert current is not None  # noqa: S101 - a coroutine that runs is a task
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        current.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    try:
        async with (
            asyncio.timeout(parsed.duration_s) as limit,
            reached(whereabouts_of(parsed)) as controller,
            controller.stream(f"/record/{quote('/'.join(hpa_of(parsed, controller.namespace)))}", SILENCE_S) as (
                status,
                pieces,
            ),
        ):
            if status != HTTPStatus.OK:
                raise _refusal(controller.where, status, b"".join([piece async for piece in pieces]))
            await _taken(pieces, take)
        raise Unrecordable(_UNTOLD)
    except TimeoutError:
        if not limit.expired():
            raise
    except asyncio.CancelledError:
        if not stopped:
            raise


async def _taken(pieces: AsyncIterator[bytes], take: Callable[[bytes], None]) -> None:
    """Take whole lines, blank ones left out; what is no line at all, too."""
    begun, lines_taken = bytearray(), 0
    async for piece in pieces:
        begun += piece
        if b"\n" not in piece:
            if len(begun) > LINE_BYTES_MAX:
                raise Unrecordable(f"a line is longer than {LINE_BYTES_MAX} bytes")
            continue
        *lines, rest = begun.split(b"\n")
        for line in filter(bytes.strip, map(bytes, lines)):
            take(line + b"\n")
            lines_taken += 1
        begun = rest
    if begun.strip() and not lines_taken:
        take(bytes(begun) + b"\n")  # it may be a page of somebody else


def _refusal(where: str, status: int, body: bytes) -> Unrecordable:
    """What the controller says, or that it does not know the page."""
    said = _said(body)
    if not said:
        older = "is that the port of --introspection-bind-address? If so, it is too old to record"
        return Unrecordable(f"{where} answers {status} to a request for a recording: {older}", NO)
    return Unrecordable(said, NO)


def _said(body: bytes) -> str:
    """What the controller says; empty if it is nothing that one would say."""
    try:
        return printable(msgspec.json.decode(body, type=Refusal).error)
    except UNDECODABLE:
        return ""


class _UnwritableError(Exception):
    """The file can take no more; the message says why."""


def _header_of(line: bytes) -> Header:
    try:
        return msgspec.json.decode(line, type=Header)
    except UNDECODABLE as error:
        raise Unrecordable(f"what answers sends no recording: {printable(str(error))}", NO) from error


def _opened(name: str) -> IO[bytes]:
    if name == "-":
        return sys.stdout.buffer
    return cast("IO[bytes]", gzip.open(name, "wb") if name.endswith(".gz") else Path(name).open("wb"))


def _default_name(key: str) -> str:
    at = format_rfc3339(SystemClock().now().wall_ns).replace("-", "").replace(":", "")
    return f"{key.replace('/', '-')}-{at}.jsonl.gz"


def _are_recorded(count: int) -> str:
    return f"{count} {plural('sync', count)} {'is' if count == 1 else 'are'} recorded"
