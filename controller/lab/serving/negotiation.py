"""Which form of an answer a client wants, and how its bodies are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
import yaml

from controller.lab.objects import errors
from controller.lab.serving.protobuf import PROTOBUF, parse_protobuf
from controller.lab.yaml_text import BodyLoader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from controller.lab.schema.types import Message

Form = Literal["object", "table", "metadata"]

JSON = "application/json"
YAML = "application/yaml"
_PRODUCED = (JSON,)
_CONSUMED = (JSON, YAML)
_FORMS: dict[str, Form] = {
    "": "object",
    "Table": "table",
    "PartialObjectMetadata": "metadata",
    "PartialObjectMetadataList": "metadata",
}


class Wanted(msgspec.Struct, frozen=True):
    """The form of an answer; `include` says what rows of a table carry: `Metadata`, `Object` or `None`."""

    form: Form = "object"
    include: str = "Metadata"


class Clause(msgspec.Struct, frozen=True):
    """One alternative of an Accept header."""

    media_type: str
    parameters: dict[str, str]


def clauses(accept: str) -> Iterator[Clause]:
    """The alternatives of an Accept header in order; one that accepts anything when the header is empty."""
    for part in (accept or "*/*").split(","):
        media_type, *parameters = [piece.strip() for piece in part.split(";")]
        pairs = (parameter.partition("=") for parameter in parameters)
        yield Clause(media_type.lower(), {name.strip(): value.strip() for name, _, value in pairs})


def accepts_json(clause: Clause) -> bool:
    """Whether JSON satisfies this alternative."""
    return clause.media_type in (JSON, "application/*", "*/*")


def wanted_form(accept: str, query: Mapping[str, str]) -> Wanted:
    """The first form the client accepts that can be produced.

    Raises a NotAcceptable `ApiError` when there is none.
    """
    for clause in clauses(accept):
        target = clause.parameters.get("as", "")
        known = not target or clause.parameters.get("g") == "meta.k8s.io"
        if accepts_json(clause) and known and target in _FORMS:
            return Wanted(_FORMS[target], query.get("includeObject") or "Metadata")
    raise errors.not_acceptable(_PRODUCED)


def read_object(content_type: str, body: bytes, schema: Message | None, kind: str) -> dict[str, Any]:
    """The object of a kind in a body.

    Raises `ApiError`: 415 for an unknown type, 400 for a body that is no object.

    `schema` is needed for protobuf only.
    """
    media_type = content_type.partition(";")[0].strip().lower() or JSON
    if media_type == PROTOBUF:
        return parse_protobuf(body, schema, kind)
    if media_type not in _CONSUMED:
        raise errors.unsupported_media_type((*_CONSUMED, PROTOBUF))
    value = parse_yaml(body) if media_type == YAML else parse_json(body)
    if not isinstance(value, dict):
        raise errors.bad_request("couldn't get version/kind; the body is not an object")
    return value


def parse_json(body: bytes) -> Any:
    """What a JSON text says; raises a BadRequest `ApiError` that says where it is broken."""
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise errors.bad_request(f"the body of the request is no JSON: {error}") from error


def parse_yaml(body: bytes) -> Any:
    """What a YAML text (or a JSON text, which is one) says.

    Raises a BadRequest `ApiError` when it is broken.
    """
    try:
        return yaml.load(body, Loader=BodyLoader)  # noqa: S506 - derived from the safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise errors.bad_request(f"error decoding YAML: {error}") from error
