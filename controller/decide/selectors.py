"""Label selectors: parsed from a scale's string (§5), made from a metric's object (§6.3), matched and printed."""

import re
from collections.abc import Mapping
from typing import Final, Literal, assert_never
from weakref import WeakKeyDictionary, WeakValueDictionary

import msgspec

Operator = Literal["=", "!=", "in", "notin", "exists", "!", ">", "<"]
"""As the string form writes them; `==` is read as `=`, and `exists` is written as the bare key."""

_NAME: Final = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)"
_SUBDOMAIN: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
_KEY: Final = re.compile(rf"(?:({_SUBDOMAIN})/)?{_NAME}")
_VALUE: Final = re.compile(rf"{_NAME}?")
_TOKEN: Final = re.compile(r"[ \t\r\n]*(==|!=|[=!,()<>]|[^ \t\r\n=!,()<>]+)")
_SPECIAL: Final = ("", "=", "!", ",", "(", ")", "<", ">")
"""How what is no word begins: the end, and all other tokens."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,63}")
_INT64: Final = range(-(2**63), 2**63)
_PREFIX_MAX: Final = 253
OPERATORS_OF_OBJECTS: Final[dict[str, Operator]] = {
    "In": "in",
    "NotIn": "notin",
    "Exists": "exists",
    "DoesNotExist": "!",
}


class SelectorError(ValueError):
    """The selector cannot be understood; the message says where."""


class Requirement(msgspec.Struct, frozen=True, gc=False):
    """One condition on one label; `values` is sorted, and empty for `exists` and `!`.

    Values that an object repeats stay repeated, as the original prints them; its parser drops them.
    """

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels fulfils the condition."""
        value = labels.get(self.key)
        match self.operator:
            case "=" | "in":
                return value is not None and value in self.values
            case "!=" | "notin":
                return value is None or value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
            case ">" | "<":
                number = None if value is None else _int64(value)
                bound = _int64(self.values[0])
                if number is None or bound is None:
                    return False
                return number > bound if self.operator == ">" else number < bound
            case _:
                assert_never(self.operator)

    def __str__(self) -> str:
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "=" | "!=" | ">" | "<":
                return f"{self.key}{self.operator}{self.values[0]}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({','.join(self.values)})"
            case _:
                assert_never(self.operator)


class Selector(msgspec.Struct, frozen=True, weakref=True):
    """A parsed selector, its requirements sorted by key; without requirements it matches everything.

    `text` is the canonical form (Go's labels.Selector.String), the same for selectors that were written differently.
    """

    requirements: tuple[Requirement, ...]
    text: str

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether all requirements hold for these labels."""
        for requirement in self.requirements:  # noqa: SIM110 - a generator would cost as much as what it asks
            if not requirement.matches(labels):
                return False
        return True


class LabelSelectorRequirement(msgspec.Struct, frozen=True, gc=False):
    """An entry of `matchExpressions`, as written."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(msgspec.Struct, frozen=True, weakref=True):
    """A metav1.LabelSelector as written in a metric; `match_labels` is sorted by key."""

    match_labels: tuple[tuple[str, str], ...] = ()
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()

    def __str__(self) -> str:
        """As written, in one line: other words, or another order, are another text (§6.2)."""
        labels = [f"{key}={value}" for key, value in self.match_labels]
        expressions = [f"{entry.key} {entry.operator} ({','.join(entry.values)})" for entry in self.match_expressions]
        return ",".join(labels + expressions)

    def debug_text(self) -> str:
        """Go's debug print, which upstream shows in the names of metrics (§6.3)."""
        labels = "".join(f"{key}: {value}," for key, value in self.match_labels)
        expressions = "".join(
            f"LabelSelectorRequirement{{Key:{entry.key},Operator:{entry.operator},Values:[{' '.join(entry.values)}],}},"
            for entry in self.match_expressions
        )
        return (
            f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
            f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
        )


def debug_text(selector: LabelSelector | None) -> str:
    """Go's debug print of a selector that may be absent (§6.3)."""
    return "nil" if selector is None else selector.debug_text()


# The same selectors are needed again at every sync, for as long as there is the HPA that holds them.
_parsed: Final[WeakValueDictionary[str, Selector]] = WeakValueDictionary()
_of_objects: Final[WeakKeyDictionary[LabelSelector, Selector]] = WeakKeyDictionary()


def parse(text: str) -> Selector:
    """The selector that a scale's `status.selector` or a query parameter stands for (Go's labels.Parse).

    Raises:
        SelectorError: not a label selector.
    """
    known = _parsed.get(text)
    if known is None:
        known = _parsed[text] = _selector(_Parser(text).requirements())
    return known


