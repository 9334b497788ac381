"""Nodes to plain values by the tables of `schema`: what fits, what does not, and what no table knows."""

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from controller.decide import quantity
from controller.manifest.schema import Field, Kind, ListOf, Presence, Record, Scalar, TextMap
from controller.manifest.tree import Node, Number, Path, describe

_INTEGER: Final = re.compile(r"-?[0-9]{1,30}")
_BITS: Final = {Scalar.INT32: 32, Scalar.INT64: 64}
_EXPECTED: Final = {
    Scalar.BOOL: "true or false",
    Scalar.QUANTITY: "a quantity such as 500m, 2 or 1.5Gi",
    Scalar.TIME: "a time such as 2006-01-02T15:04:05Z",
}
_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.,][0-9]+)?"
    r"(?:Z|[+-](?:[01][0-9]|2[0-4]):[0-5][0-9])"
)


class Mismatch(msgspec.Struct, frozen=True):
    """A value that does not fit its field, which makes the whole object undecodable."""

    path: Path
    line: int
    message: str


class UnknownField(msgspec.Struct, frozen=True):
    """A key that the object at `path[:-1]` does not know; `siblings` are those it does."""

    path: Path
    line: int
    siblings: tuple[str, ...]


class Altered(msgspec.Struct, frozen=True):
    """A quantity whose value changes when it is stored, because it is too large for Kubernetes."""

    path: Path
    written: str
    stored: str


class Decoded(msgspec.Struct, frozen=True):
    """`value` holds JSON values, quantities in the form they are stored in; it is good when nothing mismatches."""

    value: Any
    mismatches: tuple[Mismatch, ...]
    unknown: tuple[UnknownField, ...]
    altered: tuple[Altered, ...]


def decode(node: Node, kind: Kind, *, fold_case: bool = False) -> Decoded:
    """The value that the API server sees; `fold_case` ignores the case of keys, as Go does in annotations."""
    decoder = _Decoder(fold_case=fold_case)
    value = decoder.value(node, kind, ())
    return Decoded(value, tuple(decoder.mismatches), tuple(decoder.unknown), tuple(decoder.altered))


def empty(kind: Kind) -> Any:
    """The value of a field that must be there and is not."""
    match kind:
        case Record():
            return {name: empty(field.kind) for name, field in kind.fields.items() if field.presence is Presence.ALWAYS}
        case TextMap():
            return {}
        case ListOf():
            return []
        case Scalar.INT32 | Scalar.INT64:
            return 0
        case Scalar.BOOL:
            return False
        case Scalar.QUANTITY:
            return "0"
        case _:
            return ""


