"""Bodies in protobuf, which typed clients such as parts of kubectl send; answers are always JSON."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, assert_never

from controller.lab.objects import errors
from controller.lab.schema.types import ListOf, MapOf, Message, Scalar, Type
from controller.lab.schema.wire_numbers import FIELD_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from controller.lab.objects.resources import Object

PROTOBUF = "application/vnd.kubernetes.protobuf"

_MAGIC = b"k8s\x00"
_SIGN_BIT = 1 << 63
_VARINT_BITS_MAX = 70
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INT_OR_STRING_IS_STRING = 1


class _WireError(ValueError):
    """Bytes that are no protobuf, or fields that the schema cannot place."""


def parse_protobuf(body: bytes, schema: Message | None, kind: str) -> Object:
    """The object in a protobuf body, as its JSON would be.

    Raises a BadRequest `ApiError` when it cannot be read.

    `schema` is that of the kind the request is for; None for kinds that have no protobuf form.
    """
    if schema is None:
        raise errors.unsupported_media_type(("application/json", "application/yaml"))
    if not body.startswith(_MAGIC):
        raise errors.bad_request("the body claims to be protobuf and does not begin with its mark")
    try:
        envelope = {number: value for number, value in _fields(body[len(_MAGIC) :]) if isinstance(value, bytes)}
        types = {number: value for number, value in _fields(envelope.get(1, b"")) if isinstance(value, bytes)}
        content = _message(envelope.get(2, b""), schema, "")
    except (_WireError, UnicodeDecodeError) as error:
        raise errors.bad_request(f"the protobuf body cannot be read as {kind}: {error}") from error
    return {**content, "apiVersion": types.get(1, b"").decode(), "kind": types.get(2, b"").decode()}


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value, shift = 0, 0
    while position < len(data) and shift < _VARINT_BITS_MAX:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if not byte & 0x80:
            return value, position
    raise _WireError("a number does not end")


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message in order: number and value, an integer or bytes."""
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        match key & 7:
            case 0:
                value, position = _varint(data, position)
                yield key >> 3, value
            case 2:
                length, position = _varint(data, position)
                if position + length > len(data):
                    raise _WireError("the body is too short")
                yield key >> 3, data[position : position + length]
                position += length
            case other:
                raise _WireError(f"field {key >> 3} has the wire type {other}, which no kind uses")


def _message(data: bytes, schema: Message, path: str) -> Object:
    names = FIELD_NAMES.get(schema.name)
    if names is None:
        raise _WireError(f"{path or schema.name}: the lab does not know this message in protobuf; send JSON")
    result: Object = {}
    for number, value in _fields(data):
        name = names.get(number)
        field = schema.fields.get(name) if name else None
        where = f"{path}.{name or number}"
        if name is None or field is None:
            if value:
                raise _WireError(f"{where}: the lab does not know this field in protobuf; send JSON")
        elif isinstance(field.type, ListOf):
            result.setdefault(name, []).append(_value(value, field.type.item, where))
        elif isinstance(field.type, MapOf) and isinstance(value, bytes):
            result.setdefault(name, {}).update(_entry(value, field.type.item, where))
        else:
            result[name] = _value(value, field.type, where)
    return result


def _entry(data: bytes, item: Type, path: str) -> Object:
    """One entry of a map; an empty message where the schema only sees a map stands for no entry."""
    if not data:
        return {}
    pair = dict(_fields(data))
    key = pair.get(1, b"")
    return {key.decode() if isinstance(key, bytes) else str(key): _value(pair.get(2, b""), item, path)}


def _value(value: int | bytes, kind: Type, path: str) -> Any:
    match kind:
        case Message():
            return _message(_as_bytes(value, path), kind, path)
        case Scalar():
            return _scalar(value, kind.kind, path)
        case ListOf() | MapOf():
            raise _WireError(f"{path}: the lab does not read this field in protobuf; send JSON")
        case _:
            assert_never(kind)


def _scalar(value: int | bytes, kind: str, path: str) -> Any:
    if isinstance(value, int):
        if kind == "boolean":
            return bool(value)
        return value - (_SIGN_BIT << 1) if value & _SIGN_BIT else value
    match kind:
        case "string":
            return value.decode()
        case "bytes":
            return base64.b64encode(value).decode()
        case "quantity":
            inner = dict(_fields(value)).get(1, b"0")
            return _as_bytes(inner, path).decode()
        case "time" | "microtime":
            return _time(value)
        case "int-or-string":
            return _int_or_string(value, path)
        case _ if not value:
            return {}
        case _:
            raise _WireError(f"{path}: the lab does not read this field in protobuf; send JSON")


def _time(value: bytes) -> str | None:
    """A moment as JSON has it; an empty message is the zero time, which JSON has as null."""
    if not value:
        return None
    parts = dict(_fields(value))
    seconds, nanoseconds = parts.get(1, 0), parts.get(2, 0)
    if not isinstance(seconds, int) or not isinstance(nanoseconds, int):
        raise _WireError("a time is not made of numbers")
    moment = _EPOCH + timedelta(seconds=seconds, microseconds=nanoseconds // 1000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _int_or_string(value: bytes, path: str) -> int | str:
    parts = dict(_fields(value))
    if parts.get(1, 0) == _INT_OR_STRING_IS_STRING:
        return _as_bytes(parts.get(3, b""), path).decode()
    number = parts.get(2, 0)
    return number if isinstance(number, int) else 0


def _as_bytes(value: int | bytes, path: str) -> bytes:
    if isinstance(value, int):
        raise _WireError(f"{path}: a number stands where a message or text should be")
    return value
