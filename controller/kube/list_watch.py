"""Lists and watches of one resource, decoded object by object (§20)."""

import sys
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import structlog

from controller import modes
from controller.decide.spec import Reference, Spec
from controller.decide.status import Status
from controller.kube.client import Client
from controller.kube.errors import error_of_event
from controller.kube.traffic import Traffic
from controller.kube.urls import path_of
from controller.modes import Modes
from controller.pod_cache import WatchedPod
from controller.ports import (
    Bookmark,
    Page,
    Put,
    Removed,
    ServerFailure,
    StatusWrite,
    WatchedAutoscaler,
    WatchEvent,
)
from controller.version import PROGRAM
from controller.wire.autoscalers import decode_autoscaler
from controller.wire.echoes import Echoes
from controller.wire.errors import WireError, printable
from controller.wire.objects import (
    Identity,
    decode_bookmark,
    decode_config_map,
    decode_identity,
    decode_list,
    decode_watch_line,
)
from controller.wire.pods import decode_pod

T = TypeVar("T")

Decode = Callable[[bytes], tuple[T, str]]
"""Object and resourceVersion from an encoded object; raises WireError."""

LIST_TIMEOUT_S: Final = 60.0
_EMPTY_SPEC: Final = Spec(Reference("", ""), 0)

_log = structlog.get_logger(__name__)


class KubeListWatch(Generic[T]):
    """A ListWatch over HTTP. An object that cannot be decoded is logged and passed over."""

    def __init__(
        self, client: Client, path: str, decode: Decode[T], *, silence_max_s: float, field_selector: str = ""
    ) -> None:
        """`path` is the resource's, of all namespaces or of one. `silence_max_s` bounds reads from a watch's socket."""
        self._selection = {"fieldSelector": field_selector} if field_selector else {}
        self._client = client
        self._path = path
        self._decode = decode
        self._silence_max_s = silence_max_s

    async def list(self, limit: int, token: str) -> Page[T]:
        """See ports.ListWatch."""
        query = {name: str(value) for name, value in (("limit", limit), ("continue", token)) if value} | self._selection
        body = await self._client.get(self._path, Traffic.LIST, query=query, timeout_s=LIST_TIMEOUT_S)
        try:
            decoded = decode_list(body)
        except WireError as error:
            raise ServerFailure(f"{self._path}: the list cannot be decoded: {error}", 200) from error
        items = [item for raw in decoded.items or () if (item := self._decoded(bytes(raw))) is not None]
        return Page([item for item, _ in items], decoded.metadata.resource_version, decoded.metadata.continue_ or "")

    async def watch(
        self, version: str, timeout_s: float, take: Callable[[WatchEvent[T]], None], *, initial: bool
    ) -> None:
        """See ports.ListWatch."""
        query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(int(timeout_s))}
        query |= self._selection
        if initial:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        else:
            query |= {"resourceVersion": version}

        def take_line(line: bytes) -> None:
            event = self._event(line)
            if event is not None:
                take(event)

        await self._client.stream(self._path, query, self._silence_max_s, lambda: take(Bookmark(version)), take_line)

    def _event(self, line: bytes) -> WatchEvent[T] | None:
        """One line of a watch, None if it does not even say which object it adds or changes.

        Raises:
            ApiError: it is an error, or no event at all.
        """
        try:
            decoded = decode_watch_line(line)
            body = bytes(decoded.object)
            match decoded.type:
                case "BOOKMARK":
                    version, initial_end = decode_bookmark(body)
                    return Bookmark(version, initial_end)
                case "ADDED" | "MODIFIED" | "DELETED" as kind:
                    item = None if kind == "DELETED" else self._decoded(body)
                    if item is not None:
                        return Put(*item)
                    # What cannot be understood any more is not kept as it was: a list would not show it either.
                    identity = _identity_in(body)
                    if identity is not None:
                        return Removed(identity.key, identity.resource_version)
                    if kind == "DELETED":
                        # Only a list can tell whose end it was.
                        raise ServerFailure(f"{self._path}: it is not said which object was deleted", 200)
                    return None
                case "ERROR":
                    raise error_of_event(body)
                case unknown:
                    raise ServerFailure(f"{self._path}: a watch event of the unknown type {unknown[:40]!r}", 200)
        except WireError as error:
            raise ServerFailure(f"{self._path}: a watch line cannot be decoded: {error}", 200) from error

    def _decoded(self, body: bytes) -> tuple[T, str] | None:
        try:
            return self._decode(body)
        except WireError as error:
            _log.warning(
                "an object cannot be decoded and is not kept",
                path=self._path,
                object=None if (identity := _identity_in(body)) is None else printable(identity.key),
                error=str(error),
            )
            return None


def _identity_in(body: bytes) -> Identity | None:
    """Whose body it is, if it says at least that."""
    try:
        return decode_identity(body)
    except WireError:
        return None


def list_path(group_path: str, plural: str, namespace: str) -> str:
    """Where a resource is listed, in one namespace or, if that is empty, in all."""
    return f"{group_path}{path_of('namespaces', namespace)}/{plural}" if namespace else f"{group_path}/{plural}"


def watch_name(plural: str, namespace: str) -> str:
    """What a watch is called in logs and metrics."""
    return f"{plural} in {namespace}" if namespace else plural


def decode_watched_pod(body: bytes) -> tuple[WatchedPod, str]:
    """A pod for the pod cache."""
    namespace, pod, version = decode_pod(body)
    return WatchedPod(namespace, pod), version


def decode_modes(body: bytes) -> tuple[Modes, str]:
    """The modes that a ConfigMap says; one that is malformed freezes everything.

    Raises:
        WireError: it does not even have a name.
    """
    try:
        config_map = decode_config_map(body)
    except WireError as error:
        identity = decode_identity(body)
        return modes.unreadable(str(error)), identity.resource_version
    return modes.parse(config_map.data or {}), config_map.metadata.resource_version


def decode_watched_autoscaler(
    body: bytes,
    known: Callable[[str], WatchedAutoscaler | None] = lambda _: None,
    echoes: Echoes | None = None,
) -> tuple[WatchedAutoscaler, str]:
    """An HPA for the cache; one whose spec or status is malformed carries the problem.

    What has not changed is not decoded: `known` gives the HPA of a key as it was before, None if it was not, `echoes`
    knows what was sent. Without them everything is.

    Raises:
        WireError: it does not even have a name.
    """
    encoded = decode_autoscaler(body)
    identity, spec_text = encoded.identity, bytes(encoded.spec)
    before = known(identity.key)
    same_spec = None
    if before is not None and before.spec_text == spec_text:
        same_spec, spec_text = before.spec, before.spec_text
    spec, status, problem = _EMPTY_SPEC, Status(), None
    try:
        spec, status = encoded.decoded(same_spec, None if echoes is None else echoes.heard(bytes(encoded.status)))
    except WireError as error:
        problem, spec_text = str(error), b""
    watched = WatchedAutoscaler(
        sys.intern(identity.namespace),
        sys.intern(identity.name),
        identity.uid,
        identity.resource_version,
        spec,
        status,
        encoded.metadata,
        problem,
        tuple([StatusWrite(*write) for write in encoded.status_writes if write[0] != PROGRAM]),
        spec_text=spec_text,
    )
    return watched, identity.resource_version
