"""PATCH: JSON patch, merge patch, strategic merge patch and server-side apply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from controller.lab.objects import errors, scale
from controller.lab.objects.resources import copied
from controller.lab.operations import bodies, writing
from controller.lab.operations.writing import WriteOptions
from controller.lab.patching import field_sets, ownership
from controller.lab.patching.json_patch import apply_json_patch, apply_merge_patch
from controller.lab.patching.strategic import apply_strategic_patch
from controller.lab.schema.metadata import SCALE
from controller.lab.serving.negotiation import parse_json, parse_yaml
from controller.lab.serving.parameters import check_parameters
from controller.lab.serving.service import boolean, object_namespace
from controller.lab.serving.writes import check_name, write_options, write_scale, written

if TYPE_CHECKING:
    from aiohttp import web

    from controller.lab.objects.resources import Endpoint, Object
    from controller.lab.schema.types import Message
    from controller.lab.serving.service import Exchange, Service
    from controller.lab.storage.stored import Stored

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


def patch_types(*, custom: bool) -> tuple[str, ...]:
    """The media types of patches that a kind accepts; custom resources know no strategic ones."""
    return (JSON_PATCH, MERGE_PATCH, *(() if custom else (STRATEGIC_PATCH,)), APPLY_PATCH)


def patch(service: Service, exchange: Exchange, endpoint: Endpoint) -> web.Response:
    """The object (or its status, or its scale) after a patch."""
    route = exchange.route
    media_type = exchange.content_type.partition(";")[0].strip().lower()
    accepted = patch_types(custom=endpoint.resource.custom)
    if media_type not in accepted:
        raise errors.unsupported_media_type(accepted, None if endpoint.resource.custom else {})
    namespace = object_namespace(route, endpoint)
    check_parameters(exchange, applies=media_type == APPLY_PATCH)
    current = service.world.store.get(endpoint.resource, namespace, route.name)
    if media_type == APPLY_PATCH:
        return _apply(service, exchange, endpoint, current)
    if current is None:
        raise errors.not_found(endpoint.group, endpoint.plural, route.name)
    if route.subresource == "scale":
        before = scale.read_for_update(endpoint.resource, current)
        after = _patched(before, exchange.body, media_type, SCALE)
        return write_scale(service, exchange, endpoint, current, after)
    after = _patched(current.as_object(endpoint), exchange.body, media_type, endpoint.schema)
    body = bodies.to_hub(endpoint, after, exchange.query.get("fieldValidation", ""))
    options = write_options(exchange, route.subresource)
    stored = writing.update(service.world, endpoint, current, body.value, options)
    return written(service, exchange, endpoint, stored, body.warnings)


def _patched(before: Object, body: bytes, media_type: str, schema: Message | None) -> Object:
    content = parse_json(body)
    if media_type == JSON_PATCH:
        return apply_json_patch(before, content)
    if not isinstance(content, dict):
        raise errors.bad_request("error decoding patch: the patch is not an object")
    if media_type == MERGE_PATCH:
        return apply_merge_patch(before, content)
    return apply_strategic_patch(before, content, schema)


def _apply(service: Service, exchange: Exchange, endpoint: Endpoint, current: Stored | None) -> web.Response:
    route, query = exchange.route, exchange.query
    config = _configuration(exchange, endpoint)
    validation = query.get("fieldValidation", "")
    if current is None and route.subresource:
        raise errors.not_found(endpoint.group, endpoint.plural, route.name)
    live = copied(current.value) if current else {}
    if endpoint.from_hub and current:
        live = endpoint.from_hub(live)
    applied = ownership.apply(
        live,
        _content(config),
        manager=exchange.manager,
        force=bool(boolean(query, "force")),
        subresource=route.subresource,
        api_version=endpoint.api_version,
        schema=endpoint.schema,
        timestamp=service.world.clock.timestamp(),
    )
    body = bodies.to_hub(endpoint, applied.value, validation)
    options = WriteOptions(exchange.dry_run, route.subresource, exchange.manager, applied.entries)
    if current is None:
        stored = writing.create(service.world, endpoint, body.value, route.namespace or "", options)
        return written(service, exchange, endpoint, stored, body.warnings, status=201)
    stored = writing.update(service.world, endpoint, current, body.value, options)
    return written(service, exchange, endpoint, stored, body.warnings)


def _configuration(exchange: Exchange, endpoint: Endpoint) -> Object:
    """The object that is applied; raises `ApiError` for one that says too little, too much, or the same twice."""
    route = exchange.route
    config: Any = parse_yaml(exchange.body)
    if not isinstance(config, dict):
        raise errors.bad_request("the applied configuration is not an object")
    if route.subresource == "scale":
        raise errors.bad_request("the lab knows no server-side apply of a scale; apply the object or patch the scale")
    version, kind = config.get("apiVersion") or "", config.get("kind") or ""
    if (version, kind) != (endpoint.api_version, endpoint.kind):
        named = version if "/" in str(version) else f"/{version}"
        raise errors.bad_request(f"invalid object type: {named}, Kind={kind}")
    validation = exchange.query.get("fieldValidation", "")
    bodies.checked(config, endpoint.kind, endpoint.api_version, endpoint.schema, validation)
    config["metadata"] = {"name": route.name, **(config.get("metadata") or {})}
    check_name(config, route.name)
    if config["metadata"].get("managedFields") is not None:
        raise errors.bad_request("metadata.managedFields must be left out of what is applied")
    twice = field_sets.first_duplicate(config, endpoint.schema)
    if twice is not None:
        place, element = field_sets.printed(twice[:-1]), field_sets.printed(twice[-1:])
        raise errors.ApiError(500, "", f"the applied configuration is ambiguous: {place} has {element} twice")
    return config


def _content(config: Object) -> Object:
    """The configuration without what says of which kind it is.

    A resourceVersion in it stays a precondition.
    """
    content = {name: value for name, value in config.items() if name not in ("apiVersion", "kind")}
    decoded: Object = msgspec.json.decode(msgspec.json.encode(content))
    return decoded
