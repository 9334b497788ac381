"""A connection to the API server that is asked one thing after another, each answer taken whole (decision 0020).

What HTTP allows is httptools' business; here is who waits for what, and what a connection is good for afterwards.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, cast

import httptools
import msgspec
from multidict import CIMultiDict

from controller.kube.errors import reason_of
from controller.ports import Rejected, Unreachable

BESIDE_BODY_BYTES_MAX: Final = 256 * 1024
"""How much may come beside an answer's body: before it, between its chunks and behind it."""

_CHUNK_BYTES_MAX: Final = 8
"""How much may come for each byte of the body, if every chunk has a single one."""

_INTERIM: Final = 100
_FINAL: Final = 200
_ERRORS: Final = 300
_FRAMING: Final = (b"content-length", b"transfer-encoding")


class Unanswered(Unreachable):
    """The connection ended before a byte of the answer had come: perhaps the server never saw what was asked."""


class Limits(msgspec.Struct, frozen=True):
    """How large a body may be: a longer one of a success is refused, of an error the beginning is enough."""

    success_bytes: int
    error_bytes: int


class Answer(msgspec.Struct, frozen=True):
    """A status, the headers as they came, and the body."""

    status: int
    raw_headers: Sequence[tuple[bytes, bytes]]
    body: bytes

    @property
    def headers(self) -> CIMultiDict[str]:
        """The headers as text."""
        decoded = ((part.decode("utf-8", "surrogateescape") for part in pair) for pair in self.raw_headers)
        return CIMultiDict((name, value) for name, value in decoded)


class HttpConnection(asyncio.Protocol):
    """Its transport is that of an open connection once asyncio has made it one. The `on_` methods are the parser's."""

    def __init__(self, limits: Limits, ended: Callable[["HttpConnection"], None]) -> None:
        """`ended` is told when it is closed, by whomever."""
        self._limits = limits
        self._ended = ended
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._reusable = True
        self._forget()

    def _forget(self) -> None:
        """Be ready for the next answer, and keep nothing of the last one: it may have been long."""
        self._status = 0
        self._came_bytes = 0
        self._body_bytes = 0
        self._is_framed = False
        self._headers: list[tuple[bytes, bytes]] = []
        self._parts: list[bytes] = []

    @property
    def reusable(self) -> bool:
        """Whether it may be asked again."""
        return self._reusable and self._transport is not None and not self._transport.is_closing()

    async def ask(self, message: bytes) -> Answer:
        """The answer to a whole request. Who gives up waiting for it has to leave the connection, too.

        Raises:
            Unanswered: it ended before there was any answer.
            Unreachable: it ended in the middle of the answer, or that is no HTTP.
            Rejected: the answer is larger than it may be.
        """
        if self._transport is None or not self.reusable:
            raise Unanswered("the connection was closed before anything was sent")
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(message)
        try:
            return await self._answer
        except BaseException:
            self.abort()
            raise
        finally:
            self._answer = None
            self._forget()

    def abort(self) -> None:
        """Close it without a farewell, which a server that is gone would keep us waiting for."""
        self._fail(Unreachable("the connection was closed"))
        if self._transport is not None:
            self._transport.abort()

    # --- see asyncio.Protocol ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        # uvloop's are not derived from asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        # Not before: it knows this connection, too, and nobody would part the two where there never was one.
        self._parser = httptools.HttpResponseParser(self)

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        if self._answer is None or self._answer.done():
            self.abort()  # nobody has asked; what comes next would be taken for an answer
            return
        self._came_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._fail(Unreachable("the answer is no valid HTTP: it begins another protocol"))
        except httptools.HttpParserError as error:
            self._fail(Unreachable(f"the answer is no valid HTTP: {' '.join(str(error).split())}"))
        if self._came_bytes - _CHUNK_BYTES_MAX * self._body_bytes > BESIDE_BODY_BYTES_MAX:
            self._fail(Rejected(f"the answer has more than {BESIDE_BODY_BYTES_MAX} bytes beside its body"))

    def eof_received(self) -> None:
        """See asyncio.Protocol; the transport closes itself."""
        self._reusable = False

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._reusable = False
        # Whoever still knows this connection, as the frames of an error may, shall not keep its TLS buffers.
        self._transport = None
        del self._parser
        if self._status and not self._is_framed and exc is None:
            self._finish()  # a body without a length ends with the connection
        elif self._status:
            self._fail(Unreachable(f"the answer was cut off or damaged: after {self._body_bytes} bytes of its body"))
        else:
            kind = Unreachable if self._came_bytes else Unanswered
            why = "" if exc is None else f": {reason_of(exc)}"
            self._fail(kind(f"the connection was closed before the answer was complete{why}"))
        self._ended(self)

    # --- see httptools.HTTPProtocol ---

    def on_message_begin(self) -> None:
        """An answer begins."""
        if self._answer is None or self._answer.done():
            self._reusable = False  # one that nobody has asked for: its end would be taken for the next one's beginning

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header, or behind the body one more that says nothing which is needed; the name may have any case."""
        if self._status:
            return
        self._headers.append((name, value))
        name = name.lower()
        if name in _FRAMING:
            self._is_framed = True
        elif name == b"content-encoding" and value.lower() not in (b"", b"identity"):
            self._fail(Unreachable("the answer is encoded in a way that was not asked for, which cannot be read"))

    def on_headers_complete(self) -> None:
        """The head is complete."""
        status = self._parser.get_status_code()
        if status >= _FINAL:
            self._status = status
        elif status >= _INTERIM:
            self._headers, self._is_framed = [], False  # any number of these may come before the final answer
        else:
            self._fail(Unreachable(f"the answer is no valid HTTP: its status is {status}"))

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._body_bytes += len(body)
        self._parts.append(body)
        is_error = self._status >= _ERRORS
        if self._body_bytes <= (self._limits.error_bytes if is_error else self._limits.success_bytes):
            return
        self._reusable = False
        if is_error:
            self._finish()
        else:
            self._fail(Rejected(f"the answer is larger than {self._limits.success_bytes} bytes"))

    def on_message_complete(self) -> None:
        """The answer is complete."""
        if self._status:
            self._reusable = self._reusable and self._parser.should_keep_alive()
            self._finish()

    def _finish(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(Answer(self._status, tuple(self._headers), b"".join(self._parts)))

    def _fail(self, error: Exception) -> None:
        self._reusable = False
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
