"""Everything that is listed and watched, and the caches it fills."""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Any, Final, TypeVar

from prometheus_client.core import Metric

from controller.backoff import WATCH_MAX_S, Random
from controller.cache import Cache, NamespaceStore, Store
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
from controller.patience import Patience
from controller.pod_cache import PodCache
from controller.ports import Instruments, WatchedAutoscaler
from controller.telemetry.families import gauge
from controller.telemetry.instruments import OURS
from controller.watch import Watch
from controller.wire.echoes import Echoes

SOCKET_SILENCE_S: Final = Patience().silence_max_s * 2
"""The watchdog of the watch speaks first; this only frees sockets that nobody reads any more."""

_AUTOSCALERS: Final = "horizontalpodautoscalers"

T = TypeVar("T")


class Watches:
    """Makes watches of one API server; they run when whoever starts the controller runs `all`.

    Attributes:
        all: every watch made so far.
        echoes: to be told of statuses that are sent, so that they need not be decoded when a watch tells of them.
    """

    def __init__(self, client: Client, instruments: Instruments, random: Random, sync_period_s: float) -> None:
        self._client = client
        self._instruments = instruments
        self._random = random
        # Two periods after an outage of any length every HPA is synced again.
        self._patience = Patience(wait_max_s=min(WATCH_MAX_S, sync_period_s / 2))
        self.all: list[Watch[Any]] = []
        self.echoes = Echoes()
        self._grounds: dict[str, tuple[Watch[Any], ...]] = {}

    def follow(self, namespaces: Iterable[str], autoscalers: Cache[WatchedAutoscaler], pods: PodCache) -> None:
        """Watch what decisions rest on, HPAs and pods, in these namespaces; an empty name stands for all.

        One that may not be read, or is gone, keeps no other from being decided on.
        """
        decode = partial(decode_watched_autoscaler, known=autoscalers.peek, echoes=self.echoes)
        for namespace in namespaces:
            store = NamespaceStore(autoscalers, namespace) if namespace else autoscalers
            pod_store = NamespaceStore(pods, namespace) if namespace else pods
            path, pod_path = (
                list_path("/apis/autoscaling/v2", _AUTOSCALERS, namespace),
                list_path("/api/v1", "pods", namespace),
            )
            hpas = KubeListWatch(self._client, path, decode, silence_max_s=SOCKET_SILENCE_S)
            all_pods = KubeListWatch(self._client, pod_path, decode_watched_pod, silence_max_s=SOCKET_SILENCE_S)
            self._grounds[namespace] = (
                self.add(watch_name(_AUTOSCALERS, namespace), hpas, store),
                self.add(watch_name("pods", namespace), all_pods, pod_store),
            )

    def follow_orders(self, namespace: str, name: str, orders: Orders) -> None:
        """Watch the ConfigMap that says what is written."""
        path = list_path("/api/v1", "configmaps", namespace)
        source = KubeListWatch(
            self._client, path, decode_modes, silence_max_s=SOCKET_SILENCE_S, field_selector=f"metadata.name={name}"
        )
        otherwise = "nothing is written before it has been read, and changes are seen up to a minute late"
        self.add(f"configmap {namespace}/{name}", source, orders, otherwise, relists=True)

    def add(
        self,
        resource: str,
        source: KubeListWatch[T],
        store: Store[T],
        otherwise: str = "",
        *,
        relists: bool = False,
    ) -> Watch[T]:
        """A watch that has yet to be run. `otherwise`: what happens while it cannot be; `relists`: see Watch."""
        watch = Watch(
            resource,
            source,
            store,
            random=self._random,
            instruments=self._instruments,
            patience=self._patience,
            otherwise=otherwise,
            relists=relists,
        )
        self.all.append(watch)
        return watch

    def alive(self, namespace: str) -> bool:
        """Whether the caches are alive that decisions about this namespace's HPAs rest on."""
        grounds = self._grounds.get(namespace) or self._grounds[""]
        for watch in grounds:  # noqa: SIM110 - a generator would cost as much as what it asks
            if not watch.liveness.alive:
                return False
        return True

    @property
    def complete(self) -> bool:
        """Whether there is nothing that decisions rest on which has not been listed."""
        return all(watch.liveness.synced for watch in self._all_grounds())

    async def synced(self) -> None:
        """Return when the caches that decisions rest on are filled (§2.2), those of one namespace at least.

        Nobody waits for what has been refused: it may be for ever.
        """
        await asyncio.gather(*(watch.liveness.wait_settled() for watch in self._all_grounds()))
        filled = [asyncio.ensure_future(_filled(grounds)) for grounds in self._grounds.values()]
        try:
            await asyncio.wait(filled, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in filled:
                each.cancel()

    def unsynced(self) -> str | None:
        """Which of these caches have not been filled yet, but for those that nobody waits for; None when all are."""
        filled = any(all(watch.liveness.synced for watch in grounds) for grounds in self._grounds.values())
        missing = [
            watch.resource
            for watch in self._all_grounds()
            if not (watch.liveness.settled if filled else watch.liveness.synced)
        ]
        return f"not listed yet: {', '.join(missing)}" if missing else None

    def lines(self) -> list[str]:
        """What people should know of watches that have been lost, when they ask how the controller is."""
        lines = []
        for namespace, needed in self._grounds.items():
            # What may not be read has never been there; nor will it be, unless somebody does something about it.
            lost = [watch.resource for watch in needed if watch.liveness.settled and not watch.liveness.alive]
            if lost:
                where = f" in {namespace}" if namespace else ""
                lines.append(f"[!]not watched now: {', '.join(lost)}; nothing is decided{where} until they are")
        grounds = self._all_grounds()
        others = [
            watch.resource
            for watch in self.all
            if watch.liveness.synced and not watch.liveness.alive and watch not in grounds
        ]
        return [*lines, *([f"[i]not watched now: {', '.join(others)}"] if others else ())]

    def _all_grounds(self) -> list[Watch[Any]]:
        return [watch for grounds in self._grounds.values() for watch in grounds]

    def families(self) -> Iterable[Metric]:
        """Which of them are alive."""
        alive = [((watch.resource,), float(watch.liveness.alive)) for watch in self.all]
        yield gauge(f"{OURS}_watch_alive", "1 while the resource is listed and watched.", alive, ("resource",))


async def _filled(grounds: Iterable[Watch[Any]]) -> None:
    for watch in grounds:
        await watch.liveness.wait_synced()
