"""GET: one object, its scale, or a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controller.lab.objects import errors, scale
from controller.lab.operations import reading
from controller.lab.serving.negotiation import wanted_form
from controller.lab.serving.rendering import render_list, render_object, render_scale
from controller.lab.serving.service import json_response, number, object_namespace

if TYPE_CHECKING:
    from aiohttp import web

    from controller.lab.objects.resources import Endpoint
    from controller.lab.serving.service import Exchange, Service


def read_object(service: Service, exchange: Exchange, endpoint: Endpoint) -> web.Response:
    """One object or its scale subresource."""
    route = exchange.route
    wanted = wanted_form(exchange.accept, exchange.query)
    revision = reading.parse_revision(exchange.query.get("resourceVersion", ""))
    service.world.store.check_reached(revision)
    stored = reading.get(service.world, endpoint, object_namespace(route, endpoint), route.name)
    if route.subresource == "scale":
        found = scale.read_scale(endpoint.resource, stored)
        return json_response(render_scale(found, wanted, service.world.clock.now()))
    return json_response(render_object(endpoint, stored, wanted, service.world.clock.now()))


def read_list(service: Service, exchange: Exchange, endpoint: Endpoint) -> web.Response:
    """The objects of a namespace or of all, selected, page by page."""
    query = exchange.query
    if "list" not in endpoint.verbs:
        raise errors.method_not_supported()
    if query.get("sendInitialEvents"):
        problem = errors.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
        raise errors.unprocessable("meta.k8s.io", "ListOptions", "", [problem])
    wanted = wanted_form(exchange.accept, query)
    page = reading.list_objects(
        service.world,
        endpoint,
        selection_of(exchange, endpoint),
        reading.ListOptions(
            limit=number(query, "limit"),
            continue_token=query.get("continue", ""),
            resource_version=query.get("resourceVersion", ""),
            match=query.get("resourceVersionMatch", ""),
        ),
    )
    return json_response(render_list(endpoint, page, wanted, service.world.clock.now()))


def selection_of(exchange: Exchange, endpoint: Endpoint) -> reading.Selection:
    """The objects a request for many of them means."""
    query, route = exchange.query, exchange.route
    return reading.select(endpoint, route.namespace, query.get("labelSelector", ""), query.get("fieldSelector", ""))
