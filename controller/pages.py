"""What the controller serves over HTTP, on the addresses of its flags."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, Protocol

from aiohttp import web
from prometheus_client import CollectorRegistry

from controller.kube.client import Client
from controller.kube.reviews import Reviews
from controller.settings import RunSettings
from controller.telemetry.exposition import metrics_route
from controller.telemetry.secured import ServingCertificate, guarded
from controller.telemetry.server import Check, Listener, health_route

_METRICS_FLAG: Final = "--metrics-bind-address"


class Reporter(Protocol):
    """What may have something to say to people who ask how the controller is."""

    def lines(self) -> list[str]:
        """Each a finding."""
        ...


class Pages:
    """Metrics, health, and what explains decisions: a listener each.

    Attributes:
        health: the listener of `/healthz`, `/livez` and `/readyz`.
    """

    def __init__(
        self,
        settings: RunSettings,
        client: Client,
        registry: CollectorRegistry,
        *,
        ready: Check,
        reporters: Iterable[Reporter],
        introspection: Mapping[str, Callable[[web.Request], Awaitable[web.StreamResponse]]],
    ) -> None:
        """`ready` and what `reporters` have to say make up `/readyz`; `introspection` has an address of its own.

        Raises:
            BindError: the certificate of `/metrics` is missing or cannot be used.
        """
        self._certificate = ServingCertificate(settings.metrics_cert_dir) if settings.metrics_secure else None
        alive = health_route({"ping": lambda: None})
        about = health_route({"caches": ready}, lambda: [line for reporter in reporters for line in reporter.lines()])
        self._metrics = self._metrics_page(settings.metrics_address, client, registry)
        self.health = Listener(
            settings.health_address,
            {"/healthz": alive, "/livez": alive, "/readyz": about},
            flag="--health-probe-bind-address",
        )
        self._introspection = Listener(
            settings.introspection_address, introspection, flag="--introspection-bind-address"
        )

    def explains_at(self) -> str:
        """Where `/explain` and its like are served, `host:port`; empty while they are not."""
        return self._introspection.address

    async def start(self) -> None:
        """Serve all of them.

        Raises:
            BindError: a listener's address cannot be used.
        """
        for listener in (self._metrics, self.health, self._introspection):
            await listener.start()

    async def stop(self) -> None:
        """Serve none of them."""
        await asyncio.gather(*(listener.stop() for listener in (self._metrics, self.health, self._introspection)))

    async def follow_certificate(self) -> None:
        """Use new certificates as they come, until cancelled; nothing to do without TLS."""
        if self._certificate is not None:
            await self._certificate.follow()

    def _metrics_page(self, address: str, client: Client, registry: CollectorRegistry) -> Listener:
        """`/metrics`; with a certificate over TLS, for whom the API server lets."""
        page = metrics_route(registry)
        if self._certificate is None:
            return Listener(address, {"/metrics": page}, flag=_METRICS_FLAG)
        reviews = Reviews(client, asyncio.get_running_loop().time)
        guarded_page = {"/metrics": guarded(page, reviews.admission)}
        return Listener(address, guarded_page, self._certificate.context, flag=_METRICS_FLAG)
