"""Who we are at the API server: tokens that stay fresh, from a kubeconfig, a file, or (see `exec_plugin`) a program.

A source is asked before every request and told when the server refused its credentials.
"""

import base64
from pathlib import Path
from typing import Final, Protocol

import msgspec
import structlog

from controller.decide.instants import NANOSECONDS
from controller.os_errors import why
from controller.ports import Clock

REREAD_S: Final = 60.0
"""How long a token file's content is used before the file is read again; kubelet rotates it well before it expires."""

_log = structlog.get_logger(__name__)


class CredentialsError(Exception):
    """No credentials can be had; the message names the file or plug-in."""


class Credentials(msgspec.Struct, frozen=True):
    """What to authenticate with: a header's value, or a client certificate and its key as PEM."""

    authorization: str | None = None
    certificate: tuple[str, str] | None = None


class TokenSource(Protocol):
    """Where credentials come from."""

    async def credentials(self, clock: Clock) -> Credentials:
        """Credentials to use now. Raises CredentialsError."""
        ...

    def refused(self, credentials: Credentials) -> bool:
        """The server answered 401 to these; True if asking again may give others."""
        ...

    async def close(self) -> None:
        """End what is under way for credentials; nothing is begun any more."""
        ...


class NoCredentials:
    """Anonymous, or by client certificate only."""

    async def credentials(self, clock: Clock) -> Credentials:  # noqa: ARG002 - see TokenSource
        """See TokenSource."""
        return Credentials()

    async def close(self) -> None:
        """See TokenSource; there is nothing to end."""

    def refused(self, credentials: Credentials) -> bool:  # noqa: ARG002 - see TokenSource
        """See TokenSource."""
        return False


class FixedCredentials:
    """A token, or user name and password, written into the kubeconfig."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    async def credentials(self, clock: Clock) -> Credentials:  # noqa: ARG002 - see TokenSource
        """See TokenSource."""
        return self._credentials

    async def close(self) -> None:
        """See TokenSource; there is nothing to end."""

    def refused(self, credentials: Credentials) -> bool:  # noqa: ARG002 - see TokenSource
        """See TokenSource."""
        return False


class FileToken:
    """A token file that is replaced from time to time: read again every minute, and after a 401."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._known: Credentials | None = None
        self._read_ns = 0

    async def credentials(self, clock: Clock) -> Credentials:
        """See TokenSource; while the file holds no token the last one is kept."""
        now_ns = clock.now().monotonic_ns
        if self._known is not None and now_ns - self._read_ns < REREAD_S * NANOSECONDS:
            return self._known
        try:
            self._known = self._read()
        except CredentialsError as error:
            if self._known is None:
                raise
            _log.warning("the token file cannot be used, going on with the token from before", error=str(error))
        self._read_ns = now_ns
        return self._known

    async def close(self) -> None:
        """See TokenSource; there is nothing to end."""

    def refused(self, credentials: Credentials) -> bool:
        """See TokenSource."""
        if credentials == self._known:
            self._read_ns -= int(REREAD_S * NANOSECONDS)
        return True

    def _read(self) -> Credentials:
        try:
            token = self._path.read_text().strip()
        except OSError as error:
            raise CredentialsError(f"the token file {self._path} cannot be read: {why(error)}") from error
        except ValueError as error:
            raise CredentialsError(f"the token file {self._path} holds no text") from error
        if not token:
            raise CredentialsError(f"the token file {self._path} is empty")
        return bearer(token, f"the token file {self._path}")


def bearer(token: str, whence: str) -> Credentials:
    """Credentials of a bearer token.

    Raises:
        CredentialsError: what `whence` names holds something that no header can carry.
    """
    if not token.isascii() or not token.isprintable() or " " in token:
        # The text itself stays out of the message: most of it may be a secret.
        raise CredentialsError(f"{whence} holds no token: there are blanks, line breaks or letters beyond ASCII in it")
    return Credentials(f"Bearer {token}")


def basic(username: str, password: str) -> Credentials:
    """Credentials of a user name and password, for proxies in front of API servers."""
    return Credentials(f"Basic {base64.b64encode(f'{username}:{password}'.encode()).decode()}")
