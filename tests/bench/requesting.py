"""A status write over TLS: what it costs us, beside the same request of aiohttp's client, which sent it before."""

import asyncio
import gc
import ssl
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import aiohttp
import uvloop

from controller.clock import SystemClock
from controller.kube.client import Client
from controller.kube.connection import Connection
from controller.kube.credentials import Credentials, FixedCredentials
from controller.kube.kubeconfig import Access
from controller.kube.sessions import trust
from controller.kube.traffic import Traffic
from controller.ports import STATUS_SECOND
from controller.precedence import Turns
from controller.telemetry.instruments import PrometheusInstruments
from tests.bench.calibration import REPEATS
from tests.bench.measured import Figure
from tests.lab.certificates import make_certificate

WRITE_GOAL = 0.8
WRITES = 2_000
AT_ONCE = 4
_PATH = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/web/status"
_BODY = b'{"status":"' + b"x" * 1_400 + b'"}'
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2200\r\n\r\n" + b"x" * 2_200


def figures() -> list[Figure]:
    """CPU of the thread that asks; the server has a thread of its own."""
    with tempfile.TemporaryDirectory() as folder, _serving(Path(folder)) as (url, authority):
        ours_us, aiohttp_us = uvloop.run(_measured(url, authority))
    yardstick = f"times aiohttp's alone ({aiohttp_us:.0f} µs)"
    return [Figure("write a status over TLS", ours_us, "µs", yardstick, ours_us / aiohttp_us, WRITE_GOAL)]


async def _measured(url: str, authority: str) -> tuple[float, float]:
    credentials = FixedCredentials(Credentials("Bearer " + "x" * 900))
    connection = Connection(Access(url, "the benchmark", credentials, ca_file=authority), SystemClock())
    instruments = PrometheusInstruments(asyncio.get_running_loop().time)
    client = Client(connection, leadership=_Leading(), random=lambda: 0.5, answered=instruments.answered)
    turns = Turns(1, statuses_per_turn=AT_ONCE)
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust(authority)))
    headers = {"Authorization": "Bearer " + "x" * 900, "Content-Type": "application/json"}

    async def ours() -> None:
        async with turns.held(STATUS_SECOND, 0.0):
            await client.write("PUT", _PATH, Traffic.STATUS, _BODY, may_send=lambda: None)

    async def theirs() -> None:
        async with session.put(url + _PATH, data=_BODY, headers=headers) as answer:
            await answer.read()

    try:
        best = [float("inf"), float("inf")]
        for _ in range(REPEATS):  # in turn, since the machine is not the same from one second to the next
            best = [min(known, await _per_request_us(one)) for known, one in zip(best, (ours, theirs), strict=True)]
        return best[0], best[1]
    finally:
        await session.close()
        await connection.close()


async def _per_request_us(request: Callable[[], Awaitable[None]]) -> float:
    async def several(count: int) -> None:
        for _ in range(count):
            await request()

    await several(AT_ONCE)
    gc.collect()
    began_s = time.thread_time()
    await asyncio.gather(*(several(WRITES // AT_ONCE) for _ in range(AT_ONCE)))
    return (time.thread_time() - began_s) / WRITES * 1e6


class _Leading:
    """The port `Leadership` of somebody who leads."""

    term = 1

    def check(self) -> None:
        """See ports.Leadership."""


class _Answering(asyncio.Protocol):
    """Answers whatever is asked, one request after another."""

    def __init__(self) -> None:
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        # uvloop's own class, which only behaves like asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        self._received += data
        if self._received.endswith(_BODY):
            self._received = b""
            self._transport.write(_ANSWER)


@contextmanager
def _serving(folder: Path) -> Iterator[tuple[str, str]]:
    """The address of a server on loopback, and the file of its authority."""
    files = make_certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    loop = uvloop.new_event_loop()
    server = cast(
        "asyncio.Server", loop.run_until_complete(loop.create_server(_Answering, "127.0.0.1", 0, ssl=context))
    )
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", str(files.authority)
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
