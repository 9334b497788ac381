"""How requests reach one API server: credentials, certificates, and a look at whether they may go out at all."""

import os
import ssl
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Final

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from yarl import URL

from controller.decide.instants import NANOSECONDS
from controller.kube.credentials import Credentials
from controller.kube.http_connection import Limits
from controller.kube.http_pool import CONNECT_TIMEOUT_S, KEEP_ALIVE_S, HttpPool
from controller.kube.kubeconfig import Access
from controller.kube.sessions import Certificate, CertificatesError, Sessions, Tls, trust
from controller.os_errors import no_pass_phrase, why
from controller.ports import Clock, NotSent

CERTIFICATES_CHECKED_S: Final = 10.0
"""How often the files are looked at; they are read only when they have changed."""

ANSWER_BYTES_MAX: Final = 128 * 1024 * 1024
"""The largest answer that is read: the metrics of 100,000 pods are about 50 MB."""

ERROR_BYTES_MAX: Final = 64 * 1024

READ_BYTES: Final = 256 * 1024
"""How much of a long answer may have come before reading pauses: each pause costs more than a copy of what has come."""


class GuardedRequest(aiohttp.ClientRequest):
    """A request that calls `may_send` when its connection stands, before its first byte; what that raises ends it.

    Connecting takes time, and the library sends idempotent requests again over a new connection when a kept one turns
    out to be dead.
    """

    may_send: Callable[[], None] | None = None

    async def send(self, conn: aiohttp.connector.Connection) -> aiohttp.ClientResponse:
        """See aiohttp.ClientRequest."""
        if self.may_send is not None:
            self.may_send()
        return await super().send(conn)

    async def write_bytes(
        self, writer: AbstractStreamWriter, conn: aiohttp.connector.Connection, content_length: int | None = None
    ) -> None:
        """See aiohttp.ClientRequest. Headers wait for it, and before Python 3.12 it runs an iteration later.

        A process that is stopped in between, for longer than its Lease lasts, would send once it goes on.
        """
        if self.may_send is not None:
            try:
                self.may_send()
            except NotSent as refusal:
                if conn.protocol is not None:
                    # Whoever reads the answer gets it, and closes: from Python 3.12 on nobody does yet.
                    conn.protocol.set_exception(refusal)
                return
        await super().write_bytes(writer, conn, content_length)


def guarding(may_send: Callable[[], None]) -> aiohttp.ClientMiddlewareType:
    """Have a request ask once it has a connection, also when the library sends it again."""

    async def guard(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        assert isinstance(request, GuardedRequest)  # noqa: S101 - all requests of our sessions are
        request.may_send = may_send
        return await send(request)

    return guard


class Http:
    """With the same certificates, a session for answers that come bit by bit, and a pool for those taken whole.

    Attributes:
        pool: None where a proxy is between: only the session knows how to get through one.
    """

    def __init__(self, session: aiohttp.ClientSession, pool: HttpPool | None) -> None:
        self.session = session
        self.pool = pool

    async def close(self) -> None:
        """See sessions.Closable."""
        try:
            if self.pool is not None:
                await self.pool.close()
        finally:
            await self.session.close()


class Connection:
    """Sessions and credentials for one `Access`. Close it when done."""

    def __init__(self, access: Access, clock: Clock) -> None:
        self.access = access
        self._clock = clock
        self._sessions = Sessions(
            access.source,
            files=(access.ca_file, access.certificate_file, access.key_file),
            context=partial(_context, access),
            http=partial(_http, access),
            time_s=lambda: clock.now().monotonic_ns / NANOSECONDS,
            looked_at_s=CERTIFICATES_CHECKED_S,
        )

    async def credentials(self) -> Credentials:
        """What to authenticate the next request with. Raises CredentialsError."""
        return await self.access.tokens.credentials(self._clock)

    def session(self, credentials: Credentials) -> Awaitable[AbstractAsyncContextManager[Http]]:
        """What to send with, with the present certificates, to be entered at once for one request or one watch.

        Raises:
            CertificatesError: a certificate cannot be used, and there is no session from before.
            ConnectionAbortedError: it is closed.
        """
        return self._sessions.current(credentials.certificate)

    def refused(self, credentials: Credentials) -> bool:
        """The server answered 401 to these; True if asking again may give others."""
        others = self.access.tokens.refused(credentials)
        if self.access.certificate_file is None:
            return others
        self._sessions.look_again()
        return True

    async def close(self) -> None:
        """Close the session, and have none any more: requests still under way end with an error, as do plug-ins."""
        await self.access.tokens.close()
        await self._sessions.close()


def _context(access: Access, certificate: Certificate | None) -> ssl.SSLContext:
    certificate = certificate or access.certificate
    try:
        context = trust(access.ca_file, access.ca_text)
    except (OSError, ValueError) as error:
        raise CertificatesError(f"{access.source}: the certificate authority cannot be used: {why(error)}") from error
    if not access.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    try:
        if certificate is not None:
            # A key lies on the disk only while the TLS library, which takes nothing but files, reads it.
            with tempfile.TemporaryDirectory(prefix="hpa-controller-") as folder:
                context.load_cert_chain(*_written(certificate, folder), no_pass_phrase("the key"))
        elif access.certificate_file is not None:
            phrase = no_pass_phrase(str(access.key_file))
            context.load_cert_chain(access.certificate_file, access.key_file, phrase)
    except (OSError, ValueError) as error:
        raise CertificatesError(
            f"{access.source}: the client certificate and its key cannot be used: {why(error)}"
        ) from error
    return context


def _written(certificate: Certificate, folder: str) -> tuple[str, str]:
    """Paths of certificate and key files, readable by us only, for a TLS library that takes files."""
    paths = []
    for content in certificate:
        handle, path = tempfile.mkstemp(dir=folder, suffix=".pem")
        with os.fdopen(handle, "w") as file:
            file.write(content)
        paths.append(path)
    return paths[0], paths[1]


def _http(access: Access, context: Tls) -> Http:
    """Without a limit on connections (lanes limit requests); the session looks up no proxy or netrc per request."""
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=context, keepalive_timeout=KEEP_ALIVE_S),
        request_class=GuardedRequest,
        read_bufsize=READ_BYTES,
        trust_env=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
    )
    if access.proxy is not None:
        return Http(session, None)
    server, limits = URL(access.server), Limits(ANSWER_BYTES_MAX, ERROR_BYTES_MAX)
    tls = context if isinstance(context, ssl.SSLContext) and server.scheme == "https" else None
    return Http(session, HttpPool(server, tls=tls, server_name=access.server_name, limits=limits))
