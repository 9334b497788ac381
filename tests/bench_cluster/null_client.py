"""A client that sends the requests of a controller and thinks nothing: what two cores can carry at best.

`python -m tests.bench_cluster.null_client PLAN` sends, period after period, each request of the plan at its moment of
the period, over a few connections that are kept open, and reads watches to nowhere. It ends when it is ended.
"""

import asyncio
import contextlib
import itertools
import ssl
import sys
from pathlib import Path

import msgspec
import uvloop

from tests.trust import trusting

_CONNECTIONS = 48
_NUMBER = b"@number@"
_LIMIT_BYTES = 1 << 25


class Planned(msgspec.Struct, frozen=True):
    """One request of every period."""

    offset_s: float
    method: str
    target: str
    body: str = ""
    """JSON, in which ``@number@`` becomes another number each time; empty for reads."""


class Plan(msgspec.Struct, frozen=True):
    """What to send where."""

    host: str
    port: int
    authority: str
    """The file with the certificate of the server's authority."""
    token: str
    period_s: float
    requests: list[Planned]
    watches: list[str]


class Connection:
    """One connection to the API server."""

    def __init__(self, plan: Plan, context: ssl.SSLContext | None) -> None:
        """Without a context it speaks plain HTTP."""
        self._plan = plan
        self._context = context
        self._head = (
            f" HTTP/1.1\r\nHost: {plan.host}:{plan.port}\r\nAuthorization: Bearer {plan.token}\r\n"
            "User-Agent: bench-null\r\nAccept: application/json\r\n"
        )
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, planned: Planned, number: int) -> None:
        """Sends a request and reads the answer, whatever it is. Raises OSError or EOFError."""
        reader = await self._begin(planned, number)
        head = await reader.readuntil(b"\r\n\r\n")
        length = _length(head)
        if length is not None:
            await reader.readexactly(length)
            return
        while size := int(await reader.readuntil(b"\r\n"), 16):
            await reader.readexactly(size + 2)
        await reader.readexactly(2)

    async def drain(self, target: str) -> None:
        """Sends a GET and reads until the answer ends, which that of a watch hardly does."""
        reader = await self._begin(Planned(0.0, "GET", target), 0)
        while await reader.read(1 << 16):
            pass
        self.close()

    def close(self) -> None:
        """Closes it; the next request opens it anew."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def _begin(self, planned: Planned, number: int) -> asyncio.StreamReader:
        if self._streams is None:
            self._streams = await asyncio.open_connection(
                self._plan.host, self._plan.port, ssl=self._context, limit=_LIMIT_BYTES
            )
        reader, writer = self._streams
        body = planned.body.encode().replace(_NUMBER, b"%d" % number)
        head = f"{planned.method} {planned.target}{self._head}"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        writer.write(head.encode() + b"\r\n" + body)
        await writer.drain()
        return reader


def _length(head: bytes) -> int | None:
    """The Content-Length of an answer; None when it comes in chunks."""
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return None


async def play(plan: Plan) -> None:
    """Sends the plan again and again, until cancelled."""
    loop = asyncio.get_running_loop()
    context = trusting(plan.authority)
    due: asyncio.Queue[tuple[Planned, int]] = asyncio.Queue()

    async def work() -> None:
        connection = Connection(plan, context)
        while True:
            planned, number = await due.get()
            try:
                await connection.send(planned, number)
            except (OSError, EOFError):
                connection.close()

    async def watch(target: str) -> None:
        while True:
            with contextlib.suppress(OSError, EOFError):
                await Connection(plan, context).drain(target)
            await asyncio.sleep(1.0)

    async with asyncio.TaskGroup() as group:
        for target in plan.watches:
            group.create_task(watch(target))
        for _ in range(_CONNECTIONS):
            group.create_task(work())
        start_s = loop.time()
        for number in itertools.count(1):
            for planned in plan.requests:
                moment_s = start_s + number * plan.period_s + planned.offset_s
                if (ahead_s := moment_s - loop.time()) > 0:
                    await asyncio.sleep(ahead_s)
                due.put_nowait((planned, number))


def main() -> None:
    """Play the plan of the command line."""
    plan = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Plan)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(play(plan))


if __name__ == "__main__":
    main()
