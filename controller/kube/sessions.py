"""HTTP sessions to one server that follow renewed certificates.

When they change, a new session is built and the old one is closed once the last request on it has ended; requests under
way never notice.
"""

import asyncio
import ssl
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Final, Generic, Literal, Protocol, TypeVar
from weakref import WeakSet

import structlog

from controller.file_stamps import Stamp, stamp_of

RETRY_S: Final = 10.0
"""How long certificates that cannot be used are left alone, unless they change."""

Certificate = tuple[str, str]
"""A client certificate and its key, as text (PEM)."""

Tls = ssl.SSLContext | Literal[True]
"""True: that of the library, where no request uses any."""

_log = structlog.get_logger(__name__)


class CertificatesError(Exception):
    """The certificates cannot be used as they are now; the message says which and why."""


def trust(ca_file: str | None, ca_text: str | None = None) -> ssl.SSLContext:
    """A context that trusts this authority, or the system's where both are None. Raises OSError or ValueError."""
    context = ssl.create_default_context(cafile=ca_file, cadata=ca_text)
    # From 3.13 on Python refuses authorities without key usage or key identifier, which kubectl accepts.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


class Closable(Protocol):
    """Connections to a server that can be closed."""

    async def close(self) -> None:
        """Close them; requests that are still under way end with an error."""
        ...


S = TypeVar("S", bound=Closable)


class _Session(Generic[S]):
    """A session, in use while its block lasts; it closes itself when it is retired and idle."""

    def __init__(self, http: S) -> None:
        self.http = http
        self._users = 0
        self._retired = False

    async def __aenter__(self) -> S:
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


class Sessions(Generic[S]):
    """The session with the present certificates. Close it when done."""

    def __init__(
        self,
        place: str,
        *,
        files: Iterable[str | None],
        context: Callable[[Certificate | None], ssl.SSLContext] | None,
        http: Callable[[Tls], S],
        time_s: Callable[[], float],
        looked_at_s: float = 0.0,
    ) -> None:
        """`place` names the server in logs; `files` are looked at every `looked_at_s`, and read only once they change.

        `context` reads them, in a thread, and raises CertificatesError; None where there is no TLS. `http` makes a
        session with what it gives.
        """
        self._place = place
        self._files = tuple(files)
        self._context = context
        self._http = http
        self._time_s = time_s
        self._looked_at_s = looked_at_s
        self._session: _Session[S] | None = None
        self._retired: WeakSet[_Session[S]] = WeakSet()
        self._building = asyncio.Lock()
        self._certificate: Certificate | None = None
        self._due_s = 0.0
        self._in_use: tuple[Stamp, Certificate | None] | None = None
        self._unusable: tuple[Stamp, Certificate | None] | None = None
        self._retry_s = 0.0
        self._closed = False

    async def current(self, certificate: Certificate | None = None) -> AbstractAsyncContextManager[S]:
        """A session with the certificates as they are now, or with the last ones that can be used.

        It is to be entered at once, for one request or one watch. `certificate` goes before that of the files.

        Raises:
            CertificatesError: there never were any that can be used.
            ConnectionAbortedError: it is closed.
        """
        if self._is_due(certificate):
            async with self._building:
                if self._is_due(certificate):
                    await self._look(certificate)
        session = self._session
        if session is None:
            raise ConnectionAbortedError("the connection is closed")
        return session

    def look_again(self) -> None:
        """Have the next request look at the files: they may have been replaced since the last look."""
        self._due_s = self._time_s()

    async def close(self) -> None:
        """Have no session any more: requests that are still under way end with an error."""
        self._closed = True
        async with self._building:
            for session in (*self._retired, *filter(None, (self._session,))):
                await session.http.close()
            self._session = None

    def _is_due(self, certificate: Certificate | None) -> bool:
        """Whether it is time to look at the certificates again."""
        return self._session is None or certificate != self._certificate or self._time_s() >= self._due_s

    async def _look(self, certificate: Certificate | None) -> None:
        if self._closed:
            return
        now_s = self._time_s()
        self._certificate, self._due_s = certificate, now_s + self._looked_at_s
        found = (stamp_of(self._files), certificate)
        put_off = found == self._unusable and now_s < self._retry_s
        if self._session is not None and (found == self._in_use or put_off):
            return
        try:
            # Loading a trust store takes tens of milliseconds, too long for the loop.
            context: Tls = True if self._context is None else await asyncio.to_thread(self._context, certificate)
        except CertificatesError as error:
            if self._session is None:
                raise
            # Perhaps half-written files: a later look finds them whole.
            if found != self._unusable:
                _log.warning("new certificates cannot be used, going on with those from before", error=str(error))
            self._unusable, self._retry_s = found, now_s + RETRY_S
            return
        except asyncio.CancelledError:
            self._due_s = now_s  # whoever comes next has to look in its place
            raise
        old, self._session, self._in_use = self._session, _Session(self._http(context)), found
        if old is not None:
            _log.info("certificates have changed, new connections use the new ones", server=self._place)
            self._retired.add(old)
            await old.retire()
