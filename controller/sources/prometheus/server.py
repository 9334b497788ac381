"""Requests to one Prometheus: authenticated anew when secrets change, limited in number, size and time."""

import asyncio
import base64
import ssl
from pathlib import Path
from typing import Final

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from controller.file_stamps import Stamp, stamp_of
from controller.kube.errors import TRANSPORT_ERRORS, unreachable
from controller.sources.prometheus.answers import Family, PrometheusError, Vector, decode_families, decode_vector, shown
from controller.sources.prometheus.server_settings import ServerSettings
from controller.version import USER_AGENT

QUERY_BYTES_MAX: Final = 16 * 1024 * 1024
LISTING_BYTES_MAX: Final = 256 * 1024 * 1024
_GET_QUERY_MAX: Final = 3_000
_STILL_ANSWERS: Final = (200, 400, 422, 503)
_DECODED_ON_LOOP_MAX: Final = 256 * 1024


class PrometheusServer:
    """One server. Close it when done."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._base = URL(settings.url.rstrip("/"))
        self._places = asyncio.Semaphore(settings.concurrent_max)
        self._session: aiohttp.ClientSession | None = None
        self._stamp: Stamp | None = None
        self._building = asyncio.Lock()
        self._retiring: set[asyncio.Task[None]] = set()

    @property
    def place(self) -> str:
        """How messages and logs name it."""
        return f"Prometheus at {self._base}"

    async def query(self, text: str) -> Vector:
        """What an instant query gives now, by the clock of the server. Raises PrometheusError."""
        status, body = await self._ask("api/v1/query", {"query": text}, QUERY_BYTES_MAX, self._settings.timeout_s)
        if len(body) > _DECODED_ON_LOOP_MAX:
            return await asyncio.to_thread(decode_vector, status, body)
        return decode_vector(status, body)

    async def families(self, selector: str, start_s: float) -> frozenset[Family]:
        """The names of series that a selector has matched since a time (Unix seconds). Raises PrometheusError."""
        asked = {"match[]": selector, "start": f"{start_s:.3f}"}
        # Listing takes a large server longer than any query, and nobody waits for it but at the start.
        status, body = await self._ask("api/v1/series", asked, LISTING_BYTES_MAX, 3 * self._settings.timeout_s)
        return await asyncio.to_thread(decode_families, status, body)

    async def close(self) -> None:
        """End what is under way."""
        async with self._building:
            for task in list(self._retiring):
                task.cancel()
            await asyncio.gather(*self._retiring, return_exceptions=True)
            if self._session is not None:
                await self._session.close()
                self._session = None

    async def _ask(self, path: str, asked: dict[str, str], bytes_max: int, timeout_s: float) -> tuple[int, bytes]:
        """Status and body of an answer, which may say that something is wrong. Raises PrometheusError."""
        try:
            async with asyncio.timeout(timeout_s), self._places:
                session, headers = await self._session_now(), self._headers()
                # GET where it fits, since some proxies let nothing else through.
                short = sum(map(len, asked.values())) <= _GET_QUERY_MAX
                async with session.request(
                    "GET" if short else "POST",
                    self._base / path,
                    params=asked if short else None,
                    data=None if short else asked,
                    headers=headers,
                    allow_redirects=False,
                ) as response:
                    return response.status, await self._body(response, bytes_max)
        except TimeoutError as error:
            raise PrometheusError(f"{self.place} did not answer within {timeout_s:g} s", "timeout") from error
        except TRANSPORT_ERRORS as error:
            raise PrometheusError(f"{self.place}: {unreachable(error)}", "transport") from error

    async def _body(self, response: aiohttp.ClientResponse, bytes_max: int) -> bytes:
        status = response.status
        if 300 <= status < 400:  # noqa: PLR2004 - the redirections
            goal = shown(response.headers.get("Location", "nowhere"))
            raise PrometheusError(
                f"{self.place} answered with a redirection to {goal}, which is not followed; check --prometheus-url",
                "redirection",
            )
        body = bytearray()
        async for part in response.content.iter_any():
            body += part
            if len(body) > bytes_max:
                raise PrometheusError(f"the answer of {self.place} is larger than {bytes_max} bytes", "size")
        if status not in _STILL_ANSWERS:
            start = shown(bytes(body[:80]).decode(errors="replace"))
            raise PrometheusError(f"{self.place} answered with HTTP status {status}: {start}", f"status {status}")
        return bytes(body)

    def _headers(self) -> CIMultiDict[str]:
        settings = self._settings
        headers = CIMultiDict([("User-Agent", USER_AGENT), ("Accept", "application/json"), *settings.headers])
        for name, path in settings.header_files:
            headers[name] = self._secret(path)
        if settings.token_file:
            headers["Authorization"] = f"Bearer {self._secret(settings.token_file)}"
        elif settings.username:
            pair = f"{settings.username}:{self._secret(settings.password_file)}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        return headers

    def _secret(self, path: str) -> str:
        """A file's content, read each time: it is small, and then no change of it is missed."""
        try:
            text = Path(path).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise PrometheusError(
                f"the file {path} for {self.place} cannot be read: {error}", f"file {path}"
            ) from error
        if not text or not text.isprintable():
            raise PrometheusError(f"the file {path} for {self.place} holds no secret on one line", f"file {path}")
        return text

    async def _session_now(self) -> aiohttp.ClientSession:
        """A session with the certificates as they are now."""
        stamp = self._stamp_of_files()
        if self._session is not None and stamp == self._stamp:
            return self._session
        async with self._building:
            if self._session is None or stamp != self._stamp:
                try:
                    context = await asyncio.to_thread(self._context) if self._base.scheme == "https" else True
                except (OSError, ValueError) as error:
                    raise PrometheusError(
                        f"the certificates for {self.place} cannot be used: {error}", "tls"
                    ) from error
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

    def _retire(self, session: aiohttp.ClientSession) -> None:
        """Close a session with the certificates of before as soon as what is under way on it must have ended."""

        async def later() -> None:
            try:
                await asyncio.sleep(4 * self._settings.timeout_s)
            finally:
                await session.close()

        task = asyncio.create_task(later())
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    def _context(self) -> ssl.SSLContext:
        settings = self._settings
        context = ssl.create_default_context(cafile=settings.ca_file or None)
        if hasattr(ssl, "VERIFY_X509_STRICT"):
            # Newer Pythons refuse CAs without key usage, which many clusters have.
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if settings.certificate_file:
            context.load_cert_chain(settings.certificate_file, settings.key_file)
        return context

    def _stamp_of_files(self) -> Stamp:
        settings = self._settings
        return stamp_of((settings.ca_file, settings.certificate_file, settings.key_file))
