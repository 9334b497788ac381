"""The resources the lab serves: what is stored, under which API versions, and by which rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from controller.lab.objects import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from controller.lab.objects.errors import FieldError
    from controller.lab.schema.types import Message

Object = dict[str, Any]
"""A Kubernetes object as JSON has it. Stored ones lack apiVersion and kind and are never changed in place."""

GenerationRule = Literal["never", "spec", "spec and annotations", "all but metadata"]
"""What makes metadata.generation grow; `never` means that the kind has none."""


class ValidationSettings(msgspec.Struct, frozen=True):
    """Feature gates that change what is valid."""

    scale_to_zero: bool = False


def _nothing(_: Object) -> None:
    """Leave the object as it is."""


def _nothing_lost(_: Object, __: Object) -> None:
    """Take the status as it was sent."""


def _no_errors(_: Object, __: Object | None, ___: ValidationSettings) -> list[FieldError]:
    return []


def _no_status_errors(_: Object) -> list[FieldError]:
    return []


class Rules(msgspec.Struct, frozen=True, eq=False):
    """How objects of one resource come to be and change.

    Attributes:
        canonicalize: gives a valid new or changed object its stored form, in place.
        on_create: sets what the server sets on creation (a Pod's phase), in place.
        validate: everything wrong with a new object, given the one it replaces (None on creation).
        validate_status: everything wrong with a status that was written.
        name_problems: why a name cannot be used.
        generation: what makes `metadata.generation` grow.
        has_status: whether /status is served, so that neither side touches the other's half.
        on_status: puts back what a status write may not lose, given new and old, in place.
        status_keeps: metadata that a write to /status cannot change; `*` means all of it.
        unconditional_update: whether a PUT may come without a resourceVersion.
        create_on_update: whether a PUT creates what does not exist.
        returns_deleted: whether DELETE answers with the object rather than with a Status.
        graceful: whether deletion first marks the object and waits for somebody to let it go.
        time_to_live_s: seconds after its last write at which an object vanishes; 0 means never.

    """

    canonicalize: Callable[[Object], None] = _nothing
    on_create: Callable[[Object], None] = _nothing
    validate: Callable[[Object, Object | None, ValidationSettings], list[FieldError]] = _no_errors
    validate_status: Callable[[Object], list[FieldError]] = _no_status_errors
    name_problems: Callable[[str], list[str]] | None = None
    generation: GenerationRule = "never"
    on_status: Callable[[Object, Object], None] = _nothing_lost
    has_status: bool = False
    status_keeps: tuple[str, ...] = ()
    unconditional_update: bool = True
    create_on_update: bool = False
    returns_deleted: bool = False
    graceful: bool = False
    time_to_live_s: float = 0


class ScalePaths(msgspec.Struct, frozen=True):
    """Where a resource keeps what its scale subresource shows.

    `selector` is None for a custom resource without a selector; `selector_form` says what is found there: a
    LabelSelector, a plain map, or the text itself.
    """

    spec_replicas: tuple[str, ...] = ("spec", "replicas")
    status_replicas: tuple[str, ...] = ("status", "replicas")
    selector: tuple[str, ...] | None = ("spec", "selector")
    selector_form: Literal["structured", "map", "text"] = "structured"


class Resource(msgspec.Struct, frozen=True, eq=False):
    """One kind of stored object.

    `group` is that of the storage; `field_labels` maps what field selectors may name to where it is found.
    """

    group: str
    plural: str
    kind: str
    namespaced: bool
    rules: Rules
    field_labels: Mapping[str, tuple[str, ...]]
    scale: ScalePaths | None = None
    custom: bool = False

    @property
    def key(self) -> str:
        """The name under which it is stored and asked for: `pods`, `deployments.apps`."""
        return errors.qualified(self.group, self.plural)


class Endpoint(msgspec.Struct, frozen=True, eq=False):
    """One resource as one API version serves it.

    `default` fills in the stored form, in place, before it is validated. `to_hub` and `from_hub` convert
    between this version and the stored form; None means they are the same. `schema` is None for custom
    resources, whose fields nobody checks; `published` is what OpenAPI says about those instead.
    `field_labels` are those of this version, None when they are those of the resource.
    """

    group: str
    version: str
    resource: Resource
    singular: str
    schema: Message | None = None
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = (
        "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch",
    )  # fmt: skip
    default: Callable[[Object], None] = _nothing
    to_hub: Callable[[Object], Object] | None = None
    from_hub: Callable[[Object], Object] | None = None
    published: Mapping[str, Any] | None = None
    field_labels: Mapping[str, tuple[str, ...]] | None = None

    @property
    def api_version(self) -> str:
        """Group and version as objects carry them: `apps/v1`, or `v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def plural(self) -> str:
        """The name in paths."""
        return self.resource.plural

    @property
    def kind(self) -> str:
        """The kind of the objects."""
        return self.resource.kind

    @property
    def subresources(self) -> tuple[str, ...]:
        """`status` and `scale` as far as they are served."""
        served = (("scale", self.resource.scale is not None), ("status", self.resource.rules.has_status))
        return tuple(name for name, present in served if present)


class Registry:
    """Every endpoint that is served now; custom resources come and go."""

    def __init__(self) -> None:
        self._endpoints: dict[tuple[str, str], dict[str, Endpoint]] = {}

    def add(self, endpoint: Endpoint) -> None:
        """Serve an endpoint; it replaces one of the same group, version and plural."""
        self._endpoints.setdefault((endpoint.group, endpoint.version), {})[endpoint.plural] = endpoint

    def remove(self, group: str, plural: str) -> None:
        """Stop serving a resource in all versions of a group."""
        for (served_group, version), endpoints in list(self._endpoints.items()):
            if served_group == group:
                endpoints.pop(plural, None)
                if not endpoints:
                    del self._endpoints[served_group, version]

    def find(self, group: str, version: str, plural: str) -> Endpoint | None:
        """The endpoint of a path, or None."""
        return self._endpoints.get((group, version), {}).get(plural)

    def preferred(self, key: str) -> Endpoint:
        """The endpoint to speak for a resource named as `pods` or `deployments.apps`.

        Raises KeyError if unknown.
        """
        plural, _, group = key.partition(".")
        for endpoint in self:
            if endpoint.group == group and endpoint.plural == plural:
                return endpoint
        raise KeyError(f"the lab serves no resource {key!r}; known are {', '.join(sorted(self.keys()))}")

    def by_kind(self, group: str, kind: str) -> Endpoint | None:
        """The preferred endpoint of a kind, or None."""
        return next((found for found in self if (found.group, found.kind) == (group, kind)), None)

    def keys(self) -> set[str]:
        """The names of all resources."""
        return {errors.qualified(endpoint.group, endpoint.plural) for endpoint in self}

    def group_versions(self) -> dict[str, list[str]]:
        """Served groups in order of registration, each with its versions, the preferred one first."""
        groups: dict[str, list[str]] = {}
        for group, version in self._endpoints:
            groups.setdefault(group, []).append(version)
        return groups

    def of(self, group: str, version: str) -> list[Endpoint]:
        """The endpoints of an API version, by plural."""
        endpoints = self._endpoints.get((group, version), {})
        return [endpoints[plural] for plural in sorted(endpoints)]

    def resources(self) -> list[Resource]:
        """Everything that is stored, once each."""
        return list({endpoint.resource.key: endpoint.resource for endpoint in self}.values())

    def __iter__(self) -> Iterator[Endpoint]:
        for endpoints in list(self._endpoints.values()):
            yield from list(endpoints.values())


def nested(value: Any, *path: str) -> Any:
    """What stands at a path of fields, or None as soon as one of them is missing."""
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def copied(value: Object) -> Object:
    """A deep copy, through JSON."""
    result: Object = msgspec.json.decode(msgspec.json.encode(value))
    return result
