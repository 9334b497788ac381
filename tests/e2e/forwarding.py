"""What every proxy does: hand a request on to a server and its answer back, as it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aiohttp
from aiohttp import web
from yarl import URL

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    _Answer = AbstractAsyncContextManager[aiohttp.ClientResponse]

# Of one connection only, not of the request; the length is set anew by whoever sends the body.
_HOP_HEADERS = frozenset({"connection", "content-length", "host", "keep-alive", "transfer-encoding"})


class Forwarder:
    """Sends requests on to one server, without a limit of connections, cookies or timeouts of its own."""

    def __init__(self, server: str, context: ssl.SSLContext | None) -> None:
        """``context`` is for servers behind TLS; None for plain HTTP."""
        self._server = server
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=True if context is None else context, limit=0),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def close(self) -> None:
        """Closes all connections to the server."""
        await self._session.close()

    async def hand_on(
        self,
        request: web.BaseRequest,
        body: bytes,
        begun: Callable[[web.StreamResponse], None] = lambda _: None,
        chunk_came: Callable[[bytes], None] = lambda _: None,
        muted: Callable[[], bool] = lambda: False,
    ) -> web.StreamResponse:
        """The answer, which has then been sent completely; ``begun`` hears of its head, ``chunk_came`` of its body.

        While ``muted`` says so, parts of the body are swallowed.
        """
        async with self._asked(request, body) as answer:
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP_HEADERS}
            response = web.StreamResponse(status=answer.status, headers=kept)
            begun(response)
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                if muted():
                    continue
                chunk_came(chunk)
                await response.write(chunk)
            await response.write_eof()
            return response

    async def carry_out(self, request: web.BaseRequest, body: bytes) -> int:
        """The status of the answer, which nobody gets."""
        async with self._asked(request, body) as answer:
            await answer.read()
            return answer.status

    def _asked(self, request: web.BaseRequest, body: bytes) -> _Answer:
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP_HEADERS}
        return self._session.request(
            request.method,
            URL(self._server + request.path_qs, encoded=True),
            data=body or None,
            headers=headers,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10.0),
        )
