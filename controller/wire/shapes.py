"""Shapes that several kinds of objects contain."""

import sys
from collections.abc import Hashable
from functools import lru_cache
from typing import Annotated, Final, TypeVar, cast
from weakref import WeakValueDictionary

import msgspec

from controller.decide.selectors import LabelSelector, LabelSelectorRequirement
from controller.wire.errors import located, wire_errors

V = TypeVar("V", bound=Hashable)

_VALUES_MAX: Final = 4_096

SOURCE_KEYS: Final = {
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "Pods": "pods",
    "Object": "object",
    "External": "external",
}
"""Under which key the source of a metric of each type stands."""

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
"""A number as the API knows it; larger ones would not survive the double arithmetic of decisions."""

QuantityText = str | int | float
"""A quantity as JSON allows it: a string, or a bare number."""


NOTHING: Final = msgspec.Raw(b"null")
"""What stands for a field that is left encoded and absent."""

_LABELS: Final = msgspec.json.Decoder(dict[str, str] | None)


class Camel(msgspec.Struct, rename="camel", gc=False):
    """Fields in camelCase; unknown ones are passed over."""


class Requirement(Camel):
    """An entry of `matchExpressions`."""

    key: str
    operator: str
    values: tuple[str, ...] | None = None


class Selector(Camel):
    """A metav1.LabelSelector."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[Requirement] | None = None


def selector_from(shape: Selector) -> LabelSelector:
    """The selector as written, its labels sorted."""
    return LabelSelector(
        tuple(sorted((shape.match_labels or {}).items())),
        tuple(
            LabelSelectorRequirement(entry.key, entry.operator, entry.values or ())
            for entry in shape.match_expressions or ()
        ),
    )


class Labels(dict[str, str]):
    """Labels that may be held weakly; not to be changed."""

    __slots__ = ("__weakref__",)


_LABEL_SETS: Final[WeakValueDictionary[bytes, Labels]] = WeakValueDictionary()


def labels_from(encoded: bytes) -> Labels:
    """The labels, one value for all objects that have the same in the same order, for as long as there are any.

    Raises:
        WireError: they are none.
    """
    known = _LABEL_SETS.get(encoded)
    if known is not None:
        return known
    said = located("metadata.labels", _decode_labels, encoded) or {}
    labels = Labels((sys.intern(key), sys.intern(value)) for key, value in said.items())
    _LABEL_SETS[encoded] = labels
    return labels


@wire_errors
def _decode_labels(encoded: bytes) -> dict[str, str] | None:
    labels: dict[str, str] | None = _LABELS.decode(encoded)
    return labels


def shared(value: V) -> V:
    """The value, as one object for all who say the same: thousands of HPAs do, of their metrics and behavior."""
    return cast("V", _first_of_its_kind(value))


@lru_cache(maxsize=_VALUES_MAX)
def _first_of_its_kind(value: Hashable) -> Hashable:
    return value
