"""Everything that is listed and watched, and the caches it fills."""

import asyncio
from collections.abc import Iterable
from typing import Any, Final, TypeVar

from prometheus_client.core import Metric

from controller.backoff import WATCH_MAX_S, Random
from controller.cache import Cache, Liveness, NamespaceStore, Store
from controller.kube.client import Client
from controller.kube.list_watch import (
    KubeListWatch,
    decode_modes,
    decode_watched_autoscaler,
    decode_watched_pod,
    list_path,
    watch_name,
)
from controller.modes import Orders
from controller.pod_cache import PodCache
from controller.ports import Instruments, WatchedAutoscaler
from controller.telemetry.families import gauge
from controller.telemetry.instruments import OURS
from controller.watch import Patience, Watch

SOCKET_SILENCE_S: Final = Patience().silence_max_s * 2
"""The watchdog of the watch speaks first; this only frees sockets that nobody reads any more."""

_AUTOSCALERS: Final = "horizontalpodautoscalers"

T = TypeVar("T")


class Watches:
    """Makes watches of one API server; they run when whoever starts the controller runs `all`.

    Attributes:
        all: every watch made so far.
        grounds: the caches that decisions rest on.
    """

    def __init__(self, client: Client, instruments: Instruments, random: Random, sync_period_s: float) -> None:
        self._client = client
        self._instruments = instruments
        self._random = random
        # Two periods after an outage of any length every HPA is synced again.
        self._patience = Patience(wait_max_s=min(WATCH_MAX_S, sync_period_s / 2))
        self.all: list[Watch[Any]] = []
        self.grounds: tuple[Liveness, ...] = ()

    def follow(self, namespaces: Iterable[str], autoscalers: Cache[WatchedAutoscaler], pods: PodCache) -> None:
        """Watch what decisions rest on, HPAs and pods, in these namespaces; an empty name stands for all."""
        for namespace in namespaces:
            store = NamespaceStore(autoscalers, namespace) if namespace else autoscalers
            pod_store = NamespaceStore(pods, namespace) if namespace else pods
            path, pod_path = (
                list_path("/apis/autoscaling/v2", _AUTOSCALERS, namespace),
                list_path("/api/v1", "pods", namespace),
            )
            hpas = KubeListWatch(self._client, path, decode_watched_autoscaler, silence_max_s=SOCKET_SILENCE_S)
            all_pods = KubeListWatch(self._client, pod_path, decode_watched_pod, silence_max_s=SOCKET_SILENCE_S)
            self.grounds += (
                self.add(watch_name(_AUTOSCALERS, namespace), hpas, store).liveness,
                self.add(watch_name("pods", namespace), all_pods, pod_store).liveness,
            )

    def follow_orders(self, namespace: str, name: str, orders: Orders) -> None:
        """Watch the ConfigMap that says what is written."""
        path = list_path("/api/v1", "configmaps", namespace)
        source = KubeListWatch(
            self._client, path, decode_modes, silence_max_s=SOCKET_SILENCE_S, field_selector=f"metadata.name={name}"
        )
        self.add(f"configmap {namespace}/{name}", source, orders, "nothing is written until it can be read")

    def add(self, resource: str, source: KubeListWatch[T], store: Store[T], otherwise: str = "") -> Watch[T]:
        """A watch that has yet to be run. `otherwise`: what happens while it cannot be."""
        watch = Watch(
            resource,
            source,
            store,
            random=self._random,
            instruments=self._instruments,
            patience=self._patience,
            otherwise=otherwise,
        )
        self.all.append(watch)
        return watch

    async def synced(self) -> None:
        """Returns when the caches that decisions rest on are filled (§2.2)."""
        await asyncio.gather(*(liveness.wait_synced() for liveness in self.grounds))

    def unsynced(self) -> str | None:
        """Which of these caches have not been filled yet; None when all are."""
        missing = [watch.resource for watch in self.all if watch.liveness in self.grounds and not watch.liveness.synced]
        return f"not listed yet: {', '.join(missing)}" if missing else None

    def lines(self) -> list[str]:
        """What people should know of watches that have been lost, when they ask how the controller is."""
        lost = [watch for watch in self.all if watch.liveness.synced and not watch.liveness.alive]
        grounds = [watch.resource for watch in lost if watch.liveness in self.grounds]
        others = [watch.resource for watch in lost if watch.liveness not in self.grounds]
        return [
            *([f"[!]not watched now: {', '.join(grounds)}; nothing is decided until they are"] if grounds else ()),
            *([f"[i]not watched now: {', '.join(others)}"] if others else ()),
        ]

    def families(self) -> Iterable[Metric]:
        """Which of them are alive."""
        alive = [((watch.resource,), float(watch.liveness.alive)) for watch in self.all]
        yield gauge(f"{OURS}_watch_alive", "1 while the resource is listed and watched.", alive, ("resource",))
