"""Turning what clients send into what is stored: types checked, unknown fields dropped, values canonical."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import TYPE_CHECKING, Any, assert_never

import msgspec

from controller.lab.clock import format_timestamp, parse_timestamp
from controller.lab.objects import quantity
from controller.lab.schema.types import Field, ListOf, MapOf, Message, Scalar, Type

if TYPE_CHECKING:
    from collections.abc import Callable

_SIX_DIGITS = re.compile(r"\.[0-9]{6}(Z|[+-][0-9:]+)$")
_INT_LIMITS = {"int32": 2**31, "int64": 2**63}


class DecodeError(ValueError):
    """A value of the wrong JSON type, or a text that is not what its field needs.

    The message names the field.
    """


class Decoded(msgspec.Struct, frozen=True):
    """The stored form of an object, and the paths of the fields that nobody knows."""

    value: dict[str, Any]
    unknown: tuple[str, ...]


def decode(message: Message, value: object) -> Decoded:
    """The stored form of `value`, in the order of the schema.

    Raises DecodeError for values of the wrong type.

    Absent fields that are always written are filled with zero; nothing else is defaulted.
    """
    unknown: list[str] = []
    decoded = _message(message, value, "", unknown)
    return Decoded(decoded, tuple(unknown))


def _message(message: Message, value: object, path: str, unknown: list[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DecodeError(_mismatch(path, "an object", value))
    result: dict[str, Any] = {}
    for name, field in message.fields.items():
        given = value.get(name)
        where = f"{path}.{name}" if path else name
        if given is None:
            if field.presence == "always":
                result[name] = _zero(field.type)
            continue
        decoded = _value(field.type, given, where, unknown)
        if field.presence != "plain" or _is_something(field.type, decoded):
            result[name] = decoded
    for name, given in value.items():
        if name in message.fields:
            continue
        if message.open:
            if given is not None:
                result[name] = given
        else:
            unknown.append(f"{path}.{name}" if path else name)
    return result


def _value(kind: Type, value: object, path: str, unknown: list[str]) -> object:
    match kind:
        case Scalar():
            return _scalar(kind, value, path)
        case Message():
            return _message(kind, value, path, unknown)
        case ListOf():
            if not isinstance(value, list):
                raise DecodeError(_mismatch(path, "a list", value))
            return [
                _zero(kind.item) if item is None else _value(kind.item, item, f"{path}[{index}]", unknown)
                for index, item in enumerate(value)
            ]
        case MapOf():
            if not isinstance(value, dict):
                raise DecodeError(_mismatch(path, "an object", value))
            return {
                key: _zero(kind.item) if item is None else _value(kind.item, item, f"{path}.{key}", unknown)
                for key, item in value.items()
            }
        case _:
            assert_never(kind)


def _zero(kind: Type) -> object:
    match kind:
        case Scalar("string" | "bytes"):
            return ""
        case Scalar("int32" | "int64"):
            return 0
        case Scalar("boolean"):
            return False
        case Scalar("quantity"):
            return "0"
        case Message():
            return _message(kind, {}, "", [])
        case MapOf():
            return {}
        case _:
            return None


def _is_something(kind: Type, value: object) -> bool:
    return bool(value) or isinstance(kind, Message) or (kind == Scalar("quantity") and value is not None)


def _scalar(kind: Scalar, value: object, path: str) -> object:
    if kind.kind == "any":
        return value
    return _SCALARS[kind.kind](kind, value, path)


def _string(_: Scalar, value: object, path: str) -> str:
    if not isinstance(value, str):
        raise DecodeError(_mismatch(path, "a string", value))
    return value


def _integer(kind: Scalar, value: object, path: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise DecodeError(_mismatch(path, f"an integer ({kind.kind})", value))
    limit = _INT_LIMITS[kind.kind]
    if not -limit <= value < limit:
        raise DecodeError(f"{path}: the number {value} does not fit into {kind.kind}")
    return value


def _boolean(_: Scalar, value: object, path: str) -> bool:
    if not isinstance(value, bool):
        raise DecodeError(_mismatch(path, "true or false", value))
    return value


def _quantity(_: Scalar, value: object, path: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise DecodeError(_mismatch(path, "a quantity", value))
    text = value.strip() if isinstance(value, str) else json.dumps(value)
    try:
        return quantity.canonical(text)
    except ValueError as error:
        raise DecodeError(f"{path}: {error}") from error


def _time(kind: Scalar, value: object, path: str) -> str:
    text = _string(kind, value, path)
    micro = kind.kind == "microtime"
    example = "2026-01-31T12:00:00.000000Z" if micro else "2026-01-31T12:00:00Z"
    try:
        moment = parse_timestamp(text)
    except ValueError as error:
        raise DecodeError(f'{path}: parsing time "{text}": expected RFC 3339 such as {example}') from error
    if micro and not _SIX_DIGITS.search(text):
        raise DecodeError(f'{path}: parsing time "{text}": exactly six digits after the point, as {example}')
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if micro else format_timestamp(moment)


def _int_or_string(_: Scalar, value: object, path: str) -> int | str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise DecodeError(_mismatch(path, "an integer or a string", value))
    return value


def _bytes(kind: Scalar, value: object, path: str) -> str:
    text = _string(kind, value, path)
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise DecodeError(f"{path}: illegal base64 data: {error}") from error
    return text


_SCALARS: dict[str, Callable[[Scalar, object, str], object]] = {
    "string": _string,
    "int32": _integer,
    "int64": _integer,
    "boolean": _boolean,
    "quantity": _quantity,
    "time": _time,
    "microtime": _time,
    "int-or-string": _int_or_string,
    "bytes": _bytes,
}


def _mismatch(path: str, expected: str, value: object) -> str:
    found = {
        dict: "an object",
        list: "a list",
        str: "a string",
        bool: "a boolean",
        int: "a number",
        float: "a number",
    }
    return f"{path or 'the object'}: expected {expected}, got {found.get(type(value), 'null')}"


def field_of(kind: Type | None, name: str) -> Type | None:
    """The type of a field or map entry; None where the schema does not look."""
    match kind:
        case Message():
            field: Field | None = kind.fields.get(name)
            return field.type if field else None
        case MapOf():
            return kind.item
        case _:
            return None


def default_of(kind: Type, name: str) -> str:
    """What stands for a field that is absent; empty when nothing does."""
    field = kind.fields.get(name) if isinstance(kind, Message) else None
    return field.default if field else ""
