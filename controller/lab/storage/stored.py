"""One version of one object, with the bytes of its forms, which are made at most once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from controller.lab.objects.resources import Object, copied

if TYPE_CHECKING:
    from collections.abc import Mapping

    from controller.lab.objects.resources import Endpoint, Resource

_EMPTY: Mapping[str, str] = {}


class Stored:
    """An object as it is at one revision. It never changes; a write makes another one.

    `value` has no apiVersion and kind: they belong to the endpoint that serves it. `namespace` is empty for
    objects of the cluster; `path` is `namespace/name`, by which lists are ordered.
    """

    __slots__ = ("_encoded", "name", "namespace", "path", "resource", "revision", "value")

    def __init__(self, resource: Resource, value: Object, revision: int) -> None:
        metadata = value["metadata"]
        self.resource = resource
        self.value = value
        self.revision = revision
        self.namespace: str = metadata.get("namespace", "")
        self.name: str = metadata["name"]
        self.path = f"{self.namespace}/{self.name}" if self.namespace else self.name
        self._encoded: dict[str, bytes] = {}

    @property
    def uid(self) -> str:
        """The uid the server gave."""
        uid: str = self.value["metadata"]["uid"]
        return uid

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels, empty when there are none."""
        labels: Mapping[str, str] | None = self.value["metadata"].get("labels")
        return labels or _EMPTY

    def bare(self, endpoint: Endpoint) -> bytes:
        """JSON of the object in a version without apiVersion and kind, as lists of built-in kinds have it."""
        encoded = self._encoded.get(endpoint.api_version)
        if encoded is None:
            value = endpoint.from_hub(self.value) if endpoint.from_hub else self.value
            encoded = msgspec.json.encode(value)
            self._encoded[endpoint.api_version] = encoded
        return encoded

    def full(self, endpoint: Endpoint) -> bytes:
        """JSON of the object in a version, with apiVersion and kind."""
        head = f'{{"kind":"{endpoint.kind}","apiVersion":"{endpoint.api_version}",'
        return head.encode() + self.bare(endpoint)[1:]

    def as_object(self, endpoint: Endpoint) -> Object:
        """A copy of the object in a version, with apiVersion and kind, free to be changed."""
        converted = endpoint.from_hub(self.value) if endpoint.from_hub else self.value
        return {"apiVersion": endpoint.api_version, "kind": endpoint.kind, **copied(converted)}

    def at(self, revision: int) -> Stored:
        """The same object with another revision, as watchers see it when it leaves their selection."""
        metadata = {**self.value["metadata"], "resourceVersion": str(revision)}
        return Stored(self.resource, {**self.value, "metadata": metadata}, revision)
