"""Credentials from a program (client.authentication.k8s.io), run once for all who wait, before the old ones expire."""

import asyncio
import contextlib
import json
import os
import signal
from typing import Any, Final

import msgspec
import structlog

from controller.decide.instants import NANOSECONDS, Now
from controller.kube.credentials import Credentials, CredentialsError
from controller.kube.errors import untraced
from controller.kube.exec_credential import API_VERSIONS, OUTPUT_BYTES_MAX, Printed, cluster_info, decode_credential
from controller.os_errors import why
from controller.ports import Clock

EXPIRY_MARGIN_S: Final = 60.0
"""How long before they expire credentials are renewed; short-lived ones, in the last fifth of their life."""

PAUSE_S: Final = 5.0
"""How long a failure is believed before the program is run again."""

TIMEOUT_S: Final = 60.0
_READ_BYTES: Final = 64 * 1024
_COMPLAINT_MAX: Final = 300

_log = structlog.get_logger(__name__)


class _Variable(msgspec.Struct):
    name: str
    value: str = ""


class _Entry(msgspec.Struct, rename="camel"):
    """`exec` of a kubeconfig's user."""

    command: str = ""
    api_version: str = ""
    args: list[str] | None = None
    env: list[_Variable] | None = None
    install_hint: str | None = None
    interactive_mode: str | None = None
    provide_cluster_info: bool | None = None


class _Known(msgspec.Struct, frozen=True):
    """Credentials with the wall times from which they are to be renewed, and from which they are useless."""

    credentials: Credentials
    renew_ns: float
    expires_ns: float


class _Failure(msgspec.Struct, frozen=True):
    """How the last run failed, and when (monotonic)."""

    error: CredentialsError
    at_ns: int


