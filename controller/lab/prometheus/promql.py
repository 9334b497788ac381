"""The part of PromQL that the lab knows: selectors, rates over a range, and aggregations.

EXPR        = AGGREGATION | RATE | SELECTOR | "(" EXPR ")"
AGGREGATION = ("sum" | "avg" | "min" | "max" | "count") [GROUPING] "(" EXPR ")" [GROUPING]
GROUPING    = ("by" | "without") "(" [LABEL {"," LABEL}] ")"
RATE        = ("rate" | "increase") "(" SELECTOR "[" DURATION "]" ")"
SELECTOR    = NAME ["{" MATCHERS "}"] | "{" MATCHERS "}"
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NAME_LABEL: Final = "__name__"
AGGREGATIONS: Final = ("sum", "avg", "min", "max", "count")
RATES: Final = ("rate", "increase")
TIMESTAMP: Final = "timestamp"
QUERY_CHARACTERS_MAX: Final = 100_000
_DEPTH_MAX: Final = 50
_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<word>[A-Za-z_:][A-Za-z0-9_:]*)
      | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`[^`]*`)
      | (?P<range>\[[^\]]*\])
      | (?P<sign>=~|!~|!=|=|[{}(),])
    )""",
    re.VERBOSE,
)
_ESCAPE: Final = re.compile(r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_ESCAPES: Final = {
    **{sign: sign for sign in "\\\"'"},
    **dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)),
}
_DURATION: Final = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?")
_DURATION_S: Final = (86_400.0, 3_600.0, 60.0, 1.0, 0.001)
_KNOWN: Final = (
    f"the lab knows selectors, {' and '.join(RATES)} over a range, {TIMESTAMP} of a selector, and "
    f"{', '.join(AGGREGATIONS)} with by or without"
)


class QueryError(ValueError):
    """A query that the lab cannot answer; the message says where and why."""


class Matcher(msgspec.Struct, frozen=True):
    """A condition on one label; a label that is missing counts as empty."""

    label: str
    sign: str
    value: str
    test: Callable[[str], bool]


