"""OpenAPI v2 and v3, as far as kubectl reads them: schemas for explain, paths for validation and patches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from controller.lab.schema.metadata import OBJECT_META
from controller.lab.schema.types import Field, ListOf, MapOf, Message, Scalar, Type
from controller.lab.serving.patches import patch_types

if TYPE_CHECKING:
    from collections.abc import Sequence

    from controller.lab.objects.resources import Endpoint, Object
    from controller.lab.serving.service import Service

_SCALARS: dict[str, Object] = {
    "string": {"type": "string"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "boolean": {"type": "boolean"},
    "quantity": {"type": "string"},
    "time": {"type": "string", "format": "date-time"},
    "microtime": {"type": "string", "format": "date-time"},
    "int-or-string": {"type": "string", "format": "int-or-string"},
    "bytes": {"type": "string", "format": "byte"},
    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
_INFO = {"title": "Kubernetes", "version": "v1.36.3"}
_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation")
_KIND_EXTENSION = "x-kubernetes-group-version-kind"


def openapi_v2(service: Service) -> Object:
    """The whole API in one OpenAPI v2 document."""
    endpoints = list(service.world.registry)
    definitions: dict[str, Object] = {}
    paths: Object = {}
    for endpoint in endpoints:
        _define(endpoint, definitions, "#/definitions/")
        paths.update(_paths(endpoint, version=2))
    return {"swagger": "2.0", "info": _INFO, "paths": paths, "definitions": definitions}


def openapi_v3_index(service: Service) -> Object:
    """Where the OpenAPI v3 document of each API version is; the hash changes when its resources do."""
    paths = {}
    for group, versions in service.world.registry.group_versions().items():
        for version in versions:
            where = f"apis/{group}/{version}" if group else f"api/{version}"
            plurals = "-".join(item.plural for item in service.world.registry.of(group, version))
            digest = f"{sum(plurals.encode()):X}{len(plurals):X}"
            paths[where] = {"serverRelativeURL": f"/openapi/v3/{where}?hash={digest}"}
    return {"paths": paths}


def openapi_v3(service: Service, path: str) -> Object | None:
    """The OpenAPI v3 document of an API version, by its place in the index; None when there is none."""
    match path.strip("/").split("/"):
        case ["api", version]:
            group = ""
        case ["apis", group, version]:
            pass
        case _:
            return None
    endpoints: Sequence[Endpoint] = service.world.registry.of(group, version)
    if not endpoints:
        return None
    schemas: dict[str, Object] = {}
    paths: Object = {}
    for endpoint in endpoints:
        _define(endpoint, schemas, "#/components/schemas/")
        paths.update(_paths(endpoint, version=3))
    return {"openapi": "3.0.0", "info": _INFO, "paths": paths, "components": {"schemas": schemas}}


def _kind_of(endpoint: Endpoint) -> Object:
    return {"group": endpoint.group, "version": endpoint.version, "kind": endpoint.kind}


def _define(endpoint: Endpoint, schemas: dict[str, Object], prefix: str) -> None:
    """Add the schema of a kind, and all that it refers to."""
    if endpoint.schema is not None:
        _message(endpoint.schema, schemas, prefix)
        name = endpoint.schema.name
    else:
        name = ".".join([*reversed(endpoint.group.split(".")), endpoint.version, endpoint.kind])
        _message(OBJECT_META, schemas, prefix)
        published = dict(endpoint.published or {"type": "object"})
        properties = {
            "apiVersion": {"type": "string", "description": "Group and version of the API."},
            "kind": {"type": "string", "description": "The kind of the object."},
            **published.get("properties", {}),
            "metadata": {"allOf": [{"$ref": prefix + OBJECT_META.name}]},
        }
        schemas[name] = {**published, "properties": properties}
    schemas[name] = {**schemas[name], _KIND_EXTENSION: [_kind_of(endpoint)]}


def _message(message: Message, schemas: dict[str, Object], prefix: str) -> None:
    if message.name in schemas:
        return
    schema: Object = {"description": message.description, "type": "object"}
    schemas[message.name] = schema
    schema["properties"] = {name: _field(field, schemas, prefix) for name, field in message.fields.items()}
    required = [name for name, field in message.fields.items() if field.required]
    if required:
        schema["required"] = required
    if message.open:
        schema["x-kubernetes-preserve-unknown-fields"] = True


def _field(field: Field, schemas: dict[str, Object], prefix: str) -> Object:
    described = _type(field.type, schemas, prefix)
    if "$ref" in described and "components" in prefix:
        described = {"allOf": [described]}
    extensions: Object = {"default": field.default} if field.default else {}
    if isinstance(field.type, ListOf):
        if field.type.merge_key:
            extensions["x-kubernetes-patch-strategy"] = "merge"
        if field.type.merge_key not in ("", "*"):
            extensions["x-kubernetes-patch-merge-key"] = field.type.merge_key
        kind = "map" if field.type.map_keys else "set" if field.type.merge_key == "*" else "atomic"
        extensions["x-kubernetes-list-type"] = kind
        if field.type.map_keys:
            extensions["x-kubernetes-list-map-keys"] = list(field.type.map_keys)
    return {"description": field.description, **described, **extensions}


def _type(kind: Type, schemas: dict[str, Object], prefix: str) -> Object:
    match kind:
        case Scalar():
            return dict(_SCALARS[kind.kind])
        case ListOf():
            return {"type": "array", "items": _type(kind.item, schemas, prefix)}
        case MapOf():
            return {"type": "object", "additionalProperties": _type(kind.item, schemas, prefix)}
        case Message():
            _message(kind, schemas, prefix)
            return {"$ref": prefix + kind.name}
        case _:
            assert_never(kind)


def _paths(endpoint: Endpoint, version: int) -> Object:
    """The paths of a resource with the operations whose parameters kubectl looks for."""
    root = f"/apis/{endpoint.group}/{endpoint.version}" if endpoint.group else f"/api/{endpoint.version}"
    scope = "/namespaces/{namespace}" if endpoint.resource.namespaced else ""
    collection = f"{root}{scope}/{endpoint.plural}"
    item = f"{collection}/{{name}}"
    paths: Object = {collection: {}}
    if "list" in endpoint.verbs:
        paths[collection]["get"] = _operation(endpoint, "list")
    if "create" in endpoint.verbs:
        paths[collection]["post"] = _operation(endpoint, "post", _PARAMETERS)
    if "get" in endpoint.verbs:
        paths[item] = {
            "get": _operation(endpoint, "get"),
            "put": _operation(endpoint, "put", _PARAMETERS),
            "patch": _patch_operation(endpoint, version),
            "delete": _operation(endpoint, "delete", ("dryRun",)),
        }
    return paths


def _operation(endpoint: Endpoint, action: str, parameters: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "operationId": f"{action}{endpoint.group.replace('.', '')}{endpoint.version}{endpoint.kind}",
        "parameters": [
            {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}} for name in parameters
        ],
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": action,
        _KIND_EXTENSION: _kind_of(endpoint),
    }


def _patch_operation(endpoint: Endpoint, version: int) -> Object:
    operation = _operation(endpoint, "patch", (*_PARAMETERS, "force"))
    accepted = patch_types(custom=endpoint.resource.custom)
    if version == 2:  # noqa: PLR2004 - the version of OpenAPI
        return {**operation, "consumes": list(accepted)}
    content = {media_type: {"schema": {"type": "object"}} for media_type in accepted}
    return {**operation, "requestBody": {"content": content, "required": True}}
