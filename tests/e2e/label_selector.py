"""Label selectors as they stand in a query, for servers that tests play."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEY = r"(?P<key>[A-Za-z0-9]([A-Za-z0-9_./-]*[A-Za-z0-9])?)"
# One term each, tried in this order; white space around the parts means nothing.
_TERMS = {
    "set": re.compile(rf"{_KEY}\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)"),
    "absent": re.compile(rf"!\s*{_KEY}"),
    "present": re.compile(_KEY),
    "compare": re.compile(rf"{_KEY}\s*(?P<operator>==|=|!=|>|<)\s*(?P<values>[A-Za-z0-9_.-]*)"),
}


class SelectorError(ValueError):
    """A selector that an API server would refuse."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Requirement:
    key: str
    operator: str
    """One of ``In``, ``NotIn``, ``Exists``, ``DoesNotExist``, ``Gt``, ``Lt``."""
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case _:
                if value is None or not re.fullmatch(r"-?\d+", value):
                    return False
                difference = int(value) - int(self.values[0])
                return difference > 0 if self.operator == "Gt" else difference < 0


class LabelSelector:
    """A parsed selector; the empty one selects everything. Raises SelectorError for what cannot be parsed."""

    def __init__(self, text: str) -> None:
        # Commas inside of parentheses part values, not terms.
        terms = re.split(r",(?![^(]*\))", text) if text.strip() else []
        self._requirements = [_parse(term.strip()) for term in terms]

    def __bool__(self) -> bool:
        return bool(self._requirements)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet every requirement."""
        return all(requirement.matches(labels) for requirement in self._requirements)

    def as_object(self) -> dict[str, Any]:
        """The selector as API objects hold it. Raises SelectorError for ``<`` and ``>``."""
        equal = {item.key: item.values[0] for item in self._requirements if _is_equality(item)}
        others = [item for item in self._requirements if not _is_equality(item)]
        if any(item.operator in ("Gt", "Lt") for item in others):
            raise SelectorError("a comparison has no form as an object")
        expressions = [
            {"key": item.key, "operator": item.operator} | ({"values": [*item.values]} if item.values else {})
            for item in others
        ]
        return ({"matchLabels": equal} if equal else {}) | ({"matchExpressions": expressions} if expressions else {})


def _is_equality(requirement: _Requirement) -> bool:
    return requirement.operator == "In" and len(requirement.values) == 1


def _parse(term: str) -> _Requirement:
    for form, pattern in _TERMS.items():
        found = pattern.fullmatch(term)
        if found is None:
            continue
        key = found["key"]
        if form == "absent":
            return _Requirement(key, "DoesNotExist")
        if form == "present":
            return _Requirement(key, "Exists")
        if form == "set":
            values = tuple(value.strip() for value in found["values"].split(","))
            return _Requirement(key, "In" if found["operator"] == "in" else "NotIn", values)
        value = found["values"]
        operator = {"!=": "NotIn", ">": "Gt", "<": "Lt"}.get(found["operator"], "In")
        if operator in ("Gt", "Lt") and not re.fullmatch(r"-?\d+", value):
            raise SelectorError(f"{term!r}: an integer is needed")
        return _Requirement(key, operator, (value,))
    raise SelectorError(f"unable to parse requirement {term!r}")
