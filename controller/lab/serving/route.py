"""What a request asks for, read from its method and path."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

_METRICS_GROUPS = ("metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io")
_VERB_OF_ITEM = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "POST": "create"}
_VERB_OF_COLLECTION = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_SUBRESOURCE_DEPTH = 3


class Route(msgspec.Struct, frozen=True):
    """A request for a resource, or (with an empty `plural`) for a document of the server itself.

    `namespace` is None where the path names none; `name` and `subresource` are empty where it names none.
    `verb` is that of the API (`list`, not GET). `rest` holds what follows the subresource or, for metrics
    APIs, the namespace.
    """

    verb: str
    path: str
    group: str = ""
    version: str = ""
    plural: str = ""
    namespace: str | None = None
    name: str = ""
    subresource: str = ""
    rest: tuple[str, ...] = ()

    @property
    def resource_key(self) -> str:
        """The resource as `deployments.apps`; empty for documents."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def serves_metrics(self) -> bool:
        """Whether one of the metrics APIs is asked."""
        return self.group in _METRICS_GROUPS


def parse_route(method: str, path: str, query: Mapping[str, str]) -> Route:
    """What a request asks for; a path that is none of the API's gives a route without a plural.

    `path` is still encoded, so that a name may contain an encoded slash.
    """
    segments = [unquote(segment) for segment in path.strip("/").split("/")]
    match segments:
        case ["api", version, *rest] if rest:
            return _resource_route(method, path, query, ("", version), rest)
        case ["apis", group, version, *rest] if rest:
            return _resource_route(method, path, query, (group, version), rest)
        case _:
            return Route(verb=method.lower(), path=path)


def _resource_route(method: str, path: str, query: Mapping[str, str], api: tuple[str, str], rest: list[str]) -> Route:
    group, version = api
    namespace: str | None = None
    match rest:
        case ["namespaces", named, below, *_] if not _is_subresource(group, below):
            namespace, rest = named, rest[2:]
    plural, name = rest[0], rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) >= _SUBRESOURCE_DEPTH else ""
    verb = (_VERB_OF_ITEM if name else _VERB_OF_COLLECTION).get(method, method.lower())
    # A path that names one object is read at once, whatever its query says; one object is watched by a field selector.
    if verb == "list" and query.get("watch", "") in ("true", "1"):
        verb = "watch"
    return Route(
        verb=verb,
        path=path,
        group=group,
        version=version,
        plural=plural,
        namespace=namespace,
        name=name,
        subresource=subresource,
        rest=tuple(rest[_SUBRESOURCE_DEPTH:]),
    )


def _is_subresource(group: str, segment: str) -> bool:
    return not group and segment in ("status", "finalize")