class _Decoder:
    def __init__(self, *, fold_case: bool) -> None:
        self._fold_case = fold_case
        self.mismatches: list[Mismatch] = []
        self.unknown: list[UnknownField] = []
        self.altered: list[Altered] = []

    def value(self, node: Node, kind: Kind, path: Path) -> Any:
        if node.value is None:
            return empty(kind)
        match kind:
            case Record():
                return self._record(node, kind, path)
            case TextMap():
                return self._texts(node, path)
            case ListOf():
                if not isinstance(node.value, list):
                    return self._mismatch(node, path, "a list", "begin each item with a dash")
                return [self.value(item, kind.item, (*path, index)) for index, item in enumerate(node.value)]
            case Scalar():
                return self._scalar(node, kind, path)

    def _record(self, node: Node, record: Record, path: Path) -> Any:
        if not isinstance(node.value, dict):
            return self._mismatch(node, path, f"an object with fields such as {next(iter(record.fields))}")
        given = self._fields(node.value, record.fields, path)
        found: dict[str, Any] = {}
        for name, field in record.fields.items():
            key = given.get(name)
            if key is not None:
                value = self.value(node.value[key], field.kind, (*path, key))
                if value or field.presence is not Presence.FILLED:
                    found[name] = value
            elif field.presence is Presence.ALWAYS:
                found[name] = empty(field.kind)
        return found

    def _fields(self, given: Mapping[str, Node], fields: Mapping[str, Field], path: Path) -> dict[str, str]:
        """The keys that are given and not null, by the names of their fields; notes the rest as unknown."""
        names = {_folded(name): name for name in fields} if self._fold_case else {}
        keys: dict[str, str] = {}
        for key, node in given.items():
            name = key if key in fields else names.get(_folded(key))
            if name is None:
                self.unknown.append(UnknownField((*path, key), node.line, tuple(fields)))
            elif node.value is not None:
                keys[name] = key
        return keys

    def _texts(self, node: Node, path: Path) -> Any:
        if not isinstance(node.value, dict):
            return self._mismatch(node, path, "an object from keys to texts")
        return {key: self.value(item, Scalar.TEXT, (*path, key)) for key, item in node.value.items()}

    def _scalar(self, node: Node, kind: Scalar, path: Path) -> Any:
        match kind:
            case Scalar.TEXT if isinstance(node.value, str):
                return node.value
            case Scalar.TEXT:
                remedy = "put it in quotes" if isinstance(node.value, bool | Number) else ""
                return self._mismatch(node, path, "a text", remedy)
            case Scalar.BOOL if isinstance(node.value, bool):
                return node.value
            case Scalar.INT32 | Scalar.INT64:
                return self._integer(node, kind, path)
            case Scalar.QUANTITY:
                return self._quantity(node, path)
            case Scalar.TIME if isinstance(node.value, str) and _is_time(node.value):
                return node.value
            case Scalar.ANY:
                return None
            case _:
                return self._mismatch(node, path, _EXPECTED[kind])

    def _integer(self, node: Node, kind: Scalar, path: Path) -> Any:
        bits = _BITS[kind]
        largest = 2 ** (bits - 1) - 1
        expected = f"a whole number between {-largest - 1} and {largest}"
        if not isinstance(node.value, Number):
            written_as_text = isinstance(node.value, str) and _INTEGER.fullmatch(node.value)
            return self._mismatch(node, path, expected, "remove the quotes" if written_as_text else "")
        if _INTEGER.fullmatch(node.value.text) is None:
            return self._mismatch(node, path, expected, "write it without fraction and exponent")
        number = int(node.value.text)
        if not -largest - 1 <= number <= largest:
            return self._mismatch(node, path, expected)
        return number

    def _quantity(self, node: Node, path: Path) -> Any:
        if not isinstance(node.value, str | Number):
            return self._mismatch(node, path, _EXPECTED[Scalar.QUANTITY])
        text = node.value.strip() if isinstance(node.value, str) else node.value.text
        try:
            parsed, stored = quantity.parse(text), quantity.stored_form(text)
        except quantity.QuantityError as error:
            self.mismatches.append(Mismatch(path, node.line, str(error)))
            return ""
        if parsed.format is quantity.Format.DECIMAL_SI:
            # The API server loses the power of ten of what is too large for the suffix E.
            stored = stored.partition("e")[0]
        capped = parsed.format is quantity.Format.BINARY_SI and abs(parsed.mantissa) == quantity.INT64_MAX
        if not (quantity.parse(stored) == parsed and not capped):
            self.altered.append(Altered(path, text, stored))
        return stored

    def _mismatch(self, node: Node, path: Path, expected: str, remedy: str = "") -> Any:
        message = f"{expected} is expected, found {describe(node)}"
        self.mismatches.append(Mismatch(path, node.line, f"{message}; {remedy}" if remedy else message))
        return None


def _folded(key: str) -> str:
    """Keys that Go's encoding/json takes for the same: U+017F is an s to it, and the Kelvin sign a k (as to Python)."""
    return key.lower().replace("\u017f", "s")


def _is_time(text: str) -> bool:
    matched = _TIME.fullmatch(text)
    if matched is None:
        return False
    year, month, day = int(matched[1]), int(matched[2]), int(matched[3])
    try:
        # Go knows a year 0, Python does not; both have the leap years of 400 years later.
        dt.date(year or 400, month, day)
    except ValueError:
        return False
    return True