def from_object(selector: LabelSelector) -> Selector:
    """The selector that a metav1.LabelSelector stands for (Go's LabelSelectorAsSelector).

    Raises:
        SelectorError: an unknown operator, a missing or superfluous value, or a malformed key or value.
    """
    known = _of_objects.get(selector)
    if known is None:
        known = _of_objects[selector] = _from_object(selector)
    return known


def _from_object(selector: LabelSelector) -> Selector:
    requirements = [_requirement(key, "=", (value,)) for key, value in selector.match_labels]
    for entry in selector.match_expressions:
        operator = OPERATORS_OF_OBJECTS.get(entry.operator)
        if operator is None:
            raise SelectorError(f"{entry.operator!r} is not a valid label selector operator")
        requirements.append(_requirement(entry.key, operator, entry.values))
    return _selector(requirements)


def _selector(requirements: list[Requirement]) -> Selector:
    requirements.sort(key=lambda requirement: requirement.key)
    return Selector(tuple(requirements), ",".join(map(str, requirements)))


def _requirement(key: str, operator: Operator, values: tuple[str, ...]) -> Requirement:
    problems = [] if _is_key(key) else [_no_key(key)]
    if operator in ("exists", "!") and values:
        problems.append(f"exists and ! take no values, found {', '.join(map(repr, values))}")
    elif operator in ("in", "notin") and not values:
        problems.append("in and notin need values")
    for index, value in enumerate(values):
        if operator in (">", "<") and _int64(value) is None:
            problems.append(f"> and < need an integer, found {value!r}")
        if _VALUE.fullmatch(value) is None:
            problems.append(f"values[{index}] of label {key!r}: {value!r} is not a label value")
    if problems:
        raise SelectorError("; ".join(problems))
    return Requirement(key, operator, tuple(sorted(values)))


def _is_key(key: str) -> bool:
    matched = _KEY.fullmatch(key)
    return matched is not None and len(matched[1] or "") <= _PREFIX_MAX


def _no_key(key: str) -> str:
    return f"{key!r} is not a label key"


def _int64(text: str) -> int | None:
    """The number as Go's strconv.ParseInt reads it, None where that refuses."""
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if number in _INT64 else None


class _Parser:
    """A recursive descent over the tokens of one selector string.

    Errors have the facts of upstream's and no others, so not the whole text: a new message is a new status (§15.3).
    """

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        position = 0
        stripped = text.rstrip(" \t\r\n")
        while position < len(stripped):
            matched = _TOKEN.match(stripped, position)
            assert matched is not None  # noqa: S101 - every character is in one of the classes
            self._tokens.append(matched[1])
            position = matched.end()
        self._tokens.reverse()

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        if not self._tokens:
            return found
        expected = "a label key or '!'"
        while True:
            if self._next[:1] in _SPECIAL and self._next != "!":
                raise self._unexpected(expected)
            found.append(self._one())
            if not self._tokens:
                return found
            self._take(",", "',' or the end")
            expected = "a label key or '!' after ','"

    def _one(self) -> Requirement:
        negated = self._accept("!")
        key = self._word("a key or value")
        if not _is_key(key):
            raise SelectorError(_no_key(key))
        if negated:
            return Requirement(key, "!")
        operator = self._next
        match operator:
            case "" | ",":
                return Requirement(key, "exists")
            case "=" | "==" | "!=" | ">" | "<":
                self._tokens.pop()
                value = "" if self._next in ("", ",") else self._word("a key or value")
                return _requirement(key, "=" if operator == "==" else operator, (value,))
            case "in" | "notin":
                self._tokens.pop()
                return _requirement(key, operator, tuple(sorted(self._values())))
            case _:
                raise self._unexpected("one of = == != in notin > <")

    def _values(self) -> set[str]:
        """A set here, but not in the object form: the original prints what is repeated there."""
        self._take("(", "'('")
        values = set[str]()
        expected = "a label value, ',' or ')'"
        while True:
            values.add("" if self._next in (",", ")") else self._word(expected))
            if self._accept(")"):
                return values
            self._take(",", "',' or ')'")
            expected = "a label value or ','"

    @property
    def _next(self) -> str:
        """The next token, empty at the end."""
        return self._tokens[-1] if self._tokens else ""

    def _word(self, expected: str) -> str:
        if self._next[:1] in _SPECIAL:
            raise self._unexpected(expected)
        return self._tokens.pop()

    def _accept(self, token: str) -> bool:
        if self._next == token:
            self._tokens.pop()
            return True
        return False

    def _take(self, token: str, expected: str) -> None:
        if not self._accept(token):
            raise self._unexpected(expected)

    def _unexpected(self, expected: str) -> SelectorError:
        found = repr(self._next) if self._next else "the end"
        return SelectorError(f"found {found}, expected {expected}")
