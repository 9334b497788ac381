"""Pages over TLS for visitors whose bearer token is good for them (`--metrics-secure`)."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Literal

import structlog
from aiohttp import web

from controller.file_stamps import Stamp, stamp_of
from controller.os_errors import no_pass_phrase, why
from controller.ports import ApiError
from controller.telemetry.server import BindError

CHECKED_S: Final = 10.0
"""How often the certificate's files are looked at."""

_PREFIX: Final = "bearer "

Examine = Callable[[str, str], Awaitable[Literal["allowed", "unknown", "forbidden"]]]
"""Whether the user of a token may read a path; raises ApiError when that cannot be told."""

_log = structlog.get_logger(__name__)


class ServingCertificate:
    """The TLS settings of a listener, from `tls.crt` and `tls.key` in a folder, as a Secret of type tls is mounted.

    `context` stays the same object: new connections use the certificate that was read last.
    """

    def __init__(self, folder: str) -> None:
        """Reads the files.

        Raises:
            BindError: they are missing or cannot be used.
        """
        self._certificate, self._key = Path(folder) / "tls.crt", Path(folder) / "tls.key"
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._stamp = self._stamps()
        try:
            self._load(self.context)
        except (OSError, ValueError) as error:
            raise BindError(
                f"--metrics-cert-dir: the certificate {self._certificate} and its key cannot be used: {why(error)}"
            ) from error

    async def follow(self) -> None:
        """Read the files again when they have changed, until cancelled; what cannot be used changes nothing."""
        while True:
            await asyncio.sleep(CHECKED_S)
            self.refresh()

    def refresh(self) -> None:
        """Read the files again if they have changed."""
        stamp = self._stamps()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            # On its own first: a key that does not fit would leave the listener without any.
            self._load(ssl.create_default_context(ssl.Purpose.CLIENT_AUTH))
            self._load(self.context)
        except (OSError, ValueError) as error:
            _log.warning(
                "the new certificate cannot be used, going on with the one from before",
                file=str(self._certificate),
                error=why(error),
            )
            return
        _log.info("the certificate has changed, new connections use the new one", file=str(self._certificate))

    def _load(self, context: ssl.SSLContext) -> None:
        context.load_cert_chain(self._certificate, self._key, no_pass_phrase(str(self._key)))

    def _stamps(self) -> Stamp:
        return stamp_of((self._certificate, self._key))


def guarded(
    page: Callable[[web.Request], Awaitable[web.StreamResponse]], examine: Examine
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """The page for those who may read it; others get 401, 403, or 503 while nobody can tell."""

    async def guarding(request: web.Request) -> web.StreamResponse:
        header = request.headers.get("Authorization", "")
        token = header[len(_PREFIX) :].strip() if header.lower().startswith(_PREFIX) else ""
        if not token:
            return _refusal(401, "a bearer token is needed")
        try:
            found = await examine(token, request.path)
        except ApiError as error:
            _log.warning("a visitor could not be examined", path=request.path, error=str(error))
            return _refusal(503, "the API server could not be asked who you are")
        match found:
            case "allowed":
                return await page(request)
            case "unknown":
                return _refusal(401, "the bearer token is not valid in this cluster")
            case "forbidden":
                return _refusal(403, f"the token's user may not get the non-resource URL {request.path}")

    return guarding


def _refusal(status: int, text: str) -> web.Response:
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}  # noqa: PLR2004 - unauthorized
    return web.Response(status=status, text=f"{text}\n", headers=headers)
