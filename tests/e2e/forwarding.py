"""What every proxy does: serve on loopback, hand a request on to a server and its answer back, as it comes."""

from __future__ import annotations

import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import aiohttp
from aiohttp import web
from yarl import URL

from tests.trust import as_kubernetes_trusts, trusting

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from tests.e2e.certificates import CertificateAuthority
    from tests.e2e.control_plane import ControlPlane

    _Answer = AbstractAsyncContextManager[aiohttp.ClientResponse]

# Of one connection only, not of the request; the length is set anew by whoever sends the body.
_HOP_HEADERS = frozenset({"connection", "content-length", "host", "keep-alive", "transfer-encoding"})


@asynccontextmanager
async def serving(
    answer: web.Application | Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
    context: ssl.SSLContext | None = None,
) -> AsyncIterator[str]:
    """The URL on loopback at which the application or function is asked, until the context ends.

    ``context`` is that of a server behind TLS; None for plain HTTP.
    """
    runner: web.BaseRunner
    if isinstance(answer, web.Application):
        runner = web.AppRunner(answer, handler_cancellation=True, shutdown_timeout=0.5)
    else:
        runner = web.ServerRunner(web.Server(answer, handler_cancellation=True), shutdown_timeout=0.5)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        yield f"http{'' if context is None else 's'}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def server_context(
    authority: CertificateAuthority, name: str, *host_names: str, clients: CertificateAuthority | None = None
) -> ssl.SSLContext:
    """TLS as a server speaks it that has a certificate of this authority; ``name`` is new there.

    With ``clients``, clients are asked for a certificate of that authority, and may have none.
    """
    credential = authority.issue_server(name, host_names)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(clients.certificate) if clients else None)
    context.load_cert_chain(credential.certificate, credential.key)
    if clients is not None:
        context.verify_mode = ssl.CERT_OPTIONAL
        as_kubernetes_trusts(context)
    return context


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

    @classmethod
    def before(cls, plane: ControlPlane) -> Forwarder:
        """Sends on to kube-apiserver, with nothing but what requests bring."""
        return cls(plane.url, trusting(plane.files.authority.certificate))

    async def aclose(self) -> None:
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
