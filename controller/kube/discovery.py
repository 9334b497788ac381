"""From kinds to resources, asked of the API server group by group so that a broken group harms no other (§19.1)."""

import asyncio
import math
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from controller.kube.client import Client
from controller.kube.discovery_documents import (
    ResourceEntry,
    core_versions,
    group_named,
    group_version_path,
    resources,
)
from controller.kube.errors import untraced
from controller.ports import ApiError, NotFound

VALID_S: Final = 30.0
"""How long an answer is used before it is asked for again."""


class Resource(msgspec.Struct, frozen=True):
    """A resource of a group and the version to ask; the scale fields name a scale write's body (§19.3).

    `scalable` False: discovery lists no scale subresource.
    """

    group: str
    version: str
    plural: str
    scale_api_version: str = "autoscaling/v1"
    scale_kind: str = "Scale"
    scalable: bool = True

    @property
    def path(self) -> str:
        """The path that all requests for it begin with."""
        return group_version_path(self.group, self.version)

    @property
    def qualified(self) -> str:
        """`deployments.apps`, or plain `pods` for the core group (§18.4)."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


class NoMatch(ApiError):
    """No group serves the kind."""


class _Known(msgspec.Struct):
    """A group's resources by kind (in lower case, too), the preferred first, and when they were read (loop time)."""

    read_s: float
    by_kind: dict[str, list[Resource]]
    problem: ApiError | None = None


class _Asked(msgspec.Struct):
    """A group that was asked about: one question at a time, what is known, and the last failure since with its time."""

    lock: asyncio.Lock
    known: _Known | None = None
    failure: ApiError | None = None
    failed_s: float = -math.inf


class Discovery:
    """Answers from the API server's discovery documents, kept for half a minute."""

    def __init__(self, client: Client, time_s: Callable[[], float]) -> None:
        self._client = client
        self._time_s = time_s
        self._groups: dict[str, _Asked] = {}

    async def resources(self, group: str, kind: str) -> list[Resource]:
        """The resources of a kind, preferred first; read anew once if the kind is not known.

        Raises:
            NoMatch: the group does not serve the kind.
            ApiError: discovery failed.
        """
        known = await self._group(group, read_after_s=self._time_s() - VALID_S)
        if kind not in known.by_kind:
            known = await self._group(group, read_after_s=self._time_s())
        found = known.by_kind.get(kind)
        if found:
            return found
        if known.problem is not None:
            raise untraced(known.problem)
        raise NoMatch(f"no matches for kind {kind!r} in group {group!r}")

    async def versions(self, group: str) -> list[str]:
        """A group's versions, the preferred one first, read anew.

        Raises:
            NotFound: there is no such group.
            ApiError: discovery failed.
        """
        return (await group_named(self._client, group)).preferred_first

    async def _group(self, group: str, read_after_s: float) -> _Known:
        """The group's resources as read after a moment, by this caller or by one that was faster.

        A failure is that of all who have waited for it: were each to try again, the last one would wait for all.
        """
        asked_s = self._time_s()
        asked = self._groups.setdefault(group, _Asked(asyncio.Lock()))
        async with asked.lock:
            known = asked.known
            if known is None or known.read_s < read_after_s:
                if asked.failure is not None and asked.failed_s > asked_s:
                    raise untraced(asked.failure)
                began_s = self._time_s()
                try:
                    by_kind, problem = await self._read(group)
                except ApiError as error:
                    asked.failure, asked.failed_s = error, self._time_s()
                    raise
                known = asked.known = _Known(began_s, by_kind, problem)
                asked.failure = None
                self._forget(began_s - VALID_S)
            return known

    def _forget(self, before_s: float) -> None:
        """Drop the groups that nobody asks for any more: HPAs may name any number of groups that do not exist."""
        for group, asked in list(self._groups.items()):
            last_s = max(asked.failed_s, -math.inf if asked.known is None else asked.known.read_s)
            if last_s < before_s and not asked.lock.locked():
                del self._groups[group]

    async def _read(self, group: str) -> tuple[dict[str, list[Resource]], ApiError | None]:
        """All kinds of a group; a version that cannot be read is left out, its error kept."""
        by_kind: dict[str, list[Resource]] = {}
        problem: ApiError | None = None
        for version in await self._versions(group):
            try:
                listed = await resources(self._client, group_version_path(group, version))
            except ApiError as error:
                problem = problem or error
                continue
            for kind, resource in _parents(group, version, listed):
                # As upstream's mapper does, which knows each kind in lower case as well.
                for written in (kind, kind.lower()):
                    found = by_kind.setdefault(written, [])
                    if all(resource.plural != known.plural for known in found):
                        found.append(resource)
        return by_kind, problem

    async def _versions(self, group: str) -> list[str]:
        """A group's versions, the preferred one first; none if there is no such group."""
        if not group:
            return await core_versions(self._client)
        try:
            return await self.versions(group)
        except NotFound:
            return []


def _parents(group: str, version: str, listed: list[ResourceEntry]) -> Iterator[tuple[str, Resource]]:
    """Kinds and their resources, subresources left out but for what they say about scales."""
    scales = {entry.name.removesuffix("/scale"): entry for entry in listed if entry.name.endswith("/scale")}
    for entry in listed:
        if "/" in entry.name:
            continue
        scale = scales.get(entry.name)
        if scale is None:
            yield entry.kind, Resource(group, version, entry.name, scalable=False)
            continue
        scale_group, scale_version = scale.group or group, scale.version or version
        api_version = f"{scale_group}/{scale_version}" if scale_group else scale_version
        yield entry.kind, Resource(group, version, entry.name, api_version, scale.kind or "Scale")
