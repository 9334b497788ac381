"""What the API server says it serves: versions, groups and resources, each asked for and decoded here."""

from typing import TypeVar

import msgspec

from controller.kube.client import Client
from controller.kube.errors import decoded
from controller.kube.traffic import Traffic
from controller.kube.urls import path_of


class _Shape(msgspec.Struct, rename="camel"):
    """Fields in camelCase."""


class GroupVersion(_Shape):
    """`group_version` is both, as in `apps/v1`."""

    version: str = ""
    group_version: str = ""


class Group(_Shape):
    """An API group that is not the core's; see `preferred_first`."""

    name: str = ""
    versions: list[GroupVersion] = []
    preferred_version: GroupVersion = msgspec.field(default_factory=GroupVersion)

    @property
    def preferred_first(self) -> list[str]:
        """Its versions, the preferred one first."""
        preferred = self.preferred_version.version
        return sorted((entry.version for entry in self.versions), key=lambda version: version != preferred)


class _Groups(_Shape):
    groups: list[Group] | None = None


class _CoreVersions(_Shape):
    versions: list[str] = []


class ResourceEntry(_Shape):
    """A resource, or a subresource, which has a slash in its name.

    Group and version are those of a subresource's objects, empty where they are those of the document.
    """

    name: str
    singular_name: str = ""
    kind: str = ""
    group: str = ""
    version: str = ""


class _Resources(_Shape):
    resources: list[ResourceEntry] | None = None


T = TypeVar("T", bound=_Shape)


def group_version_path(group: str, version: str) -> str:
    """The path that all requests for it begin with; the group is empty for the core."""
    return path_of("apis", group, version) if group else path_of("api", version)


async def core_versions(client: Client) -> list[str]:
    """The versions of the core group. Raises ApiError."""
    return (await _document(client, "/api", _CoreVersions)).versions


async def groups(client: Client) -> list[Group]:
    """All other groups, in the server's order. Raises ApiError."""
    return (await _document(client, "/apis", _Groups)).groups or []


async def group_named(client: Client, name: str) -> Group:
    """One of them. Raises ApiError; NotFound if there is no such group."""
    return await _document(client, path_of("apis", name), Group)


async def resources(client: Client, path: str) -> list[ResourceEntry]:
    """What is served in a version, by its path. Raises ApiError; NotFound if there is no such version."""
    return (await _document(client, path, _Resources)).resources or []


async def served_group_versions(client: Client) -> frozenset[str]:
    """`group/version` of everything but the core. Raises ApiError."""
    return frozenset(entry.group_version for group in await groups(client) for entry in group.versions)


async def _document(client: Client, path: str, shape: type[T]) -> T:
    return decoded(await client.get(path, Traffic.DISCOVERY), shape, f"the discovery document {path}")
