"""`hpa-controller record`: what a running controller decides for one HPA, for some time, into a file."""

import argparse
import asyncio
import gzip
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Self, cast

import msgspec

from controller.cli.explain_flags import add_whereabouts, whereabouts_of
from controller.cli.outcome import BAD_INPUT, DONE, NO, UNREACHED, complain, nobody_reads, say
from controller.clock import SystemClock
from controller.decide.instants import format_rfc3339
from controller.decide.spec import Settings
from controller.flag_values import seconds
from controller.recording import timeline
from controller.recording.format_v2 import Header, Tick
from controller.recording.live import decided_again
from controller.wire.errors import printable

if TYPE_CHECKING:
    from controller.cli.explain_reach import Whereabouts

USAGE = "NAMESPACE/NAME [--for DURATION] [-o FILE] [FLAGS]"
SILENCE_S: Final = 30.0
"""The controller sends at least a blank line every ten seconds."""

LINE_BYTES_MAX: Final = 64 * 1024 * 1024
ENDED: Final = (
    "the recording has ended early: the controller stops, leads no longer or is out of reach, the HPA is gone, or we "
    "were too slow"
)
_NAME: Final = re.compile("[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


class Unrecordable(Exception):
    """Nothing comes, or nothing more; the message says why and `code` is the exit code."""

    def __init__(self, message: str, code: int = UNREACHED) -> None:
        super().__init__(message)
        self.code = code


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Which HPA, for how long, where to, and from where."""
    parser.add_argument("hpa", type=_key, metavar="NAMESPACE/NAME", help="the HPA")
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
    # These libraries take half a second, which `--help` and bad flags need not wait for.
    from controller.cli.explain_reach import NotReached  # noqa: PLC0415
    from controller.kube.kubeconfig_files import ConfigurationError  # noqa: PLC0415

    key, name = parsed.hpa, parsed.output or _default_name(parsed.hpa)
    problem: Unrecordable | None = None
    try:
        with _Taken(name) as taken:
            try:
                asyncio.run(_record(whereabouts_of(parsed), key, parsed.duration_s, taken.take))
            except Unrecordable as error:
                problem = error
            except NotReached as error:
                problem = Unrecordable(str(error)) if taken.header is None else Unrecordable(ENDED)
            except ConfigurationError as error:
                problem = Unrecordable(f"{error}; or give --introspection-address HOST:PORT", BAD_INPUT)
    except (OSError, _UnwritableError) as error:
        if isinstance(error.__cause__, BrokenPipeError):
            nobody_reads()  # `record -o - | head` has what it wants
            return DONE
        # Closing a file that is full fails once more.
        reason = str(error) if isinstance(error, _UnwritableError) else (error.strerror or str(error)).lower()
        kept = "" if taken.header is None else f"; {taken.syncs} syncs are recorded"
        return complain(f"{name}: {reason}{kept}", BAD_INPUT)
    if taken.header is None:
        return complain(str(problem or "nothing came"), UNREACHED if problem is None else problem.code)
    if problem is not None:
        complain(f"{problem}; partial: {taken.syncs} syncs are recorded", problem.code)
    if name != "-":
        say(f"{taken.syncs} syncs of {key} in {name}; `hpa-controller replay {name}` shows them")
    return DONE if problem is None else problem.code


class _Taken:
    """Lines on their way into the file, shown as they pass. In a block, at whose end the file is closed.

    There is no file, and one from before stays as it is, until a header has come: what has none is no recording.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._show = name != "-"
        self._file: IO[bytes] | None = None
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
            Unrecordable: it should be a header, and is none.
            _UnwritableError: the file can take no more.
        """
        begun = self.header
        header = begun or _header_of(line)
        try:
            if self._file is None:
                self._file = _opened(self._name)
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            # Who speaks to the controller takes an OSError for one of the connection.
            raise _UnwritableError((error.strerror or str(error)).lower()) from error
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
        except (msgspec.MsgspecError, UnicodeDecodeError, LookupError, ArithmeticError) as error:
            text = f"recorded, but another version has to show it: {printable(str(error))}"
        try:
            say(text)
            sys.stdout.flush()
        except BrokenPipeError:
            nobody_reads()  # the recording goes on for as long as was asked for
            self._show = False


async def _record(
    whereabouts: "Whereabouts", key: str, duration_s: float | None, take: Callable[[bytes], None]
) -> None:
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
            asyncio.timeout(duration_s) as limit,
            reached(whereabouts) as controller,
            controller.stream(f"/record/{key}", SILENCE_S) as (status, pieces),
        ):
            if status != HTTPStatus.OK:
                raise _refusal(controller.where, status, b"".join([piece async for piece in pieces]))
            await _taken(pieces, take)
        raise Unrecordable(ENDED)
    except TimeoutError:
        if not limit.expired():
            raise
    except asyncio.CancelledError:
        if not stopped:
            raise


async def _taken(pieces: AsyncIterator[bytes], take: Callable[[bytes], None]) -> None:
    """Take whole lines, blank ones left out."""
    begun = bytearray()
    async for piece in pieces:
        begun += piece
        if b"\n" not in piece:
            if len(begun) > LINE_BYTES_MAX:
                raise Unrecordable(f"a line is longer than {LINE_BYTES_MAX} bytes")
            continue
        *lines, rest = begun.split(b"\n")
        for line in lines:
            if line.strip():
                take(bytes(line) + b"\n")
        begun = rest


def _refusal(where: str, status: int, body: bytes) -> Unrecordable:
    """What the controller says, or that it does not know the page."""
    try:
        said = msgspec.json.decode(body, type=dict[str, str])["error"]
    except (msgspec.MsgspecError, UnicodeDecodeError, KeyError):
        older = "it is no hpa-controller, or an older one without recordings"
        return Unrecordable(f"{where} answers {status} to a request for a recording: {older}", NO)
    return Unrecordable(printable(said), NO)


class _UnwritableError(Exception):
    """The file can take no more; the message says why."""


def _header_of(line: bytes) -> Header:
    try:
        return msgspec.json.decode(line, type=Header)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Unrecordable(f"what answers sends no recording: {printable(str(error))}", NO) from error


def _opened(name: str) -> IO[bytes]:
    if name == "-":
        return sys.stdout.buffer
    return cast("IO[bytes]", gzip.open(name, "wb") if name.endswith(".gz") else Path(name).open("wb"))


def _default_name(key: str) -> str:
    at = format_rfc3339(SystemClock().now().wall_ns).replace("-", "").replace(":", "")
    return f"{key.replace('/', '-')}-{at}.jsonl.gz"


def _key(text: str) -> str:
    namespace, separator, name = text.partition("/")
    if not separator or not _NAME.fullmatch(namespace) or not _NAME.fullmatch(name):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAMESPACE/NAME")
    return text
