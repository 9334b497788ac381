"""Shapes that several kinds of objects contain."""

from typing import Annotated, Final

import msgspec

from controller.decide.selectors import LabelSelector, LabelSelectorRequirement

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
