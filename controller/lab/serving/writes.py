"""POST, PUT and DELETE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import msgspec

from controller.lab.objects import errors, scale
from controller.lab.operations import bodies, deletion, reading, writing
from controller.lab.operations.deletion import DeleteOptions, Propagation
from controller.lab.operations.writing import WriteOptions
from controller.lab.schema.decode import DecodeError, decode
from controller.lab.schema.metadata import DELETE_OPTIONS, SCALE
from controller.lab.serving.negotiation import read_object, wanted_form
from controller.lab.serving.parameters import check_parameters
from controller.lab.serving.reads import selection_of
from controller.lab.serving.rendering import render_list, render_object, render_scale
from controller.lab.serving.service import boolean, json_response, number, object_namespace

if TYPE_CHECKING:
    from aiohttp import web

    from controller.lab.objects.resources import Endpoint, Object
    from controller.lab.serving.service import Exchange, Service
    from controller.lab.storage.stored import Stored

_REVIEWS = "selfsubjectaccessreviews.authorization.k8s.io"
SCALE_VERSION = "autoscaling/v1"
_PROPAGATIONS: dict[str, Propagation] = {name: name for name in get_args(Propagation)}


def create(service: Service, exchange: Exchange, endpoint: Endpoint) -> web.Response:
    """A new object, or the answer to a review, which is not kept."""
    if "create" not in endpoint.verbs or lacks_namespace(exchange, endpoint):
        raise errors.method_not_supported()
    check_parameters(exchange)
    wanted = wanted_form(exchange.accept, exchange.query)
    sent = read_object(exchange.content_type, exchange.body, endpoint.schema, endpoint.kind)
    body = bodies.to_hub(endpoint, sent, exchange.query.get("fieldValidation", ""))
    if endpoint.resource.key == _REVIEWS:
        review = {"kind": endpoint.kind, "apiVersion": endpoint.api_version, **body.value}
        return json_response(msgspec.json.encode({**review, "status": {"allowed": True}}), 201)
    options = write_options(exchange, "")
    stored = writing.create(service.world, endpoint, body.value, exchange.route.namespace or "", options)
    rendered = render_object(endpoint, stored, wanted, service.world.clock.now())
    return json_response(rendered, 201, body.warnings)


def replace(service: Service, exchange: Exchange, endpoint: Endpoint) -> web.Response:
    """An object (or its status, or its scale) as the client sent it.

    Some kinds are created when they are missing.
    """
    route = exchange.route
    namespace = object_namespace(route, endpoint)
    check_parameters(exchange)
    scaled = route.subresource == "scale"
    schema, kind = (SCALE, "Scale") if scaled else (endpoint.schema, endpoint.kind)
    sent = read_object(exchange.content_type, exchange.body, schema, kind)
    check_name(sent, route.name)
    if scaled:
        stored = reading.get(service.world, endpoint, namespace, route.name)
        return write_scale(service, exchange, endpoint, stored, sent)
    body = bodies.to_hub(endpoint, sent, exchange.query.get("fieldValidation", ""))
    current = service.world.store.get(endpoint.resource, namespace, route.name)
    if current is None:
        creates = endpoint.resource.rules.create_on_update and not route.subresource
        if not creates:
            raise errors.not_found(endpoint.group, endpoint.plural, route.name)
        stored = writing.create(service.world, endpoint, body.value, namespace, write_options(exchange, ""))
        return written(service, exchange, endpoint, stored, body.warnings, status=201)
    options = write_options(exchange, route.subresource)
    stored = writing.update(service.world, endpoint, current, body.value, options)
    return written(service, exchange, endpoint, stored, body.warnings)


def lacks_namespace(exchange: Exchange, endpoint: Endpoint) -> bool:
    """Whether a path names no namespace although the objects of this kind lie in one."""
    return endpoint.resource.namespaced and exchange.route.namespace is None


def written(
    service: Service,
    exchange: Exchange,
    endpoint: Endpoint,
    stored: Stored,
    warnings: tuple[str, ...],
    *,
    status: int = 200,
) -> web.Response:
    """The answer to a write: the object as it is now."""
    wanted = wanted_form(exchange.accept, exchange.query)
    rendered = render_object(endpoint, stored, wanted, service.world.clock.now())
    return json_response(rendered, status, warnings)


def write_options(exchange: Exchange, subresource: str) -> WriteOptions:
    """How a request wants something written."""
    return WriteOptions(exchange.dry_run, subresource, exchange.manager)


def write_scale(service: Service, exchange: Exchange, endpoint: Endpoint, stored: Stored, sent: Object) -> web.Response:
    """The Scale after the replicas of an object were set."""
    validation = exchange.query.get("fieldValidation", "")
    body = bodies.checked(sent, "Scale", SCALE_VERSION, SCALE, validation)
    changed = scale.write_scale(endpoint.resource, stored, body.value)
    options = write_options(exchange, "scale")
    updated = writing.update(service.world, endpoint, stored, changed, options)
    wanted = wanted_form(exchange.accept, exchange.query)
    rendered = render_scale(scale.read_scale(endpoint.resource, updated), wanted, service.world.clock.now())
    return json_response(rendered, 200, body.warnings)


def check_name(sent: Object, name: str) -> None:
    """Refuse an object whose name is not that of the path."""
    metadata = sent.get("metadata")
    found = metadata.get("name", "") if isinstance(metadata, dict) else ""
    if not found:
        raise errors.bad_request(
            f"the name of the object (based on URL: {name}) was undeterminable: name must be provided"
        )
    if found != name:
        raise errors.bad_request(f"the name of the object ({found}) does not match the name on the URL ({name})")


def remove(service: Service, exchange: Exchange, endpoint: Endpoint) -> web.Response:
    """The deleted object, or a Status that says it is gone."""
    route = exchange.route
    options = delete_options(exchange)
    current = reading.get(service.world, endpoint, object_namespace(route, endpoint), route.name)
    deleted = deletion.delete(service.world, endpoint, current, options)
    if endpoint.resource.rules.returns_deleted or not deleted.gone:
        return written(service, exchange, endpoint, deleted.stored, ())
    details = {"name": route.name, "group": endpoint.group, "kind": endpoint.plural, "uid": current.uid}
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }
    return json_response(msgspec.json.encode(status))


def remove_collection(service: Service, exchange: Exchange, endpoint: Endpoint) -> web.Response:
    """The list of the selected objects, which were deleted."""
    if "deletecollection" not in endpoint.verbs or lacks_namespace(exchange, endpoint):
        raise errors.method_not_supported()
    world = service.world
    options = delete_options(exchange)
    wanted = wanted_form(exchange.accept, exchange.query)
    page = reading.list_objects(world, endpoint, selection_of(exchange, endpoint), reading.ListOptions())
    for item in page.items:
        current = world.store.get(endpoint.resource, item.namespace, item.name)
        if current is not None:
            deletion.delete(world, endpoint, current, options)
    return json_response(render_list(endpoint, page, wanted, world.clock.now()))


def delete_options(exchange: Exchange) -> DeleteOptions:
    """How a request wants something deleted, from its body or else its parameters.

    Raises an Invalid `ApiError`.
    """
    query = exchange.query
    document: dict[str, Any] = {
        "propagationPolicy": query.get("propagationPolicy"),
        "orphanDependents": boolean(query, "orphanDependents"),
        "gracePeriodSeconds": number(query, "gracePeriodSeconds") if "gracePeriodSeconds" in query else None,
        "dryRun": [query["dryRun"]] if query.get("dryRun") else [],
    }
    if exchange.body:
        sent = read_object(exchange.content_type, exchange.body, DELETE_OPTIONS, "DeleteOptions")
        try:
            document = decode(DELETE_OPTIONS, sent).value
        except DecodeError as error:
            raise errors.bad_request(f"the body of the request is no DeleteOptions: {error}") from error
    propagation = document.get("propagationPolicy") or ""
    orphan = document.get("orphanDependents")
    if orphan is not None and not propagation:
        propagation = "Orphan" if orphan else "Background"
    problems = []
    if orphan is not None and document.get("propagationPolicy") is not None:
        problems.append(errors.invalid("propagationPolicy", propagation, "must not be given beside orphanDependents"))
    if propagation not in _PROPAGATIONS:
        problems.append(errors.not_supported("propagationPolicy", propagation, list(_PROPAGATIONS)[1:]))
    dry_run = document.get("dryRun") or []
    if dry_run not in ([], ["All"]):
        problems.append(errors.not_supported("dryRun", dry_run, ("All",)))
    if problems:
        raise errors.unprocessable("meta.k8s.io", "DeleteOptions", "", problems)
    preconditions = document.get("preconditions") or {}
    return DeleteOptions(
        grace_period_s=document.get("gracePeriodSeconds"),
        propagation=_PROPAGATIONS[propagation],
        uid=preconditions.get("uid") or "",
        resource_version=preconditions.get("resourceVersion") or "",
        dry_run=bool(dry_run),
    )
