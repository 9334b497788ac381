"""What the handlers of requests work with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from aiohttp import web

from controller.lab.objects import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from controller.lab.faults import Faults
    from controller.lab.metrics_feed import MetricsFeed
    from controller.lab.objects.resources import Endpoint
    from controller.lab.operations.world import World
    from controller.lab.serving.route import Route

BODY_MAX_BYTES = 3 * 1024 * 1024
"""The most that a request may carry, as for the API server."""


class WatchSettings(msgspec.Struct, frozen=True):
    """How watches behave: seconds of lab time between bookmarks and until one ends that set no timeout.

    `expired_as_status`: whether a version that is too old is refused with HTTP 410 instead of the ERROR event
    that the API server's watch cache sends.
    """

    bookmark_interval_s: float = 60
    timeout_s: float = 2700
    expired_as_status: bool = False


class Service:
    """The server behind the handlers: its state, metrics and faults, and the time of its event loop."""

    def __init__(
        self,
        world: World,
        feed: MetricsFeed,
        faults: Faults,
        loop_time_s: Callable[[], float],
        watch: WatchSettings | None = None,
    ) -> None:
        self.world = world
        self.feed = feed
        self.faults = faults
        self.loop_time_s = loop_time_s
        self.watch = watch or WatchSettings()


class Exchange(msgspec.Struct, frozen=True, eq=False):
    """One request, taken apart; `body` is complete."""

    request: web.BaseRequest
    route: Route
    query: Mapping[str, str]
    body: bytes

    @property
    def accept(self) -> str:
        """What the client wants to get."""
        return self.request.headers.get("Accept", "")

    @property
    def content_type(self) -> str:
        """What the client sent."""
        return self.request.headers.get("Content-Type", "")

    @property
    def dry_run(self) -> bool:
        """Whether a write is only tried."""
        return self.query.get("dryRun") == "All"

    @property
    def manager(self) -> str:
        """The name under which fields of this writer are tracked: fieldManager, else that of its program."""
        agent = self.request.headers.get("User-Agent", "").partition("/")[0]
        return self.query.get("fieldManager") or agent or "unknown"


def find_endpoint(service: Service, route: Route) -> Endpoint:
    """The endpoint a route names.

    Raises what an unknown path is answered with: a NotFound `ApiError` within an API version of built-in
    kinds, `UnknownPathError` elsewhere.
    """
    registry = service.world.registry
    endpoint = registry.find(route.group, route.version, route.plural)
    known = endpoint is not None and (not route.subresource or route.subresource in endpoint.subresources)
    known = known and not route.rest
    if endpoint is not None and known and (route.namespace is None or endpoint.resource.namespaced):
        return endpoint
    if any(not served.resource.custom for served in registry.of(route.group, route.version)):
        raise errors.unknown_resource()
    raise UnknownPathError


class UnknownPathError(Exception):
    """A path that the server does not serve; it is answered 404 in plain text."""


def object_namespace(route: Route, endpoint: Endpoint) -> str:
    """The namespace of the object a route names.

    Raises a NotFound `ApiError` when it must name one and does not.
    """
    if not endpoint.resource.namespaced:
        return ""
    if route.namespace is None:
        raise errors.unknown_resource()
    return route.namespace


def json_response(body: bytes, status: int = 200, warnings: tuple[str, ...] = ()) -> web.Response:
    """An answer in JSON, with the warnings that kubectl shows."""
    response = web.Response(body=body, status=status, content_type="application/json")
    for text in warnings:
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{quoted}"')
    return response


def number(query: Mapping[str, str], name: str) -> int:
    """A parameter that is a number, 0 when it is absent; raises a BadRequest `ApiError` for anything else."""
    text = query.get(name, "")
    if text and not text.removeprefix("-").isdigit():
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": the parameter {name} is not a number')
    return int(text or 0)


def boolean(query: Mapping[str, str], name: str) -> bool | None:
    """A parameter that is true or false, None when it is absent."""
    text = query.get(name)
    return None if text is None else text.lower() in ("true", "1", "")