class Selector(msgspec.Struct, frozen=True):
    """Series by their labels, the name being one of them."""

    matchers: tuple[Matcher, ...]

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether a series with these labels is meant."""
        return all(matcher.test(labels.get(matcher.label, "")) for matcher in self.matchers)


class Rate(msgspec.Struct, frozen=True):
    """The growth of counters over a range up to now; `per_second` is `rate`, otherwise it is `increase`."""

    selector: Selector
    range_s: float
    per_second: bool


class SampleTime(msgspec.Struct, frozen=True):
    """When the series were sampled last, in Unix seconds."""

    selector: Selector


class Aggregation(msgspec.Struct, frozen=True):
    """One value for each group of series; grouped by the labels, or with `without` by all others."""

    operation: str
    inner: Expression
    labels: tuple[str, ...]
    without: bool


Expression = Selector | Rate | SampleTime | Aggregation


def parse(query: str) -> Expression:
    """What a query asks for. Raises QueryError."""
    if len(query) > QUERY_CHARACTERS_MAX:
        raise QueryError(f"the query is longer than {QUERY_CHARACTERS_MAX} characters")
    parser = _Parser(query)
    found = parser.expression()
    parser.end()
    return found


def parse_selector(text: str) -> Selector:
    """The selector of a listing (`match[]`). Raises QueryError."""
    found = parse(text)
    if not isinstance(found, Selector):
        raise QueryError("a listing takes a selector, no expression")
    return found


class _Parser:
    def __init__(self, query: str) -> None:
        self._query = query
        self._position = 0
        self._depth = 0

    def expression(self) -> Expression:
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise self._error(f"more than {_DEPTH_MAX} expressions in each other")
        kind, text = self._look()
        lowered = text.lower()
        if text == "(":
            self._take("(")
            found = self.expression()
            self._take(")")
        elif kind == "word" and lowered in AGGREGATIONS and self._follows("(", "by", "without"):
            found = self._aggregation(lowered)
        elif kind == "word" and lowered in RATES and self._follows("("):
            found = self._rate(lowered)
        elif lowered == TIMESTAMP and self._follows("("):
            found = self._sample_time()
        elif kind == "word" and self._follows("("):
            raise self._error(f"{text}() is not known here: {_KNOWN}")
        elif kind == "word" or text == "{":
            found = self._selector()
        else:
            raise self._error(f"{self._shown()} is not known here: {_KNOWN}")
        self._depth -= 1
        return found

    def end(self) -> None:
        if self._query[self._position :].strip():
            raise self._error(f"{self._shown()} is not known here: {_KNOWN}")

    def _aggregation(self, operation: str) -> Aggregation:
        self._next()
        grouping = self._grouping()
        self._take("(")
        inner = self.expression()
        self._take(")")
        labels, without = grouping or self._grouping() or ((), False)
        return Aggregation(operation, inner, labels, without)

    def _grouping(self) -> tuple[tuple[str, ...], bool] | None:
        word = self._look()[1].lower()
        if word not in ("by", "without"):
            return None
        self._next()
        self._take("(")
        labels: list[str] = []
        while self._look()[1] != ")":
            labels.append(self._label())
            if self._look()[1] != ")":
                self._take(",")
        self._take(")")
        return tuple(labels), word == "without"

    def _rate(self, name: str) -> Rate:
        self._next()
        self._take("(")
        selector = self._selector()
        kind, text = self._look()
        if kind != "range":
            raise self._error(f"{name} needs a range such as [1m] after its selector")
        self._next()
        range_s = self._range_s(text[1:-1].strip())
        self._take(")")
        return Rate(selector, range_s, name == "rate")

    def _sample_time(self) -> SampleTime:
        self._next()
        self._take("(")
        selector = self._selector()
        self._take(")")
        return SampleTime(selector)

    def _range_s(self, text: str) -> float:
        matched = _DURATION.fullmatch(text)
        if matched is None or not text:
            raise self._error(f"[{text}] is no range such as [30s] or [1m30s]; subqueries are not known here")
        found = sum(int(count) * unit for count, unit in zip(matched.groups(), _DURATION_S, strict=True) if count)
        if found <= 0:
            raise self._error("a range must be longer than 0s")
        return found

    def _selector(self) -> Selector:
        matchers: list[Matcher] = []
        kind, text = self._look()
        if kind == "word":
            self._next()
            matchers.append(_matcher(NAME_LABEL, "=", text))
        elif text != "{":
            raise self._error(f"a selector is needed, not {self._shown()}")
        if self._look()[1] == "{":
            self._take("{")
            while self._look()[1] != "}":
                matchers.append(self._matcher())
                if self._look()[1] != "}":
                    self._take(",")
            self._take("}")
        if all(matcher.test("") for matcher in matchers):
            raise self._error("a selector needs a matcher that the empty text does not match")
        return Selector(tuple(matchers))

    def _matcher(self) -> Matcher:
        label = self._label()
        sign = self._next()[1]
        if sign not in ("=", "!=", "=~", "!~"):
            raise self._error(f"after the label {label} one of = != =~ !~ is needed")
        kind, text = self._next()
        if kind != "text":
            raise self._error(f"a text in quotes is needed after {label}{sign}")
        try:
            return _matcher(label, sign, _unquoted(text))
        except (ValueError, OverflowError, RecursionError, re.error) as error:
            raise self._error(f"the matcher {label}{sign}{text} cannot be used: {error}") from error

    def _label(self) -> str:
        kind, text = self._look()
        if kind != "word" or ":" in text:
            raise self._error(f"a label is needed, not {self._shown()}")
        self._next()
        return text

    # --- tokens ---

    def _look(self) -> tuple[str, str]:
        """Kind and text of what comes next; empty at the end and before what is none of ours."""
        matched = _TOKEN.match(self._query, self._position)
        if matched is None or matched.lastgroup is None:
            return "", ""
        return matched.lastgroup, matched[matched.lastgroup]

    def _next(self) -> tuple[str, str]:
        found = self._look()
        matched = _TOKEN.match(self._query, self._position)
        if matched is not None:
            self._position = matched.end()
        return found

    def _take(self, text: str) -> None:
        if self._look()[1] != text:
            raise self._error(f"{text!r} is needed, not {self._shown()}")
        self._next()

    def _follows(self, *texts: str) -> bool:
        """Whether one of the texts comes after the next token."""
        kept = self._position
        self._next()
        found = self._look()[1].lower() in texts
        self._position = kept
        return found

    def _shown(self) -> str:
        rest = self._query[self._position :].split()
        return repr(rest[0][:40]) if rest else "the end"

    def _error(self, message: str) -> QueryError:
        rest = self._query[self._position :]
        place = len(self._query) - len(rest.lstrip()) + 1
        return QueryError(f"1:{place}: parse error: {message}")


def _matcher(label: str, sign: str, value: str) -> Matcher:
    if sign in ("=", "!="):
        return Matcher(label, sign, value, lambda found: (found == value) is (sign == "="))
    pattern = re.compile(value, re.DOTALL)
    return Matcher(label, sign, value, lambda found: (pattern.fullmatch(found) is not None) is (sign == "=~"))


def _unquoted(text: str) -> str:
    return text[1:-1] if text[0] == "`" else _ESCAPE.sub(_unescaped, text[1:-1])


def _unescaped(matched: re.Match[str]) -> str:
    escape = matched[1]
    if escape in _ESCAPES:
        return _ESCAPES[escape]
    if escape[0] in "xuU" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    raise ValueError(f"\\{escape} is no escape")
