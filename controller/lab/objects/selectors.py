"""Label and field selectors: parsing what clients send, matching, and printing as the API server prints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from controller.lab.objects import names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TOKEN = re.compile(r"[ \t\r\n]*(?:(!=|==|=|!|,|\(|\)|>|<)|([^ \t\r\n!=,()<>]+))")
_BINARY_OPERATORS = {"=": "=", "==": "==", "!=": "!=", "in": "in", "notin": "notin", ">": ">", "<": "<"}
_STRUCTURED_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


class Requirement(msgspec.Struct, frozen=True):
    """One condition on one label; `operator` is `=`, `==`, `!=`, `in`, `notin`, `exists`, `!`, `>` or `<`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels satisfies the condition."""
        value = labels.get(self.key)
        match self.operator:
            case "=" | "==" | "in":
                return value is not None and value in self.values
            case "!=" | "notin":
                return value is None or value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
            case _:
                return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        if value is None or not re.fullmatch(r"[+-]?[0-9]+", value):
            return False
        limit = int(self.values[0])
        return int(value) > limit if self.operator == ">" else int(value) < limit

    def __str__(self) -> str:
        joined = ",".join(sorted(self.values))
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({joined})"
            case _:
                return f"{self.key}{self.operator}{joined}"


class LabelSelector(msgspec.Struct, frozen=True):
    """A conjunction of requirements, ordered by key; an empty one matches everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __bool__(self) -> bool:
        return bool(self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def parse_label_selector(text: str) -> LabelSelector:
    """The selector that a `labelSelector` parameter stands for.

    Raises ValueError that quotes what is wrong.
    """
    requirements = _Parser(text).parse()
    return LabelSelector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


class _Parser:
    """Recursive descent over the tokens of a label selector.

    `in` and `notin` are words where a value may stand.
    """

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        position, end = 0, len(text.rstrip(" \t\r\n"))
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                raise ValueError(f"found '{text[position]}', expected: a label key or an operator")
            self._tokens.append(match.group(1) or match.group(2))
            position = match.end()
        self._position = 0

    def parse(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while self._peek() is not None:
            requirements.append(self._requirement())
            separator = self._next()
            if separator is None:
                return requirements
            if separator != ",":
                raise ValueError(f"found '{separator}', expected: ',' or 'end of string'")
            if not _is_word(self._peek()) and self._peek() != "!":
                raise ValueError(f"found '{self._peek() or ''}', expected: identifier after ','")
        return requirements

    def _requirement(self) -> Requirement:
        negated = self._peek() == "!"
        if negated:
            self._next()
        key = self._next()
        if key is None or not _is_word(key):
            raise ValueError(f"unable to parse requirement: found '{key or ''}', expected: identifier")
        _check_key(key)
        if negated:
            return Requirement(key, "!")
        if self._peek() in (None, ","):
            return Requirement(key, "exists")
        operator = _BINARY_OPERATORS.get(self._next() or "")
        if operator is None:
            found = self._tokens[self._position - 1]
            raise ValueError(f"unable to parse requirement: found '{found}', expected: {', '.join(_BINARY_OPERATORS)}")
        values = self._values() if operator in ("in", "notin") else (self._value(),)
        _check_values(key, operator, values)
        return Requirement(key, operator, values)

    def _value(self) -> str:
        if self._peek() in (None, ","):
            return ""
        value = self._next()
        if not _is_word(value):
            raise ValueError(f"unable to parse requirement: found '{value}', expected: identifier")
        return value or ""

    def _values(self) -> tuple[str, ...]:
        opening = self._next()
        if opening != "(":
            raise ValueError(f"unable to parse requirement: found '{opening or ''}' expected: '('")
        values: list[str] = []
        while True:
            values.append(self._next() or "" if _is_word(self._peek()) else "")
            separator = self._next()
            if separator == ")":
                return tuple(sorted(set(values)))
            if separator != ",":
                raise ValueError(f"unable to parse requirement: found '{separator or ''}', expected: ',' or ')'")

    def _peek(self) -> str | None:
        return self._tokens[self._position] if self._position < len(self._tokens) else None

    def _next(self) -> str | None:
        token = self._peek()
        self._position += 1
        return token


def _is_word(token: str | None) -> bool:
    return token is not None and token not in ("!=", "==", "=", "!", ",", "(", ")", ">", "<")


def _check_key(key: str) -> None:
    problems = names.qualified_name_problems(key)
    if problems:
        raise ValueError(f'unable to parse requirement: <nil>: Invalid value: "{key}": {"; ".join(problems)}')


def _check_values(key: str, operator: str, values: Sequence[str]) -> None:
    for value in values:
        if operator in "<>" and not re.fullmatch(r"[+-]?[0-9]+", value):
            raise ValueError(
                f"unable to parse requirement: values[0][{key}]: Invalid value: {value!r}: "
                "for 'Gt', 'Lt' operators, the value must be an integer"
            )
        problems = names.label_value_problems(value)
        if problems:
            raise ValueError(
                f'unable to parse requirement: values[0][{key}]: Invalid value: "{value}": {"; ".join(problems)}'
            )


def structured_selector(selector: Mapping[str, Any] | None) -> LabelSelector | None:
    """The selector that a `LabelSelector` object stands for; None when there is none, which matches nothing.

    Raises ValueError for an operator that does not exist.
    """
    if selector is None:
        return None
    requirements = [Requirement(key, "=", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        operator = _STRUCTURED_OPERATORS.get(expression.get("operator", ""))
        if operator is None:
            raise ValueError(f'"{expression.get("operator", "")}" is not a valid label selector operator')
        requirements.append(Requirement(expression.get("key", ""), operator, tuple(expression.get("values") or ())))
    return LabelSelector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


def plain_selector(labels: Mapping[str, str] | None) -> LabelSelector:
    """The selector that a plain map of labels stands for, as ReplicationControllers have it."""
    return LabelSelector(tuple(Requirement(key, "=", (value,)) for key, value in sorted((labels or {}).items())))


class FieldRequirement(msgspec.Struct, frozen=True):
    """One field that must equal (or, negated, must not equal) a value."""

    field: str
    value: str
    negated: bool = False


def parse_field_selector(text: str) -> tuple[FieldRequirement, ...]:
    """The requirements of a `fieldSelector` parameter; raises ValueError for a term without an operator."""
    requirements = []
    for term in re.split(r"(?<!\\),", text):
        if not term:
            continue
        match = re.match(r"(.*?)(!=|==|=)(.*)", term, re.DOTALL)
        if match is None:
            raise ValueError(f"invalid selector: '{text}'; can't understand '{term}'")
        value = re.sub(r"\\([\\,=])", r"\1", match.group(3))
        requirements.append(FieldRequirement(match.group(1).strip(), value, match.group(2) == "!="))
    return tuple(requirements)
