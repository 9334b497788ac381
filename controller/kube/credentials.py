"""Who we are at the API server: tokens that stay fresh, whether from a file or from an exec plug-in.

A source is asked before every request and told when the server refused its token; what is expensive happens once for
all who wait (single flight), before the old token expires.
"""

import asyncio
import base64
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from controller.decide.instants import NANOSECONDS, parse_rfc3339
from controller.ports import Clock

REREAD_S: Final = 60.0
"""How long a token file's content is used before the file is read again; kubelet rotates it well before it expires."""

EXPIRY_MARGIN_S: Final = 60.0
EXPIRY_SHARE: Final = 0.2
"""New credentials are asked for so long before the old ones expire, but not before most of their life is over."""

FAILED_PLUGIN_S: Final = 10.0
"""How long a plug-in that failed is left alone while what it gave before is still good."""

PLUGIN_TIMEOUT_S: Final = 60.0
PLUGIN_OUTPUT_MAX: Final = 1024 * 1024
_API_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


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


class NoCredentials:
    """Anonymous, or by client certificate only."""

    async def credentials(self, clock: Clock) -> Credentials:  # noqa: ARG002 - see TokenSource
        """See TokenSource."""
        return Credentials()

    def refused(self, credentials: Credentials) -> bool:  # noqa: ARG002 - see TokenSource
        """See TokenSource."""
        return False


class StaticToken:
    """A token written into the kubeconfig."""

    def __init__(self, token: str) -> None:
        self._credentials = Credentials(f"Bearer {token}")

    async def credentials(self, clock: Clock) -> Credentials:  # noqa: ARG002 - see TokenSource
        """See TokenSource."""
        return self._credentials

    def refused(self, credentials: Credentials) -> bool:  # noqa: ARG002 - see TokenSource
        """See TokenSource."""
        return False


class BasicAuth(StaticToken):
    """User name and password, for proxies in front of API servers."""

    def __init__(self, username: str, password: str) -> None:
        super().__init__("")
        encoded = base64.b64encode(f"{username}:{password}".encode()).decode()
        self._credentials = Credentials(f"Basic {encoded}")


