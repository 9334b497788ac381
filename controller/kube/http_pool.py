"""Connections to one server, kept open between requests (decision 0020)."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Final

from aiohappyeyeballs import start_connection
from yarl import URL

from controller.kube.errors import Untrusted, connect_failure
from controller.kube.http_connection import Answer, HttpConnection, Limits, Unanswered
from controller.ports import Unreachable

CONNECT_TIMEOUT_S: Final = 10.0
KEEP_ALIVE_S: Final = 60.0

NEXT_ADDRESS_S: Final = 0.25
"""How long one address of a server is tried before the next one is, too (RFC 8305)."""

SILENT_S: Final = 1.0
"""How long a server has to be silent before that says something of the connection: less than requests wait for it."""

_CLOSED: Final = "the connection is closed"


class HttpPool:
    """As many connections as there are requests at once; whoever asks limits these. Close it when done."""

    def __init__(
        self,
        server: URL,
        *,
        tls: ssl.SSLContext | None,
        server_name: str | None,
        limits: Limits,
        keep_alive_s: float = KEEP_ALIVE_S,
        silent_s: float = SILENT_S,
    ) -> None:
        """`tls` None: without. `server_name`: whose certificate is expected; None: of the one whose address it is.

        `keep_alive_s`: how long a connection that nobody uses is kept. `silent_s`: who has waited for so long when he
        gives up has those closed that nobody has used meanwhile.
        """
        self._host, self._port = server.host or "", server.port or 0
        self._tls = tls
        # Certificates name hosts without the dot with which a complete name may end.
        self._server_name = None if tls is None else (server_name or self._host).rstrip(".")
        self._limits = limits
        self._keep_alive_s = keep_alive_s
        self._silent_s = silent_s
        self._connecting: set[asyncio.Timeout] = set()
        self._open: set[HttpConnection] = set()
        # Since when, the longest first.
        self._idle: dict[HttpConnection, float] = {}
        self._sweep: asyncio.TimerHandle | None = None
        self._closed = False

    async def ask(self, message: bytes, *, resend: bool, may_send: Callable[[], None] | None = None) -> Answer:
        """The answer to a whole request, of a kept connection or a new one.

        `resend`: whether it does no harm twice; it is then sent again when a kept connection has turned out to be dead.
        `may_send` is called right before its first byte, whenever it is sent.

        Raises:
            Unreachable: there is no connection, or no whole answer.
            Rejected: the answer is larger than it may be.
            Exception: what `may_send` raises; nothing was sent then.
        """
        began_s = asyncio.get_running_loop().time()
        kept = self._kept()
        connection = kept or await self._connected()
        while True:
            try:
                if may_send is not None:
                    may_send()
                return await connection.ask(message)
            except Unanswered:
                if connection is not kept or not resend:
                    raise
            except asyncio.CancelledError:
                # The network may have lost this connection, and those that are as old with it, without a word:
                # they can only be told by their silence, and each would cost a timeout.
                if asyncio.get_running_loop().time() - began_s >= self._silent_s:
                    self._close_unused(began_s)
                raise
            finally:
                self._give_back(connection)
            connection = await self._connected()

    async def close(self) -> None:
        """Close all connections; whoever waits for an answer, or for a connection, gets an error."""
        self._closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        self._idle.clear()
        now_s = asyncio.get_running_loop().time()
        for patience in self._connecting:
            if not patience.expired():
                patience.reschedule(now_s)
        for connection in list(self._open):
            connection.abort()
        await asyncio.sleep(0)

    def _kept(self) -> HttpConnection | None:
        """The connection that was used last: the others may become old enough to be closed."""
        while self._idle:
            connection, _ = self._idle.popitem()
            if connection.reusable:
                return connection
        return None

    def _give_back(self, connection: HttpConnection) -> None:
        if self._closed or not connection.reusable:
            connection.abort()
            return
        loop = asyncio.get_running_loop()
        self._idle[connection] = loop.time()
        if self._sweep is None:
            self._sweep = loop.call_later(self._keep_alive_s, self._close_old)

    def _close_old(self) -> None:
        """Close what nobody has used for so long."""
        loop = asyncio.get_running_loop()
        self._close_unused(loop.time() - self._keep_alive_s)
        oldest_s = next(iter(self._idle.values()), None)
        self._sweep = None if oldest_s is None else loop.call_at(oldest_s + self._keep_alive_s, self._close_old)

    def _close_unused(self, since_s: float) -> None:
        """Close what nobody has used since then."""
        for connection, used_s in list(self._idle.items()):
            if used_s > since_s:
                return
            del self._idle[connection]
            connection.abort()

    def _ended(self, connection: HttpConnection) -> None:
        """Forget it: of those that end together with a server each has a quarter of a megabyte of buffers."""
        self._open.discard(connection)
        self._idle.pop(connection, None)

    async def _connected(self) -> HttpConnection:
        if self._closed:
            raise Unreachable(_CLOSED)
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S) as patience:
                self._connecting.add(patience)
                try:
                    connection = await self._connect()
                finally:
                    self._connecting.discard(patience)
        except ssl.SSLCertVerificationError as error:
            raise Untrusted(f"its certificate is not trusted: {error.verify_message}") from error
        except TimeoutError as error:
            if self._closed:
                raise Unreachable(_CLOSED) from error
            raise Unreachable(f"no connection to {self._host}:{self._port} within {CONNECT_TIMEOUT_S:g} s") from error
        except (OSError, ValueError) as error:  # the latter of names that cannot be looked up
            raise connect_failure(self._host, self._port, error) from error
        self._open.add(connection)
        return connection

    async def _connect(self) -> HttpConnection:
        """A new connection to whichever of the server's addresses answers first."""
        loop = asyncio.get_running_loop()
        addresses = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        found = await start_connection(addresses, happy_eyeballs_delay=NEXT_ADDRESS_S)
        try:
            _, connection = await loop.create_connection(
                lambda: HttpConnection(self._limits, self._ended),
                sock=found,
                ssl=self._tls,
                server_hostname=self._server_name,
            )
        except BaseException:
            found.close()
            raise
        return connection
