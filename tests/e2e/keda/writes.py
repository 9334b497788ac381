"""Who wrote what, by the audit log: sizes of targets, and what status writes made of an HPA's metadata."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from tests.e2e.audited import Audited
from tests.e2e.keda.stories import TARGET, Writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tests.e2e.control_plane import ControlPlane

_HPAS = "horizontalpodautoscalers"
_STATUS = f"{_HPAS}/status"
# A status write gives the object a new version, and itself a place in the list of who owns which fields.
_MEANT_TO_CHANGE = {"resourceVersion", "managedFields"}


def accepted(plane: ControlPlane) -> list[tuple[str, Audited]]:
    """Every write that was accepted so far, with the name of the user."""
    entries = {entry["auditID"]: entry for entry in plane.audit_entries()}
    requests = ((str(entry["user"].get("username")), Audited.of(entry)) for entry in entries.values())
    return [(user, request) for user, request in requests if request.accepted and request.writes]


def sizes(
    written: Iterable[tuple[str, Audited]], namespace: str, writers: Mapping[str, Writer]
) -> list[tuple[Writer, int]]:
    """Who gave the namespace's target which size, in order. Raises KeyError for a user who is no writer."""
    found = [
        (int(_version(request.got)), writers[user], int(request.got["spec"].get("replicas", 0)))
        for user, request in written
        if request.about("deployments/scale", name=TARGET) and request.namespace == namespace
    ]
    return [(writer, size) for _, writer, size in sorted(found)]


def turns(written: Sequence[tuple[Writer, int]]) -> list[tuple[Writer, int]]:
    """The sizes after which the next goes into the other direction, and the last."""
    counts = [1, *(size for _, size in written)]
    turned = [
        (before - here) * (here - after) < 0
        for before, here, after in zip(counts, counts[1:], counts[2:], strict=False)
    ]
    return list(itertools.compress(written, [*turned, True]))


def status_writes(written: Iterable[tuple[str, Audited]], user: str) -> list[Audited]:
    """The writes of HPAs' statuses by a user."""
    return [request for who, request in written if who == user and request.resource == _STATUS]


def changed_metadata(written: Sequence[tuple[str, Audited]], user: str) -> list[str]:
    """What a user's status writes have changed of HPAs' metadata beside the version: one line each, with both values.

    Each write is held against the version that it replaced. Of managedFields all entries but those of statuses must
    stay. Raises KeyError for a write that replaced a version nobody made.
    """
    versions = {
        _version(request.got): request.got["metadata"]
        for _, request in written
        if request.resource in (_HPAS, _STATUS) and "metadata" in request.got
    }
    found = []
    for request in status_writes(written, user):
        before = _kept(versions[_version(request.sent)])
        after = _kept(request.got["metadata"])
        found += [
            f"{request.namespace}/{request.name}: {name} was {before.get(name)!r} and is {after.get(name)!r}"
            for name in sorted(before.keys() | after.keys())
            if before.get(name) != after.get(name)
        ]
    return found


def _version(written: Mapping[str, Any]) -> str:
    """No two writes in a cluster make the same."""
    return str(written["metadata"]["resourceVersion"])


def _kept(metadata: Mapping[str, Any]) -> dict[str, Any]:
    owners = [entry for entry in metadata.get("managedFields", ()) if entry.get("subresource") != "status"]
    return {name: value for name, value in metadata.items() if name not in _MEANT_TO_CHANGE} | {"owners": owners}
