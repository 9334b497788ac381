"""The metrics APIs as a process of their own, cheap enough not to be what is measured.

`python -m tests.bench_cluster.stub CELL CERTIFICATE KEY TICK_S` listens on loopback, prints its port and obeys lines on
standard input: ``move`` and ``rest`` begin and end the movement of the load, ``level NUMBER`` changes it; each is
answered by ``done``. It ends with its input.
"""

import asyncio
import datetime as dt
import ssl
import sys
from http import HTTPStatus
from typing import cast

import uvloop

from tests.bench_cluster.loads import REST, Answers, Delay, load_nano
from tests.bench_cluster.populations import parse

SLOW_S = 2.0
_END_OF_HEAD = b"\r\n\r\n"
_NOTHING = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"NotFound","code":404}'


class MovingLoad:
    """The load of now."""

    def __init__(self, loop: asyncio.AbstractEventLoop, tick_s: float) -> None:
        self._loop = loop
        self._tick_s = tick_s
        self._level = REST
        self._tick_at_rest: int | None = None

    def nano(self) -> int:
        """The load of each pod, in billionths."""
        return load_nano(self._tick(), self._level)

    def obey(self, order: str) -> None:
        """Does what a line asks for. Raises ValueError for what is no order."""
        match order.split():
            case ["rest"]:
                self._tick_at_rest = self._tick()
            case ["move"]:
                self._tick_at_rest = None
            case ["level", number]:
                self._level = float(number)
            case _:
                raise ValueError(f"{order!r} is none of: move, rest, level NUMBER")

    def _tick(self) -> int:
        if self._tick_at_rest is not None:
            return self._tick_at_rest
        return int(self._loop.time() / self._tick_s)


class _Connection(asyncio.Protocol):
    """One connection of kube-apiserver, which sends GET requests without bodies, one after another."""

    def __init__(self, answers: Answers, load: MovingLoad) -> None:
        self._answers = answers
        self._load = load
        self._received = b""
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        # uvloop's own class, which only behaves like asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # asyncio's signature
        """See asyncio.Protocol."""
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        self._received += data
        while _END_OF_HEAD in self._received:
            head, _, self._received = self._received.partition(_END_OF_HEAD)
            target = head.split(b" ", 2)[1].decode()
            match self._answers.delay(target):
                case Delay.NONE:
                    self._answer(target)
                case Delay.SLOW:
                    self._loop.call_later(SLOW_S, self._answer, target)
                case Delay.NEVER:
                    pass

    def _answer(self, target: str) -> None:
        if self._transport is None:
            return
        now = dt.datetime.now(dt.UTC)  # noqa: TID251  # samples are dated by the wall clock
        body = self._answers.body(target, self._load.nano(), now)
        status = HTTPStatus.OK if body is not None else HTTPStatus.NOT_FOUND
        body = _NOTHING if body is None else body
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
        self._transport.writelines((f"{head}Content-Length: {len(body)}\r\n\r\n".encode(), body))


async def serve(cell: str, certificate: str, key: str, tick_s: float) -> None:
    """Serves until standard input ends."""
    loop = asyncio.get_running_loop()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    answers, load = Answers(parse(cell)), MovingLoad(loop, tick_s)
    server = await loop.create_server(lambda: _Connection(answers, load), "127.0.0.1", 0, ssl=context, backlog=1024)
    orders = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    _say(str(server.sockets[0].getsockname()[1]))
    while line := await orders.readline():
        load.obey(line.decode().strip())
        _say("done")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    """Serve as the command line says."""
    cell, certificate, key, tick_s = sys.argv[1:]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(cell, certificate, key, float(tick_s)))


if __name__ == "__main__":
    main()
