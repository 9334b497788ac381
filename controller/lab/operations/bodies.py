"""Objects in requests: read, checked against their schema, brought into their stored form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from controller.lab.objects import errors
from controller.lab.schema.decode import DecodeError, decode
from controller.lab.schema.metadata import OBJECT_META

if TYPE_CHECKING:
    from controller.lab.objects.resources import Endpoint, Object
    from controller.lab.schema.types import Message


class Body(msgspec.Struct, frozen=True):
    """An object that was sent, in the version of the request, and what its sender is warned of."""

    value: Object
    warnings: tuple[str, ...] = ()


def checked(value: Object, kind: str, api_version: str, schema: Message | None, field_validation: str) -> Body:
    """The object without apiVersion and kind, with types checked and unknown fields dropped.

    Raises a BadRequest `ApiError` for another kind or version, for values of the wrong type and, when
    `field_validation` is Strict, for unknown fields.
    """
    version = value.get("apiVersion") or api_version
    if version != api_version:
        raise errors.bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({api_version})"
        )
    named = value.get("kind") or kind
    origin = f'{named} in version "{api_version.rpartition("/")[2]}" cannot be handled as a {kind}'
    if named != kind:
        raise errors.bad_request(f"{origin}: the request is for objects of kind {kind}")
    try:
        decoded = decode(schema, value) if schema else None
        metadata = None if schema else decode(OBJECT_META, value.get("metadata") or {})
    except DecodeError as error:
        raise errors.bad_request(f"{origin}: {error}") from error
    if decoded is not None:
        content, unknown = dict(decoded.value), decoded.unknown
    else:
        content = {**value, "metadata": metadata.value if metadata else {}}
        unknown = tuple(f"metadata.{name}" for name in (metadata.unknown if metadata else ()))
    content.pop("kind", None)
    content.pop("apiVersion", None)
    if unknown and field_validation == "Strict":
        listing = ", ".join(f'unknown field "{name}"' for name in unknown)
        raise errors.bad_request(f"{origin}: strict decoding error: {listing}")
    warnings = () if field_validation == "Ignore" else tuple(f'unknown field "{name}"' for name in unknown)
    return Body(content, (*warnings, *_without_equal_owners(content["metadata"])))


def _without_equal_owners(metadata: Object) -> tuple[str, ...]:
    """Keep references to owners once, in place; what the sender is warned of."""
    kept: list[Object] = []
    again: list[Object] = []
    for owner in metadata.get("ownerReferences") or ():
        # Two that differ in anything but their uid are both kept, as the API server keeps them.
        (again if owner in kept else kept).append(owner)
    if not again:
        return ()
    metadata["ownerReferences"] = kept
    uids = ", ".join(dict.fromkeys(owner["uid"] for owner in again))
    return (f"metadata.ownerReferences has the same entry more than once, which is kept once: uid {uids}",)


def to_hub(endpoint: Endpoint, value: Object, field_validation: str) -> Body:
    """The stored form of an object of an endpoint; raises as `checked` does."""
    body = checked(value, endpoint.kind, endpoint.api_version, endpoint.schema, field_validation)
    return msgspec.structs.replace(body, value=endpoint.to_hub(body.value)) if endpoint.to_hub else body
