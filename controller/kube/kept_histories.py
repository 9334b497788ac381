"""The ConfigMaps that kept histories are in, beside the Lease: `NAME-history-0` and so on."""

from typing import Final

import msgspec

from controller.kube.client import Client
from controller.kube.errors import decoded
from controller.kube.traffic import Traffic
from controller.kube.urls import path_of
from controller.ports import NotFound, StoredShard

KEY: Final = "history"
TIMEOUT_S: Final = 10.0
_WHAT: Final = "the ConfigMap of a history"
_ABOUT: Final = (
    "What hpa-controller remembers of HPAs, for its successor (--keep-history). It is written again and again; without "
    "it, stabilization windows and policies begin anew at the next start."
)


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str


class _ConfigMap(msgspec.Struct, rename="camel"):
    metadata: _Metadata
    # As it is written, so that what is no base64 spoils the history, not the answer.
    binary_data: dict[str, str] | None = None


class KubeHistories:
    """The port `HistoryStore`. What others have put into the objects beside the history stays."""

    def __init__(self, client: Client, namespace: str, lease_name: str) -> None:
        self._client = client
        self._namespace = namespace
        self._lease_name = lease_name

    async def load(self, number: int) -> StoredShard:
        """See ports.HistoryStore."""
        try:
            body = await self._client.get(self._path(number), Traffic.HISTORY, timeout_s=TIMEOUT_S)
        except NotFound:
            return StoredShard(None, "")
        found = decoded(body, _ConfigMap, _WHAT)
        text = (found.binary_data or {}).get(KEY)
        return StoredShard(None if text is None else _bytes(text), found.metadata.resource_version)

    async def save(self, number: int, body: bytes, version: str) -> str:
        """See ports.HistoryStore."""
        metadata = {"name": self._name(number), "namespace": self._namespace}
        content = {"data": {"about": _ABOUT}, "binaryData": {KEY: body}}
        if not version:
            labels = {"app.kubernetes.io/managed-by": "hpa-controller"}
            created = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**metadata, "labels": labels}, **content}
            return await self._sent("POST", _collection(self._namespace), created, "application/json")
        # With a version, a patch is refused where the object has another one.
        patch = {"metadata": {"resourceVersion": version}, **content}
        return await self._sent("PATCH", self._path(number), patch, "application/merge-patch+json")

    async def _sent(self, method: str, path: str, content: dict[str, object], content_type: str) -> str:
        body = msgspec.json.encode(content)
        answer = await self._client.write(
            method, path, Traffic.HISTORY, body, content_type=content_type, timeout_s=TIMEOUT_S
        )
        return decoded(answer, _ConfigMap, _WHAT).metadata.resource_version

    def _name(self, number: int) -> str:
        return f"{self._lease_name}-history-{number}"

    def _path(self, number: int) -> str:
        return _collection(self._namespace) + path_of(self._name(number))


def _collection(namespace: str) -> str:
    return path_of("api", "v1", "namespaces", namespace, "configmaps")


def _bytes(text: str) -> bytes:
    """Nothing where it is no base64: no history is that short, so it is passed over as damaged."""
    try:
        return msgspec.convert(text, bytes)
    except (msgspec.MsgspecError, ValueError):
        return b""
