"""HTTP sessions to one server, made anew when the files with certificates change."""

import asyncio
import ssl
from typing import Final

import aiohttp
import structlog

from controller.file_stamps import Stamp, stamp_of

RETRY_S: Final = 10.0
"""How long files that cannot be used are left alone, unless they change."""

_log = structlog.get_logger(__name__)


class CertificatesError(Exception):
    """The files cannot be used as they are now; the message says why."""


class Sessions:
    """The session to use now; requests under way go on with the one that they began with. Close it when done.

    `retire_s` is how long a request may take, so that a session of before is over after that. Without `tls`, files are
    not looked at.
    """

    def __init__(
        self, *, tls: bool, retire_s: float, ca_file: str = "", certificate_file: str = "", key_file: str = ""
    ) -> None:
        self._tls = tls
        self._retire_s: Final = retire_s
        self._ca_file = ca_file
        self._certificate_file = certificate_file
        self._key_file = key_file
        self._session: aiohttp.ClientSession | None = None
        self._stamp: Stamp | None = None
        self._unusable: Stamp | None = None
        self._retry_s = 0.0
        self._building = asyncio.Lock()
        self._retiring: set[asyncio.Task[None]] = set()

    async def now(self) -> aiohttp.ClientSession:
        """A session with the certificates as they are now, or with the last ones that can be used.

        Raises:
            CertificatesError: there never were any.
        """
        stamp = stamp_of((self._ca_file, self._certificate_file, self._key_file)) if self._tls else ()
        if self._session is not None and self._is_good_for(stamp):
            return self._session
        async with self._building:
            if self._session is None or not self._is_good_for(stamp):
                try:
                    context = await asyncio.to_thread(self._context) if self._tls else True
                except (OSError, ValueError) as error:
                    if self._session is None:
                        raise CertificatesError(f"{self._files()} cannot be used: {error}") from error
                    # Perhaps they are half-written, or may not be read yet.
                    if stamp != self._unusable:
                        text = f"{self._files()} cannot be used, going on with those from before"
                        _log.warning(text, error=str(error))
                    self._unusable, self._retry_s = stamp, asyncio.get_running_loop().time() + RETRY_S
                    return self._session
                old, self._stamp = self._session, stamp
                self._session = aiohttp.ClientSession(
                    connector=aiohttp.TCPConnector(limit=0, ssl=context),
                    trust_env=False,
                    cookie_jar=aiohttp.DummyCookieJar(),
                    timeout=aiohttp.ClientTimeout(total=None),
                )
                if old is not None:
                    self._retire(old)
            return self._session

    async def close(self) -> None:
        """End what is under way."""
        async with self._building:
            for task in list(self._retiring):
                task.cancel()
            await asyncio.gather(*self._retiring, return_exceptions=True)
            if self._session is not None:
                await self._session.close()
                self._session = None

    def _is_good_for(self, stamp: Stamp) -> bool:
        """Whether the session has these files in it, or they could not be used a moment ago."""
        put_off = stamp == self._unusable and asyncio.get_running_loop().time() < self._retry_s
        return stamp == self._stamp or put_off

    def _retire(self, session: aiohttp.ClientSession) -> None:
        async def later() -> None:
            try:
                await asyncio.sleep(self._retire_s)
            finally:
                await session.close()

        task = asyncio.create_task(later())
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    def _context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self._ca_file or None)
        if hasattr(ssl, "VERIFY_X509_STRICT"):
            # Newer Pythons refuse CAs without key usage, which many clusters have.
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if self._certificate_file:
            context.load_cert_chain(self._certificate_file, self._key_file)
        return context

    def _files(self) -> str:
        given = [path for path in (self._ca_file, self._certificate_file, self._key_file) if path]
        return f"the certificates in {', '.join(given)}" if given else "the system's certificates"
