"""Requests to one Prometheus: authenticated anew when secrets change, limited in number, size and time."""

import asyncio
import base64
from collections.abc import Hashable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final
from weakref import WeakValueDictionary

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from controller.kube.errors import TRANSPORT_ERRORS, unreachable, untraced
from controller.kube.sessions import CertificatesError
from controller.sources.prometheus.answers import (
    Family,
    PrometheusError,
    Vector,
    decode_families,
    decode_vector,
    is_error,
    shown,
)
from controller.sources.prometheus.server_settings import ServerSettings
from controller.sources.secret_files import SecretError, read_secret
from controller.sources.sessions import sessions_to
from controller.version import USER_AGENT

QUERY_BYTES_MAX: Final = 16 * 1024 * 1024
LISTING_BYTES_MAX: Final = 256 * 1024 * 1024
_GET_QUERY_MAX: Final = 3_000
_DECODED_IN_ANY_CASE: Final = (200, 400)
"""What else than Prometheus answers so is what the address is to be checked for."""

_DECODED_ON_LOOP_MAX: Final = 256 * 1024

Asked = tuple[str, Hashable]
"""A query and its kind; see PrometheusServer.query."""


class PrometheusServer:
    """One server. Close it when done."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._base = URL(settings.url.rstrip("/"))
        self._places = asyncio.Semaphore(settings.concurrent_max)
        # So that queries of one kind that hang leave places to the others. Whoever asks keeps its share alive.
        self._shares: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()
        self._share_max = max(1, settings.concurrent_max // 2)
        self._listings = asyncio.Semaphore(self._share_max)
        self._sessions = sessions_to(
            self.place,
            tls=self._base.scheme == "https",
            ca_file=settings.ca_file,
            certificate_file=settings.certificate_file,
            key_file=settings.key_file,
        )

    @property
    def place(self) -> str:
        """How messages and logs name it."""
        return f"Prometheus at {self._base}"

    async def query(self, text: str, kind: Hashable = None) -> Vector:
        """What an instant query gives now, by the clock of the server.

        Queries of one `kind` take at most half of the places; those of None as many as there are.

        Raises:
            PrometheusError: there is no usable answer.
        """
        share: AbstractAsyncContextManager[None] = nullcontext()
        if kind is not None:
            share = self._shares.setdefault(kind, asyncio.Semaphore(self._share_max))
        asked, timeout_s = {"query": text}, self._settings.timeout_s
        status, body = await self._ask("api/v1/query", asked, QUERY_BYTES_MAX, timeout_s, share)
        if len(body) > _DECODED_ON_LOOP_MAX:
            return await asyncio.to_thread(decode_vector, status, body)
        return decode_vector(status, body)

    async def families(self, selector: str, start_s: float) -> tuple[Family, ...]:
        """The series that a selector has matched since a time (Unix seconds), in order. Raises PrometheusError.

        Listings take at most half of the places, however many there are.
        """
        asked = {"match[]": selector, "start": f"{start_s:.3f}"}
        # Listing takes a large server longer than any query, and nobody waits for it but at the start.
        timeout_s = 3 * self._settings.timeout_s
        async with self._listings:
            status, body = await self._ask("api/v1/series", asked, LISTING_BYTES_MAX, timeout_s, nullcontext())
        return await asyncio.to_thread(decode_families, status, body)

    async def close(self) -> None:
        """End what is under way."""
        await self._sessions.close()

    async def _ask(
        self,
        path: str,
        asked: dict[str, str],
        bytes_max: int,
        timeout_s: float,
        share: AbstractAsyncContextManager[None],
    ) -> tuple[int, bytes]:
        """Status and body of an answer, which may say that something is wrong. Raises PrometheusError."""
        try:
            async with asyncio.timeout(timeout_s), share, self._places, await self._sessions.current() as http:
                headers = self._headers()
                # GET where it fits, since some proxies let nothing else through.
                short = sum(map(len, asked.values())) <= _GET_QUERY_MAX
                async with http.request(
                    "GET" if short else "POST",
                    self._base / path,
                    params=asked if short else None,
                    data=None if short else asked,
                    headers=headers,
                    allow_redirects=False,
                ) as response:
                    return response.status, await self._body(response, bytes_max)
        except TimeoutError as error:
            raise PrometheusError(f"{self.place} did not answer within {timeout_s:g} s", "timeout") from untraced(error)
        except CertificatesError as error:
            raise PrometheusError(f"{self.place}: {error}", "tls") from error
        except TRANSPORT_ERRORS as error:
            raise PrometheusError(f"{self.place}: {unreachable(error)}", "transport") from untraced(error)

    async def _body(self, response: aiohttp.ClientResponse, bytes_max: int) -> bytes:
        status = response.status
        if 300 <= status < 400:  # noqa: PLR2004 - the redirections
            # The rest is often made for the one request, and a text that changes is another event each time.
            goal = shown(response.headers.get("Location", "nowhere").partition("?")[0])
            raise PrometheusError(
                f"{self.place} answered with a redirection to {goal}, which is not followed; check --prometheus-url",
                "redirection",
            )
        read = bytearray()
        async for part in response.content.iter_any():
            read += part
            if len(read) > bytes_max:
                raise PrometheusError(f"the answer of {self.place} is larger than {bytes_max} bytes", "size")
        body = bytes(read)
        if status not in _DECODED_IN_ANY_CASE and not (len(body) <= _DECODED_ON_LOOP_MAX and is_error(body)):
            start = shown(body[:80].decode(errors="replace"))
            raise PrometheusError(f"{self.place} answered with HTTP status {status}: {start}", f"status {status}")
        return body

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
        try:
            return read_secret(path, self.place)
        except SecretError as error:
            raise PrometheusError(str(error), f"file {path}") from error
