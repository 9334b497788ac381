"""Status writes of HPAs (§14.5).

The API server takes an object's metadata from the request, so the metadata that was read is sent back byte by byte.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from controller.decide.status import Status
from controller.kube.client import Client
from controller.kube.traffic import Traffic
from controller.kube.urls import path_of
from controller.ports import WatchedAutoscaler
from controller.wire.echoes import Echoes
from controller.wire.status import status_to

_NAMESPACES: Final = path_of("apis", "autoscaling", "v2", "namespaces")


class KubeStatusWriter:
    """The port `StatusWriter` over HTTP."""

    def __init__(self, client: Client, echoes: Echoes) -> None:
        """`echoes` is told of what is sent."""
        self._client = client
        self._echoes = echoes

    async def write(self, autoscaler: WatchedAutoscaler, status: Status, may_send: Callable[[], None]) -> None:
        """See ports.StatusWriter. The spec is left out: the server keeps its own."""
        path = _NAMESPACES + path_of(autoscaler.namespace, "horizontalpodautoscalers", autoscaler.name, "status")
        encoded = msgspec.json.encode(status_to(status))
        self._echoes.expect(encoded, status)
        await self._client.write("PUT", path, Traffic.STATUS, _body(autoscaler, encoded), may_send=may_send)


def _body(autoscaler: WatchedAutoscaler, status: bytes) -> bytes:
    """As a text: a request that waits for its place keeps nothing else."""
    written = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": msgspec.Raw(autoscaler.metadata),
        "status": msgspec.Raw(status),
    }
    return msgspec.json.encode(written)
