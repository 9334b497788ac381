"""The object behind leader election: how a Lease is read, made and written. Who may hold it is said in `lease.py`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from controller.decide.instants import NANOSECONDS, format_rfc3339
from controller.kube.client import Client
from controller.kube.errors import decoded
from controller.kube.traffic import Traffic
from controller.kube.urls import path_of
from controller.ports import NotFound


class LeaseSpec(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """All that coordination.k8s.io/v1 knows: a write erases what it leaves out."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None
    strategy: str | None = None
    preferred_holder: str | None = None


class _Metadata(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """What others may say of the Lease goes back with each write, too; the server keeps the rest by itself."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[dict[str, Any]] | None = None
    finalizers: list[str] | None = None


class _Lease(msgspec.Struct):
    metadata: _Metadata
    spec: LeaseSpec | None = None


class LeaseObject:
    """One Lease of the API server, and what is known of it.

    Attributes:
        is_missing: there was none when it was last read; a write makes it.
        uid: as last read or written; empty while there is none. One that is made anew has another.
    """

    def __init__(self, namespace: str, name: str, annotations: Mapping[str, str], timeout_s: float) -> None:
        """`annotations` are written with it each time; `timeout_s` is how long one request may take."""
        self.is_missing = False
        self.uid = ""
        self._namespace = namespace
        self._name = name
        self._annotations = annotations
        self._timeout_s = timeout_s
        self._metadata: _Metadata | None = None

    @property
    def version(self) -> str | None:
        """The resourceVersion as last read or written; None: it is not known, and no update would be taken."""
        return None if self._metadata is None else self._metadata.resource_version

    def forget(self) -> None:
        """It has changed, or may have: it has to be read before it is written."""
        self._metadata = None

    async def read(self, client: Client) -> LeaseSpec | None:
        """What it says; None if there is none. Raises ApiError."""
        self._metadata = None
        try:
            body = await client.get(self._path(), Traffic.LEASE, timeout_s=self._timeout_s)
        except NotFound:
            self.is_missing, self.uid = True, ""
            return None
        self.is_missing = False
        lease = decoded(body, _Lease, "the Lease")
        self._metadata, self.uid = lease.metadata, lease.metadata.uid
        return lease.spec or LeaseSpec()

    async def write(self, client: Client, spec: LeaseSpec) -> None:
        """Have it say that, if it is still as it was last read or written.

        Raises:
            Conflict: it is not, or was made meanwhile.
            NotFound: it was deleted, or it is missing and so is its namespace.
            ApiError: whatever else the server says.
        """
        known = self._metadata or _Metadata()
        metadata = msgspec.structs.replace(
            known,
            name=self._name,
            namespace=self._namespace,
            uid="",
            annotations={**(known.annotations or {}), **self._annotations},
        )
        body = msgspec.json.encode(
            {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        )
        method, path = ("POST", self._collection()) if self.is_missing else ("PUT", self._path())
        answer = await client.contend(method, path, body, self._timeout_s)
        self.is_missing = False
        self._metadata = decoded(answer, _Lease, "the Lease").metadata
        self.uid = self._metadata.uid

    def _collection(self) -> str:
        return path_of("apis", "coordination.k8s.io", "v1", "namespaces", self._namespace, "leases")

    def _path(self) -> str:
        return self._collection() + path_of(self._name)


def micro_time(wall_ns: int) -> str:
    """A metav1.MicroTime."""
    return f"{format_rfc3339(wall_ns)[:-1]}.{wall_ns % NANOSECONDS // 1000:06}Z"
