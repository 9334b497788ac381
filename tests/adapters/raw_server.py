"""A server that says exactly the bytes a test wants, for what no real server would say."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec

WAIT_S = 30
"""The bound of every wait; longer than any of them takes."""

CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


class Received(msgspec.Struct):
    """One request as it came; header names are in lower case, repeated headers keep their order."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]


Say = Callable[[Received, asyncio.StreamWriter], Awaitable[None]]
"""Answers one request; the connection ends when it closes the writer."""


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """A whole answer."""
    lines = (f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers, "", "")
    return "\r\n".join(lines).encode() + body


def chunk(body: bytes) -> bytes:
    return f"{len(body):x}\r\n".encode() + body + b"\r\n"


async def silent(_: Received, __: asyncio.StreamWriter) -> None:
    """Says nothing for as long as anybody waits."""
    await asyncio.Event().wait()


class RawServer:
    """`requests` are all that came, in order; `connections` counts how often a client connected."""

    def __init__(self, say: Say) -> None:
        self.say = say
        self.requests: list[Received] = []
        self.connections = 0
        self.url = ""
        self._serving: set[asyncio.Task[None]] = set()

    @property
    def open(self) -> int:
        """Connections that are still served."""
        return len(self._serving)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        self.connections += 1
        try:
            while not writer.is_closing():
                received = await _read(reader)
                if received is None:
                    return
                self.requests.append(received)
                await self.say(received, writer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            # The task belongs to asyncio's own callback, which would report a cancellation as an error.
            writer.transport.abort()
        finally:
            self._serving.discard(task)
            writer.close()

    async def stop(self) -> None:
        for task in list(self._serving):
            task.cancel()
        if self._serving:
            await asyncio.wait(self._serving, timeout=WAIT_S)


async def _read(reader: asyncio.StreamReader) -> Received | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines if line)]
    method, target, _ = first.split(" ")
    length = next((int(value) for name, value in headers if name == "content-length"), 0)
    return Received(method, target, headers, await reader.readexactly(length))


@asynccontextmanager
async def serving(say: Say | bytes, tls: ssl.SSLContext | None = None) -> AsyncIterator[RawServer]:
    """A server on loopback that answers as told, until the block ends; `bytes` are said to every request."""
    server = RawServer(_always(say) if isinstance(say, bytes) else say)
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0, ssl=tls, limit=2**20)
    port = listener.sockets[0].getsockname()[1]
    server.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{port}"
    try:
        yield server
    finally:
        listener.close()
        await server.stop()
        await listener.wait_closed()


def _always(said: bytes) -> Say:
    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(said)

    return say


def cut_after(said: bytes) -> Say:
    """Says some bytes and closes the connection."""

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        await writer.drain()
        writer.close()

    return say
