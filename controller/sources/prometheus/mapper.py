"""From the names that rules and labels use (`pod`, `pods`, `deployment`) to resources of the API server and back.

The same names mean the same resources as in client-go's discovery mapper: groups in the order of discovery with the
core group first, in each the preferred version first.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Final

import msgspec
import structlog

from controller.kube import discovery_documents
from controller.kube.client import Client
from controller.kube.discovery_documents import ResourceEntry, core_versions, group_version_path, resources
from controller.ports import ApiError, NotFound
from controller.sources.prometheus.rules import GroupResource
from controller.sources.renewed import Renewed

VALID_S: Final = 600.0
RETRY_S: Final = 10.0
_CONCURRENT_MAX: Final = 8

_log = structlog.get_logger(__name__)


class Named(msgspec.Struct, frozen=True):
    """A resource with both of its names, lower-case as mappers compare them."""

    group: str
    plural: str
    singular: str

    @property
    def group_resource(self) -> GroupResource:
        """The group and the plural."""
        return GroupResource(self.group, self.plural)


class ResourceNames:
    """What the API server serves, as names that can be looked up; a value, so that a query never waits for it."""

    def __init__(self, served: list[Named]) -> None:
        """`served` is in the order of preference."""
        self._by_name: dict[str, list[Named]] = {}
        self._singulars: dict[str, str] = {}
        for named in served:
            for name in {named.plural, named.singular}:
                self._by_name.setdefault(name, []).append(named)
            self._singulars.setdefault(named.plural, named.singular)

    def find(self, wanted: GroupResource) -> GroupResource | None:
        """The resource that a name stands for, of the group, else of one whose name begins so; None if none is."""
        candidates = self._by_name.get(wanted.resource.lower(), [])
        if wanted.group:
            exact = [named for named in candidates if named.group == wanted.group]
            candidates = exact or [named for named in candidates if named.group.startswith(wanted.group)]
        return candidates[0].group_resource if candidates else None

    def singular(self, plural: str) -> str:
        """The singular of a plural; the text itself if it is none, as the mapper has it."""
        return self._singulars.get(plural, plural)


class ResourceMapper:
    """Reads the names and keeps them for ten minutes; what could not be read is tried again soon.

    Only for the first time anybody waits. Close it when done.
    """

    def __init__(self, client: Client, time_s: Callable[[], float]) -> None:
        self._client = client
        self._kept = Renewed(self._read, time_s=time_s, retry_s=RETRY_S, failed=_not_read)
        self._unread: frozenset[str] = frozenset()
        self._listed: dict[str, list[Named]] = {}

    async def names(self) -> ResourceNames:
        """All names. Raises ApiError if they could never be read."""
        return await self._kept.value()

    async def renewed(self) -> ResourceNames:
        """The same, for whoever can wait until names that are due have been read again."""
        return await self._kept.settled()

    async def close(self) -> None:
        """End what is under way."""
        await self._kept.close()

    async def _read(self) -> tuple[ResourceNames, float]:
        """The names, good for long if all groups could be read; one that cannot harms no other."""
        core, groups = await core_versions(self._client), await discovery_documents.groups(self._client)
        served_by = [("", version) for version in core]
        served_by += [(group.name, version) for group in groups for version in group.preferred_first]
        paths = [(group, group_version_path(group, version)) for group, version in served_by]
        places = asyncio.Semaphore(_CONCURRENT_MAX)
        answers = await asyncio.gather(*(self._list(group, path, places) for group, path in paths))
        self._unread = frozenset(path for (_, path), answer in zip(paths, answers, strict=True) if answer is None)
        # What was there goes on being there until the API server says that it is not.
        self._listed = {
            path: self._listed.get(path, []) if answer is None else answer
            for (_, path), answer in zip(paths, answers, strict=True)
        }
        served = [named for listed in self._listed.values() for named in listed]
        return ResourceNames(served), RETRY_S if self._unread else VALID_S

    async def _list(self, group: str, path: str, places: asyncio.Semaphore) -> list[Named] | None:
        async with places:
            try:
                listed = await resources(self._client, path)
            except NotFound:
                return []
            except ApiError as error:
                if path not in self._unread:
                    _log.warning(
                        "an API group cannot be read; labels that name its resources mean nothing new",
                        path=path,
                        error=str(error),
                    )
                return None
        return list(_named(group, listed))


def _not_read(error: Exception) -> None:
    _log.debug("the names of resources cannot be read again", error=str(error))


def _named(group: str, listed: list[ResourceEntry]) -> Iterator[Named]:
    for entry in listed:
        if "/" not in entry.name and entry.kind:
            yield Named(group, entry.name.lower(), (entry.singular_name or entry.kind).lower())
