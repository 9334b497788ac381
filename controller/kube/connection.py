"""HTTP sessions to one API server that follow rotated certificates.

When the CA or a client certificate changes, a new session is built and the old one is closed once the last request on
it has ended; requests under way never notice.
"""

import asyncio
import os
import ssl
import tempfile
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

import aiohttp
import structlog
from aiohttp.abc import AbstractStreamWriter
from aiohttp.connector import Connection as HttpConnection

from controller.decide.instants import NANOSECONDS
from controller.file_stamps import Stamp, stamp_of
from controller.kube.credentials import Credentials
from controller.kube.kubeconfig import Access
from controller.kube.kubeconfig_files import ConfigurationError
from controller.ports import Clock, NotSent

CERTIFICATES_CHECKED_S: Final = 10.0
"""How often the files are looked at; they are read only when they have changed."""

CONNECT_TIMEOUT_S: Final = 10.0
KEEP_ALIVE_S: Final = 60.0


_log = structlog.get_logger(__name__)


class GuardedRequest(aiohttp.ClientRequest):
    """A request that calls `may_send` when its connection stands, before its first byte; what that raises ends it.

    Connecting takes time, and the library sends idempotent requests again over a new connection when a kept one turns
    out to be dead.
    """

    may_send: Callable[[], None] | None = None

    async def send(self, conn: HttpConnection) -> aiohttp.ClientResponse:
        """See aiohttp.ClientRequest."""
        if self.may_send is not None:
            self.may_send()
        return await super().send(conn)

    async def write_bytes(
        self, writer: AbstractStreamWriter, conn: HttpConnection, content_length: int | None = None
    ) -> None:
        """See aiohttp.ClientRequest. Headers wait for it, and before Python 3.12 it runs a turn of the loop later.

        A process that is stopped in between, for longer than its Lease lasts, would send once it goes on.
        """
        if self.may_send is not None:
            try:
                self.may_send()
            except NotSent as refusal:
                if conn.protocol is not None:
                    conn.protocol.set_exception(refusal)  # it is who reads the answer that waits
                conn.close()
                return
        await super().write_bytes(writer, conn, content_length)