class ExecPlugin:
    """A TokenSource: a program that prints credentials."""

    def __init__(
        self, command: list[str], api_version: str, environment: dict[str, str], info: str, hint: str = ""
    ) -> None:
        """`info` is what the program finds in KUBERNETES_EXEC_INFO; `hint` says how to install it."""
        self._command = command
        self._api_version = api_version
        self._environment = environment
        self._info = info
        self._hint = hint
        self._known: _Known | None = None
        self._failure: _Failure | None = None
        self._running: asyncio.Task[None] | None = None
        self._closed = False

    @classmethod
    def from_config(cls, config: Any, cluster: dict[str, Any]) -> "ExecPlugin":
        """The plug-in that a user's `exec` entry describes; file names are absolute.

        Raises:
            ValueError: the entry cannot be used; the message says why.
        """
        try:
            entry = msgspec.convert(config, _Entry)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from error
        if not entry.command:
            raise ValueError("it has no command")
        if entry.api_version not in API_VERSIONS:
            raise ValueError(f"apiVersion is {entry.api_version!r}, known are {' and '.join(API_VERSIONS)}")
        if entry.interactive_mode == "Always":
            raise ValueError("interactiveMode is Always, but there is nobody to ask; use another kind of login")
        spec: dict[str, Any] = {"interactive": False}
        if entry.provide_cluster_info:
            spec["cluster"] = cluster_info(cluster)
        return cls(
            [entry.command, *(entry.args or ())],
            entry.api_version,
            {variable.name: variable.value for variable in entry.env or ()},
            # What YAML takes for a date was a text.
            json.dumps({"apiVersion": entry.api_version, "kind": "ExecCredential", "spec": spec}, default=str),
            " ".join((entry.install_hint or "").split()),
        )

    async def credentials(self, clock: Clock) -> Credentials:
        """See TokenSource; whoever has valid credentials does not wait for their renewal."""
        now = clock.now()
        known = self._known
        if known is not None and now.wall_ns < known.renew_ns:
            return known.credentials
        failed_lately = self._failure is not None and now.monotonic_ns - self._failure.at_ns < PAUSE_S * NANOSECONDS
        if known is not None and now.wall_ns < known.expires_ns:
            if not failed_lately and not self._closed:
                self._begin(clock)
            return known.credentials
        if self._failure is not None and failed_lately and self._running is None:
            raise untraced(self._failure.error)
        running = self._begin(clock)
        # Not `shield`: whoever waits for a run that close() ends has not been cancelled.
        await asyncio.wait([running])
        if running.cancelled():
            raise CredentialsError(f"the exec plug-in {self._command[0]!r} was stopped before it gave credentials")
        running.result()
        if self._known is None:
            raise CredentialsError(f"the exec plug-in {self._command[0]!r} gave no credentials that the server takes")
        return self._known.credentials

    def refused(self, credentials: Credentials) -> bool:
        """See TokenSource."""
        if self._known is not None and credentials == self._known.credentials:
            self._known = None
        return True

    async def close(self) -> None:
        """See TokenSource; a program that runs is killed, and whoever waits for it gets a CredentialsError."""
        self._closed = True
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    def _begin(self, clock: Clock) -> asyncio.Task[None]:
        if self._running is None:
            if self._closed:
                raise CredentialsError(f"the exec plug-in {self._command[0]!r} is not run any more: we are stopping")
            self._running = asyncio.create_task(self._run(clock), name=f"exec plug-in {self._command[0]}")
            self._running.add_done_callback(self._ran)
        return self._running

    def _ran(self, task: asyncio.Task[None]) -> None:
        self._running = None
        if not task.cancelled():
            task.exception()  # it has been seen by those who waited, and logged

    async def _run(self, clock: Clock) -> None:
        try:
            printed = await self._printed()
        except CredentialsError as error:
            _log.warning("no new credentials", error=str(error))
            self._failure = _Failure(error, clock.now().monotonic_ns)
            raise
        self._failure = None
        self._known = _known_since(printed, clock.now())

    async def _started(self) -> asyncio.subprocess.Process:
        environment = {**os.environ, **self._environment, "KUBERNETES_EXEC_INFO": self._info}
        try:
            return await asyncio.create_subprocess_exec(
                *self._command,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            hint = f" ({self._hint})" if self._hint else ""
            raise CredentialsError(
                f"the exec plug-in {self._command[0]!r} cannot be started: {why(error)}{hint}"
            ) from error

    async def _printed(self) -> Printed:
        name = self._command[0]
        starting = asyncio.create_task(self._started())
        code: int | None = None
        try:
            async with asyncio.timeout(TIMEOUT_S):
                # Shielded: one that is being started when we stop has to be known, or nobody could kill it.
                process = await asyncio.shield(starting)
                # Both pipes at once: a plug-in that fills one of them must not hang for the other.
                output, complaint = await asyncio.gather(_beginning(process.stdout), _end(process.stderr))
                code = await process.wait()
        except TimeoutError as error:
            raise CredentialsError(f"the exec plug-in {name!r} did not end within {TIMEOUT_S:g} s") from error
        finally:
            if code is None:
                await _killed(starting)
        if code != 0:
            last = complaint.decode("utf-8", "replace").strip().splitlines()[-1:]
            said = "".join(f": {line[:_COMPLAINT_MAX]}" for line in last)
            raise CredentialsError(f"the exec plug-in {name!r} ended with status {code}{said}")
        return decode_credential(name, self._api_version, output)


def _known_since(printed: Printed, now: Now) -> _Known:
    if printed.expires_ns is None:
        return _Known(printed.credentials, float("inf"), float("inf"))
    lifetime_ns = printed.expires_ns - now.wall_ns
    # What has expired already (a clock is wrong) is still tried, but not by running the program for each request.
    soonest_ns = now.wall_ns + int(PAUSE_S * NANOSECONDS)
    last_fifth_ns = now.wall_ns + lifetime_ns * 4 // 5
    renew_ns = max(printed.expires_ns - int(EXPIRY_MARGIN_S * NANOSECONDS), last_fifth_ns, soonest_ns)
    return _Known(printed.credentials, renew_ns, printed.expires_ns)


async def _killed(starting: asyncio.Task[asyncio.subprocess.Process]) -> None:
    """End a program, if it has been started, and whatever it has started itself, which keeps its pipes open."""
    await asyncio.wait([starting])
    if starting.exception() is not None:
        return
    process = starting.result()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    # What has left its session would keep them open all the same, and asyncio's own loop waits for their ends.
    process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 - nothing public closes them
    await process.wait()


async def _beginning(stream: asyncio.StreamReader | None) -> bytes:
    """What a program prints, read to its end; kept is a little more than what is allowed."""
    assert stream is not None  # noqa: S101 - it was asked for
    kept = bytearray()
    while data := await stream.read(_READ_BYTES):
        if len(kept) <= OUTPUT_BYTES_MAX:
            kept += data
    return bytes(kept)


async def _end(stream: asyncio.StreamReader | None) -> bytes:
    """The last of what a program prints."""
    assert stream is not None  # noqa: S101 - it was asked for
    kept = b""
    while data := await stream.read(_READ_BYTES):
        kept = (kept + data)[-_READ_BYTES:]
    return kept
