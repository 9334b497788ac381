"""The lab's API server: a cluster behind HTTP on this machine."""

from __future__ import annotations

import asyncio
import random
import secrets
import ssl
from typing import TYPE_CHECKING, Self

import msgspec

from controller.lab.cluster import Cluster
from controller.lab.faults import Faults
from controller.lab.kubeconfig import write_kubeconfig
from controller.lab.listening import Listener
from controller.lab.request_log import RequestLog
from controller.lab.serving.front import Front
from controller.lab.serving.service import Service, WatchSettings

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

_GZIP_THRESHOLD_BYTES = 128 * 1024


class ServingCertificate(msgspec.Struct, frozen=True):
    """Files in PEM for serving HTTPS; `authority` is what clients trust."""

    certificate: Path
    key: Path
    authority: Path


class LabServer:
    """An API server for a `Cluster`, from `start` to `stop` or within `async with`.

    Attributes:
        cluster: What it serves.
        faults: What goes wrong, switched on and off at any time.
        requests: What was asked, in order.
        token: The bearer token clients must send; None when none is needed.

    Args:
        cluster: What to serve; a new one when None.
        port: The port on 127.0.0.1; a free one when 0. It stays the same over restarts.
        authenticate: Whether to require a bearer token, which is made here. kubectl sends it over HTTPS only.
        certificate: Serve HTTPS with this; plain HTTP when None.
        watch: How watches behave.
        request_limit: How many requests the log keeps.
        gzip_threshold_bytes: Answers from this size on are compressed for clients that accept it.
        seed: Determines which requests a fault with a probability hits.

    """

    def __init__(
        self,
        cluster: Cluster | None = None,
        *,
        port: int = 0,
        authenticate: bool = False,
        certificate: ServingCertificate | None = None,
        watch: WatchSettings | None = None,
        request_limit: int = 10_000,
        gzip_threshold_bytes: int = _GZIP_THRESHOLD_BYTES,
        seed: int = 1,
    ) -> None:
        self.cluster = cluster or Cluster()
        self.faults = Faults(random.Random(seed))  # noqa: S311 - repeatable on purpose
        self.requests = RequestLog(request_limit)
        self.token = secrets.token_urlsafe(24) if authenticate else None
        self._certificate = certificate
        loop_time_s = asyncio.get_running_loop().time
        service = Service(self.cluster.world, self.cluster.metrics, self.faults, loop_time_s, watch)
        self._front = Front(service, self.requests, self.token, gzip_threshold_bytes)
        self._listener = Listener(self._front.handle, port, self._tls)

    @property
    def port(self) -> int:
        """The port it listens on; 0 before the first start when none was asked for."""
        return self._listener.port

    @property
    def url(self) -> str:
        """Where it is found, without a slash at the end."""
        return f"{'https' if self._certificate else 'http'}://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Listen; raises OSError when the port is taken and RuntimeError when it is running already."""
        await self._listener.start()

    async def stop(self) -> None:
        """Stop listening and cut all connections; nothing happens when it does not run."""
        await self._listener.stop()

    async def restart(self, down_s: float = 0, *, forget_history: bool = False) -> None:
        """Be gone for some seconds of lab time, then serve the same objects on the same port.

        `forget_history` makes watches from before the restart get 410, as they do when a server starts with
        an empty watch cache.
        """
        await self.stop()
        await asyncio.sleep(down_s)
        if forget_history:
            self.cluster.forget_history()
        await self.start()

    def write_kubeconfig(self, path: Path, namespace: str = "default") -> None:
        """Write a kubeconfig for this server, readable by its owner only; the port must be known."""
        authority = self._certificate.authority if self._certificate else None
        write_kubeconfig(path, url=self.url, namespace=namespace, authority=authority, token=self.token)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def _tls(self) -> ssl.SSLContext | None:
        if self._certificate is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._certificate.certificate, self._certificate.key)
        return context