def guarding(may_send: Callable[[], None]) -> aiohttp.ClientMiddlewareType:
    """Have a request ask once it has a connection, also when the library sends it again."""

    async def guard(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        assert isinstance(request, GuardedRequest)  # noqa: S101 - all requests of our sessions are
        request.may_send = may_send
        return await send(request)

    return guard


class _Session:
    """An HTTP session, in use while its block lasts; it closes itself when it is retired and idle."""

    def __init__(self, http: aiohttp.ClientSession) -> None:
        self.http = http
        self._users = 0
        self._retired = False

    async def __aenter__(self) -> aiohttp.ClientSession:
        self._users += 1
        return self.http

    async def __aexit__(self, *_: object) -> None:
        self._users -= 1
        if self._retired and not self._users:
            await self.http.close()

    async def retire(self) -> None:
        self._retired = True
        if not self._users:
            await self.http.close()


class Connection:
    """Sessions and credentials for one `Access`. Close it when done."""

    def __init__(self, access: Access, clock: Clock) -> None:
        self.access = access
        self._clock = clock
        self._session: _Session | None = None
        self._building: asyncio.Lock = asyncio.Lock()
        self._stamp: Stamp = ()
        self._checked_ns = 0
        self._certificate: tuple[str, str] | None = None
        self._closed = False

    async def credentials(self) -> Credentials:
        """What to authenticate the next request with. Raises CredentialsError."""
        return await self.access.tokens.credentials(self._clock)

    async def session(self, credentials: Credentials) -> AbstractAsyncContextManager[aiohttp.ClientSession]:
        """A session with the present certificates, to be entered at once for one request or one watch.

        Raises:
            ConfigurationError: a certificate cannot be used, and there is no session from before.
            ConnectionAbortedError: it is closed.
        """
        if self._session is None or self._due(credentials):
            async with self._building:
                if self._session is None or self._due(credentials):
                    await self._refresh(credentials)
        session = self._session
        if session is None:
            raise ConnectionAbortedError("the connection to the API server is closed")
        return session

    def refused(self, credentials: Credentials) -> bool:
        """The server answered 401 to these; True if asking again may give others."""
        others = self.access.tokens.refused(credentials)
        if self.access.certificate_file is None:
            return others
        # The files may have been replaced since the last look.
        self._checked_ns -= int(CERTIFICATES_CHECKED_S * NANOSECONDS)
        return True

    async def close(self) -> None:
        """Close the session, and have none any more: requests still under way end with an error, as do plug-ins."""
        self._closed = True
        await self.access.tokens.close()
        async with self._building:
            if self._session is not None:
                await self._session.http.close()
                self._session = None

    def _due(self, credentials: Credentials) -> bool:
        """Whether it is time to look at the certificates again."""
        if credentials.certificate != self._certificate:
            return True
        return self._clock.now().monotonic_ns - self._checked_ns >= CERTIFICATES_CHECKED_S * NANOSECONDS

    async def _refresh(self, credentials: Credentials) -> None:
        if self._closed:
            return
        self._checked_ns = self._clock.now().monotonic_ns
        stamp = self._stamp_of_files()
        if self._session is not None and stamp == self._stamp and credentials.certificate == self._certificate:
            return
        try:
            # Loading a trust store takes tens of milliseconds, too long for the loop.
            context = await asyncio.to_thread(self._context, credentials.certificate)
        except ConfigurationError as error:
            if self._session is None:
                raise
            # Perhaps half-written files: the next look finds them whole.
            self._certificate = credentials.certificate
            _log.warning("new certificates cannot be used, going on with those from before", error=str(error))
            return
        old, self._session = self._session, _Session(_http(context))
        self._stamp, self._certificate = stamp, credentials.certificate
        if old is not None:
            _log.info("certificates have changed, new connections use the new ones", access=self.access.source)
            await old.retire()

    def _context(self, certificate: tuple[str, str] | None) -> ssl.SSLContext:
        access = self.access
        certificate = certificate or access.certificate
        try:
            context = ssl.create_default_context(cafile=access.ca_file, cadata=access.ca_text)
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"{access.source}: the certificate authority cannot be used: {error}") from error
        if hasattr(ssl, "VERIFY_X509_STRICT"):
            # Newer Pythons refuse CAs without key usage, which many clusters have and kubectl accepts.
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if not access.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        try:
            if certificate is not None:
                # A key lies on the disk only while the TLS library, which takes nothing but files, reads it.
                with tempfile.TemporaryDirectory(prefix="hpa-controller-") as folder:
                    context.load_cert_chain(*_written(certificate, folder))
            elif access.certificate_file is not None:
                context.load_cert_chain(access.certificate_file, access.key_file)
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"{access.source}: the client certificate and its key cannot be used: {error}"
            ) from error
        return context

    def _stamp_of_files(self) -> Stamp:
        access = self.access
        return stamp_of((access.ca_file, access.certificate_file, access.key_file))


def _written(certificate: tuple[str, str], folder: str) -> tuple[str, str]:
    """Paths of certificate and key files, readable by us only, for a TLS library that takes files."""
    paths = []
    for content in certificate:
        handle, path = tempfile.mkstemp(dir=folder, suffix=".pem")
        with os.fdopen(handle, "w") as file:
            file.write(content)
        paths.append(path)
    return paths[0], paths[1]


def _http(context: ssl.SSLContext) -> aiohttp.ClientSession:
    """A session without a limit on connections (lanes limit requests) that looks up no proxy or netrc per request."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=context, keepalive_timeout=KEEP_ALIVE_S),
        request_class=GuardedRequest,
        trust_env=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
    )
