"""`hpa-controller record`: what a running controller decides for one HPA, for some time, into a file."""

import argparse
import asyncio
import gzip
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import IO, Final, cast

import msgspec

from controller.cli.outcome import BAD_INPUT, DONE, UNREACHED, complain, say
from controller.clock import SystemClock
from controller.decide.instants import NANOSECONDS, format_rfc3339
from controller.recording import timeline
from controller.recording.format_v2 import Header, Tick
from controller.recording.live import decided_again
from controller.wire.durations import parse_duration
from controller.wire.errors import printable

USAGE = "NAMESPACE/NAME [--for DURATION] [-o FILE] [FLAGS]"
SILENCE_S: Final = 30.0
"""The controller sends at least a blank line every ten seconds."""

LINE_BYTES_MAX: Final = 64 * 1024 * 1024
ENDED: Final = "the controller at {} has ended the recording: it stops, or we were too slow for it"
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
        type=_duration,
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
    parser.add_argument(
        "--introspection-address",
        default="127.0.0.1:8082",
        metavar="HOST:PORT",
        help="where the controller that leads listens for introspection (default 127.0.0.1:8082)",
    )


def run(parsed: argparse.Namespace) -> int:
    """Record until the time is over, Ctrl-C, or the controller is gone."""
    key, name = parsed.hpa, parsed.output or _default_name(parsed.hpa)
    taken = _Taken(show=name != "-")
    problem: Unrecordable | None = None
    try:
        with _opened(name) as file:
            try:
                asyncio.run(_record(parsed.introspection_address, key, parsed.duration_s, taken.into(file)))
            except Unrecordable as error:
                problem = error
    except OSError as error:
        return complain(f"{name}: {(error.strerror or str(error)).lower()}", BAD_INPUT)
    if taken.header is None:
        # What has no header is no recording.
        if name != "-":
            Path(name).unlink(missing_ok=True)
        return complain(str(problem or "nothing came"), UNREACHED if problem is None else problem.code)
    if problem is not None:
        complain(f"{problem}; partial: {taken.syncs} syncs are recorded", problem.code)
    if name != "-":
        say(f"{taken.syncs} syncs of {key} in {name}; `hpa-controller replay {name}` shows them")
    return DONE if problem is None else problem.code


class _Taken:
    """Lines on their way into the file, shown as they pass."""

    def __init__(self, *, show: bool) -> None:
        self._show = show
        self.header: Header | None = None
        self.syncs = 0

    def into(self, file: IO[bytes]) -> Callable[[bytes], None]:
        """Takes a line: into the file at once, so that nothing is lost whatever happens next."""

        def take(line: bytes) -> None:
            file.write(line)
            file.flush()
            if self.header is None:
                self.header = msgspec.json.decode(line, type=Header)
                return
            self.syncs += 1
            if self._show:
                tick = msgspec.json.decode(line, type=Tick)
                outcome, decision = decided_again(tick, self.header.settings)
                say(timeline.line(tick.t, None if outcome is None else outcome.scaled_to, decision))
                sys.stdout.flush()

        return take


async def _record(address: str, key: str, duration_s: float | None, take: Callable[[bytes], None]) -> None:
    """Take lines until the time is over or a signal comes.

    Raises:
        Unrecordable: the controller does not answer, or has ended the stream.
    """
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
        async with asyncio.timeout(duration_s) as limit, _stream(address, key) as lines:
            async for line in lines:
                take(line)
        raise Unrecordable(ENDED.format(address))
    except TimeoutError:
        if not limit.expired():
            raise
    except asyncio.CancelledError:
        if not stopped:
            raise


@asynccontextmanager
async def _stream(address: str, key: str) -> AsyncIterator[AsyncIterator[bytes]]:
    """The lines of the controller's page, blank ones left out.

    The way to a controller that is not at an address of ours (a port-forward to its pod) begins here.

    Raises:
        Unrecordable: it cannot be had, or breaks off.
    """
    import aiohttp  # noqa: PLC0415 - `--help` need not wait for it

    timeout = aiohttp.ClientTimeout(total=None, sock_connect=SILENCE_S, sock_read=SILENCE_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, read_bufsize=LINE_BYTES_MAX, trust_env=False) as session,
            session.get(f"http://{address}/record/{key}") as answer,
        ):
            if answer.status != HTTPStatus.OK:
                raise _refusal(address, answer.status, await answer.text())
            yield (line async for line in answer.content if line.strip())
    except aiohttp.ClientConnectorError as error:
        # asyncio puts many words around a refused connection, but keeps the number; those of names are negative.
        number = error.os_error.errno or 0
        reason = (os.strerror(number) if number > 0 else error.os_error.strerror or str(error.os_error)).lower()
        where = "--introspection-address says where the controller listens"
        raise Unrecordable(f"{address} cannot be reached: {reason}; {where}") from error
    except aiohttp.ServerTimeoutError as error:
        raise Unrecordable(f"{address} has been silent for {SILENCE_S:.0f} s") from error
    except aiohttp.ClientPayloadError as error:
        raise Unrecordable(ENDED.format(address)) from error
    except aiohttp.InvalidURL as error:
        raise Unrecordable(f"{address!r} is no address such as 127.0.0.1:8082", BAD_INPUT) from error
    except (aiohttp.ClientError, ValueError) as error:
        raise Unrecordable(f"{address} does not answer: {printable(str(error) or type(error).__name__)}") from error


def _refusal(address: str, status: int, text: str) -> Unrecordable:
    """What the controller says, or that it does not know the page."""
    try:
        said = msgspec.json.decode(text, type=dict[str, str])["error"]
    except (msgspec.MsgspecError, KeyError):
        older = "it is no hpa-controller, or an older one without recordings"
        return Unrecordable(f"{address} answers {status} to a request for a recording: {older}", BAD_INPUT)
    return Unrecordable(printable(said), BAD_INPUT)


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    if name == "-":
        yield sys.stdout.buffer
        return
    with gzip.open(name, "wb") if name.endswith(".gz") else Path(name).open("wb") as file:
        yield cast("IO[bytes]", file)


def _default_name(key: str) -> str:
    at = format_rfc3339(SystemClock().now().wall_ns).replace("-", "").replace(":", "")
    return f"{key.replace('/', '-')}-{at}.jsonl.gz"


def _key(text: str) -> str:
    namespace, separator, name = text.partition("/")
    if not separator or not _NAME.fullmatch(namespace) or not _NAME.fullmatch(name):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAMESPACE/NAME")
    return text


def _duration(text: str) -> float:
    try:
        duration_ns = parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if duration_ns <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is too short")
    return duration_ns / NANOSECONDS
