"""Scale subresources of any kind: found by discovery, read from watch caches where there are some, written (§19)."""

from collections.abc import Callable, Coroutine
from typing import Any, Final, Literal

import msgspec
import structlog

from controller.cache import Cache
from controller.decide.observed import Scale, ScaleFailure
from controller.decide.spec import Reference
from controller.kube.client import Client
from controller.kube.discovery import Discovery, Resource
from controller.kube.list_watch import KubeListWatch, list_path, watch_name
from controller.kube.traffic import Traffic
from controller.kube.urls import path_of
from controller.liveness import Liveness
from controller.ports import ApiError, NotFound, ScaleReading
from controller.watch import Watch
from controller.wire.errors import WireError
from controller.wire.scales import NamedScale, decode_scale, decode_workload, scale_to

_log = structlog.get_logger(__name__)

WATCHED: Final[dict[tuple[str, str], Resource]] = {
    ("apps", "Deployment"): Resource("apps", "v1", "deployments"),
    ("apps", "ReplicaSet"): Resource("apps", "v1", "replicasets"),
    ("apps", "StatefulSet"): Resource("apps", "v1", "statefulsets"),
    ("", "ReplicationController"): Resource("", "v1", "replicationcontrollers"),
}
"""Kinds that every cluster serves under these names, and whose scale follows from the object itself."""

WRITTEN_MIN: Final = 1_000
"""How many versions of our own writes are kept before those are looked for that nobody needs any more."""

NewWatch = Callable[[str, KubeListWatch[NamedScale], Cache[NamedScale]], Watch[NamedScale]]
Spawn = Callable[[Coroutine[Any, Any, None]], object]


class ScaleCaches:
    """Watch caches of the common kinds, each begun when the first HPA targets it (`--scale-reads=cache`).

    A kind that may not be watched, or whose watch is down, simply gives nothing: its scales are then read one by one.
    """

    def __init__(
        self, client: Client, new_watch: NewWatch, spawn: Spawn, *, silence_max_s: float, by_namespace: bool = False
    ) -> None:
        """`by_namespace`: a watch for each namespace instead of one for the cluster."""
        self._client = client
        self._by_namespace = by_namespace
        self._new_watch = new_watch
        self._spawn = spawn
        self._silence_max_s = silence_max_s
        self._kinds: dict[tuple[str, str, str], tuple[Cache[NamedScale], Liveness]] = {}

    def get(self, group: str, kind: str, namespace: str, name: str) -> Scale | None:
        """The cached scale, or None if it has to be asked for."""
        resource = WATCHED.get((group, kind))
        if resource is None:
            return None
        part = namespace if self._by_namespace else ""
        watched = self._kinds.get((group, kind, part))
        if watched is None:
            self._kinds[group, kind, part] = self._begin(resource, kind, part)
            return None
        cache, liveness = watched
        if not liveness.alive:
            return None
        found = cache.get(f"{namespace}/{name}")
        return None if found is None else found.scale

    def down(self, group: str, kind: str, namespace: str) -> bool:
        """Whether what was cached of a kind may come back as it was: its watch has been lost, for now."""
        watched = self._kinds.get((group, kind, namespace if self._by_namespace else ""))
        return watched is not None and not watched[1].alive

    def _begin(self, resource: Resource, kind: str, namespace: str) -> tuple[Cache[NamedScale], Liveness]:
        shape: Literal["ReplicationController", "Deployment"] = (
            "ReplicationController" if kind == "ReplicationController" else "Deployment"
        )

        def decode(body: bytes) -> tuple[NamedScale, str]:
            decoded = decode_workload(body, shape)
            return decoded, decoded.scale.version

        path = list_path(resource.path, resource.plural, namespace)
        source = KubeListWatch(self._client, path, decode, silence_max_s=self._silence_max_s)
        cache: Cache[NamedScale] = Cache(lambda item: f"{item.namespace}/{item.name}")
        watch = self._new_watch(watch_name(resource.plural, namespace), source, cache)
        self._spawn(watch.run())
        return cache, watch.liveness


