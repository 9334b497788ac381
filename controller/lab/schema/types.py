"""The vocabulary in which the schemas of the kinds are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

ScalarKind = Literal[
    "string", "int32", "int64", "boolean", "quantity", "time", "microtime", "int-or-string", "bytes", "any"
]

Presence = Literal["plain", "pointer", "always"]
"""When a field is stored: unless it is zero, unless it is null, or always (as zero when it was absent)."""


class Scalar(msgspec.Struct, frozen=True):
    """A value without fields; `any` is JSON that nobody looks into."""

    kind: ScalarKind


class ListOf(msgspec.Struct, frozen=True):
    """A list.

    `merge_key` is the field by which a strategic merge patch finds elements (empty: the list is replaced; for
    scalars `*` merges them as a set); `map_keys` are the fields that identify an element for server-side
    apply.
    """

    item: Type
    merge_key: str = ""
    map_keys: tuple[str, ...] = ()


class MapOf(msgspec.Struct, frozen=True):
    """An object whose keys are data, as in labels."""

    item: Type


class Message(msgspec.Struct, frozen=True, eq=False):
    """An object with known fields; `name` is its name in OpenAPI.

    An open message keeps fields that are not listed; `replaced` says that a strategic merge patch that names
    some of its fields drops the others when it says so with `$retainKeys`.
    """

    name: str
    description: str
    fields: Mapping[str, Field]
    open: bool = False


Type = Scalar | ListOf | MapOf | Message


class Field(msgspec.Struct, frozen=True, eq=False):
    """One field of a message, with what a reader of `kubectl explain` is told about it.

    `default` is what stands for the field in the key of a list element that lacks it; empty for none.
    """

    type: Type
    presence: Presence
    description: str
    required: bool = False
    default: str = ""


STRING = Scalar("string")
INT32 = Scalar("int32")
INT64 = Scalar("int64")
BOOLEAN = Scalar("boolean")
QUANTITY = Scalar("quantity")
TIME = Scalar("time")
MICRO_TIME = Scalar("microtime")
INT_OR_STRING = Scalar("int-or-string")
BYTES = Scalar("bytes")
ANY = Scalar("any")
STRINGS = ListOf(STRING)
STRING_MAP = MapOf(STRING)
QUANTITIES = MapOf(QUANTITY)


def plain(kind: Type, description: str = "", *, default: str = "") -> Field:
    """A field that is left out when it is zero: an empty text, 0, false, nothing in the list."""
    return Field(kind, "plain", description, default=default)


def pointer(kind: Type, description: str = "", *, required: bool = False) -> Field:
    """A field for which zero is a value of its own: left out only when it is null or absent."""
    return Field(kind, "pointer", description, required)


def always(kind: Type, description: str = "", *, required: bool = False) -> Field:
    """A field that is always written, as zero when it was not given (null for a list or a time)."""
    return Field(kind, "always", description, required)