class FileToken:
    """A token file that is replaced from time to time: read again every minute, and after a 401."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._known: Credentials | None = None
        self._read_ns = 0

    async def credentials(self, clock: Clock) -> Credentials:
        """See TokenSource; while the file cannot be read the last token is kept."""
        now_ns = clock.now().monotonic_ns
        if self._known is not None and now_ns - self._read_ns < REREAD_S * NANOSECONDS:
            return self._known
        try:
            token = self._path.read_text().strip()
        except (OSError, ValueError) as error:
            if self._known is None:
                reason = error.strerror if isinstance(error, OSError) else error
                raise CredentialsError(f"the token file {self._path} cannot be read: {reason}") from error
            return self._known
        if token:
            self._known, self._read_ns = Credentials(f"Bearer {token}"), now_ns
        if self._known is None:
            raise CredentialsError(f"the token file {self._path} is empty")
        return self._known

    def refused(self, credentials: Credentials) -> bool:
        """See TokenSource."""
        if credentials == self._known:
            self._read_ns -= int(REREAD_S * NANOSECONDS)
        return True


class ExecPlugin:
    """A program that prints credentials (client.authentication.k8s.io)."""

    def __init__(self, command: list[str], api_version: str, environment: dict[str, str], info: str) -> None:
        """`info` is what the program finds in KUBERNETES_EXEC_INFO."""
        self._command = command
        self._api_version = api_version
        self._environment = environment
        self._info = info
        self._known: Credentials | None = None
        self._expires_ns: int | None = None
        self._due_ns: int | None = None
        self._running: asyncio.Task[None] | None = None

    @classmethod
    def from_config(cls, config: Any, cluster: dict[str, Any]) -> "ExecPlugin":
        """The plug-in that a user's `exec` entry describes.

        Raises:
            ValueError: the entry cannot be used; the message says why.
        """
        if not isinstance(config, dict) or not config.get("command"):
            raise ValueError("it has no command")
        api_version = str(config.get("apiVersion"))
        if api_version not in _API_VERSIONS:
            raise ValueError(f"apiVersion is {api_version!r}, known are {' and '.join(_API_VERSIONS)}")
        spec: dict[str, Any] = {"interactive": False}
        if config.get("provideClusterInfo"):
            spec["cluster"] = {
                "server": cluster.get("server"),
                "certificate-authority-data": cluster.get("certificate-authority-data"),
                "insecure-skip-tls-verify": cluster.get("insecure-skip-tls-verify", False),
            }
        info = json.dumps({"apiVersion": api_version, "kind": "ExecCredential", "spec": spec})
        environment = {str(entry["name"]): str(entry["value"]) for entry in config.get("env") or ()}
        command = [str(config["command"]), *map(str, config.get("args") or ())]
        return cls(command, api_version, environment, info)

    async def credentials(self, clock: Clock) -> Credentials:
        """See TokenSource; the program runs once for all who wait, and before the old credentials expire."""
        wall_ns = clock.now().wall_ns
        if self._known is not None and (self._due_ns is None or wall_ns < self._due_ns):
            return self._known
        if self._running is None:
            self._running = asyncio.create_task(self._run(wall_ns), name=f"exec plug-in {self._command[0]}")
            self._running.add_done_callback(self._ran)
        try:
            await asyncio.shield(self._running)
        except CredentialsError:
            if self._known is None or (self._expires_ns is not None and wall_ns >= self._expires_ns):
                raise
            self._due_ns = wall_ns + int(FAILED_PLUGIN_S * NANOSECONDS)
        if self._known is None:
            raise CredentialsError(f"the exec plug-in {self._command[0]!r} gave no credentials")
        return self._known

    def refused(self, credentials: Credentials) -> bool:
        """See TokenSource."""
        if credentials == self._known:
            self._known = None
        return True

    def _ran(self, task: asyncio.Task[None]) -> None:
        self._running = None
        if not task.cancelled():
            task.exception()  # it has been seen by those who waited

    async def _run(self, wall_ns: int) -> None:
        name = self._command[0]
        environment = {**os.environ, **self._environment, "KUBERNETES_EXEC_INFO": self._info}
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise CredentialsError(f"the exec plug-in {name!r} cannot be started: {error.strerror or error}") from error
        try:
            async with asyncio.timeout(PLUGIN_TIMEOUT_S):
                # Both pipes at once: a plug-in that fills one of them must not hang for the other.
                output, errors = await process.communicate()
        except TimeoutError as error:
            raise CredentialsError(f"the exec plug-in {name!r} did not end within {PLUGIN_TIMEOUT_S:g} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            said = "".join(f": {line}" for line in errors.decode("utf-8", "replace").strip().splitlines()[-1:])
            raise CredentialsError(f"the exec plug-in {name!r} ended with status {process.returncode}{said}")
        self._known, self._expires_ns = _decode(name, self._api_version, output)
        self._due_ns = None if self._expires_ns is None else _due_ns(wall_ns, self._expires_ns)


def _due_ns(wall_ns: int, expires_ns: int) -> int:
    """When to ask again for credentials that expire; short-lived ones must not be asked for before each request."""
    margin_ns = min(EXPIRY_MARGIN_S * NANOSECONDS, EXPIRY_SHARE * (expires_ns - wall_ns))
    return expires_ns - max(int(margin_ns), 0)


def _decode(name: str, api_version: str, output: bytes) -> tuple[Credentials, int | None]:
    """Credentials and their expiry from what a plug-in printed."""
    problem = f"the exec plug-in {name!r} printed no usable ExecCredential"
    try:
        printed = msgspec.json.decode(output[:PLUGIN_OUTPUT_MAX])
        if printed["apiVersion"] != api_version:
            raise CredentialsError(f"{problem}: its apiVersion is {printed['apiVersion']!r}, not {api_version!r}")
        status = printed["status"]
        token = status.get("token")
        certificate, key = status.get("clientCertificateData"), status.get("clientKeyData")
        expiry = status.get("expirationTimestamp")
        expires_ns = parse_rfc3339(expiry) if expiry else None
    except (msgspec.MsgspecError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CredentialsError(f"{problem}: {error}") from error
    if not token and not (certificate and key):
        raise CredentialsError(f"{problem}: neither a token nor a client certificate with its key")
    return Credentials(
        f"Bearer {token}" if token else None, (certificate, key) if certificate and key else None
    ), expires_ns


def write_certificate(certificate: tuple[str, str], folder: str) -> tuple[str, str]:
    """Paths of certificate and key files, readable by us only, for a TLS library that takes files."""
    paths = []
    for content in certificate:
        handle, path = tempfile.mkstemp(dir=folder, suffix=".pem")
        with os.fdopen(handle, "w") as file:
            file.write(content)
        paths.append(path)
    return paths[0], paths[1]