class KubeScales:
    """The port `Scales` over HTTP."""

    def __init__(self, client: Client, discovery: Discovery, caches: ScaleCaches | None) -> None:
        """`caches` None: every read goes to the API server, as upstream's do (`--scale-reads=api`)."""
        self._client = client
        self._discovery = discovery
        self._caches = caches
        self._written: dict[tuple[str, str, str, str], int] = {}
        self._swept_at = WRITTEN_MIN

    async def read(self, namespace: str, target: Reference, *, live: bool) -> ScaleReading:
        """See ports.Scales."""
        try:
            group = group_of(target.api_version)
        except ValueError as error:
            return ScaleReading(ScaleFailure(f"invalid scale target reference: {error}", "spec"), live=True)
        if not live and self._caches is not None:
            cached = self._caches.get(group, target.kind, namespace, target.name)
            if cached is not None and self._current((group, target.kind, namespace, target.name), cached):
                return ScaleReading(cached, live=False)
        try:
            resources = await self._resources(group, target.kind)
        except ApiError as error:
            return ScaleReading(ScaleFailure(f"unable to determine resource for scale target: {error}"), live=True)
        problem = ""
        for resource in resources:
            try:
                return ScaleReading(await self._get(namespace, target.name, resource), live=True)
            except ApiError as error:
                problem = problem or str(error)
        return ScaleReading(ScaleFailure(problem or "unrecognized resource"), live=True)

    async def write(
        self, namespace: str, target: Reference, scale: Scale, replicas: int, may_send: Callable[[], None]
    ) -> None:
        """See ports.Scales."""
        group = group_of(target.api_version)
        first: ApiError | None = None
        for resource in await self._resources(group, target.kind):
            body = msgspec.json.encode(
                scale_to(resource.scale_api_version, resource.scale_kind, namespace, target.name, scale, replicas)
            )
            try:
                answer = await self._client.write(
                    "PUT",
                    _path(namespace, target.name, resource),
                    Traffic.SCALE,
                    body,
                    may_send=may_send,
                )
            except NotFound as error:
                first = first or error
                continue
            self._remember((group, target.kind, namespace, target.name), answer)
            return
        try:
            raise first or ApiError("unrecognized resource")
        finally:
            del first  # its traceback keeps this frame

    async def _resources(self, group: str, kind: str) -> list[Resource]:
        watched = WATCHED.get((group, kind))
        return [watched] if watched is not None else await self._discovery.resources(group, kind)

    async def _get(self, namespace: str, name: str, resource: Resource) -> Scale:
        traffic = Traffic.SCALE if resource in WATCHED.values() else Traffic.CUSTOM_SCALE
        try:
            body = await self._client.get(_path(namespace, name, resource), traffic)
        except NotFound as error:
            if resource.scalable:
                raise
            # All that the server says is that it could not find the requested resource.
            text = f"{resource.qualified} cannot be scaled: they have no scale subresource"
            raise NotFound(text, error.status, error.reason) from error
        try:
            return decode_scale(body)
        except WireError as error:
            raise ApiError(f"the scale of {resource.qualified} {name!r} cannot be decoded: {error}") from error

    def _remember(self, key: tuple[str, str, str, str], answer: bytes) -> None:
        """Keep the version we wrote: the cache has to catch up with it before it is believed again."""
        try:
            version = decode_scale(answer).version
        except WireError:
            version = ""
        if self._caches is not None and version.isdecimal():
            self._written[key] = int(version)
            if len(self._written) > self._swept_at:
                self._sweep(self._caches)

    def _sweep(self, caches: ScaleCaches) -> None:
        """Forget what no cache lags behind any more, or nobody has asked for since."""
        for key in list(self._written):
            if caches.down(*key[:3]):
                continue
            cached = caches.get(*key)
            if cached is None or self._current(key, cached):
                self._written.pop(key, None)
        self._swept_at = max(WRITTEN_MIN, 2 * len(self._written))

    def _current(self, key: tuple[str, str, str, str], cached: Scale) -> bool:
        """Whether the cached scale is not older than our own last write."""
        written = self._written.get(key)
        if written is None:
            return True
        if not cached.version.isdecimal() or int(cached.version) < written:
            return False
        del self._written[key]
        return True


def group_of(api_version: str) -> str:
    """The group of an apiVersion; the core group is empty (§4.1).

    Raises:
        ValueError: more than one slash.
    """
    match api_version.count("/"):
        case 0:
            return ""
        case 1:
            return api_version.partition("/")[0]
        case _:
            raise ValueError(f"unexpected GroupVersion string: {api_version}")


def _path(namespace: str, name: str, resource: Resource) -> str:
    return resource.path + path_of("namespaces", namespace, resource.plural, name, "scale")
