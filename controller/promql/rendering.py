"""A parsed query as text: fully parenthesized, every string quoted by us, matchers added to every selector.

This is what separates tenants. Whatever the parser has understood, the text says that and nothing else, and one place
writes all selectors.
"""

import math
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import msgspec
import promql_parser as parsed

from controller.promql.literals import Masked, PromqlError, quoted

Forced = tuple[tuple[str, str], ...]
"""Labels and the values that they must have."""

_LABEL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_METRIC: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_OPERATOR: Final = re.compile(r"[a-z0-9_]+|[-+*/%^<>=!]{1,2}")
_MATCH: Final = {"Equal": "=", "NotEqual": "!=", "Re": "=~", "NotRe": "!~"}
_SIDES: Final = {"ManyToOne": "group_left", "OneToMany": "group_right"}
_EXACT_MAX: Final = 2.0**53
_MILLISECOND: Final = timedelta(milliseconds=1)


class Selector(msgspec.Struct, frozen=True):
    """An instant selector; `ranged`: it looks back, as a range selector, here without its range, or in a subquery."""

    text: str
    ranged: bool


class Renderer:
    """Prints the nodes of one query.

    Attributes:
        selectors: those that were printed, in their order.
        shifted: whether a subquery looks at another time, so that its selectors alone do not tell when.
    """

    def __init__(self, masked: Masked, forced: Forced) -> None:
        self._masked = masked
        self._forced = tuple(f"{label}={quoted(value)}" for label, value in forced)
        self.selectors: list[Selector] = []
        self.shifted = False
        self._subqueries = 0

    def text(self, node: parsed.Expr) -> str:  # noqa: PLR0911 - one case for each kind of node
        """The node as PromQL. Raises PromqlError for what is not taken."""
        match node:
            case parsed.NumberLiteral():
                return _number(node.val)
            case parsed.StringLiteral():
                return quoted(self._masked.string(node.val))
            case parsed.VectorSelector():
                return self._selector(node)
            case parsed.MatrixSelector():
                return self._matrix(node)
            case parsed.SubqueryExpr():
                return self._subquery(node)
            case parsed.ParenExpr():
                return self.text(node.expr)
            case parsed.UnaryExpr():
                return f"(-{self.text(node.expr)})"
            case parsed.BinaryExpr():
                return self._binary(node)
            case parsed.AggregateExpr():
                return self._aggregate(node)
            case parsed.Call():
                return self._call(node)
            case _:
                raise PromqlError(f"a {type(node).__name__} is not known")

    def _selector(self, node: parsed.VectorSelector) -> str:
        name, matchers = self._named(node)
        found = f"{name}{{{','.join((*matchers, *self._forced))}}}{_when(node.at, node.offset)}"
        self.selectors.append(Selector(found, ranged=self._subqueries > 0))
        return found

    def _matrix(self, node: parsed.MatrixSelector) -> str:
        vector = node.vector_selector
        name, matchers = self._named(vector)
        when = _when(vector.at, vector.offset)
        found = f"{name}{{{','.join((*matchers, *self._forced))}}}"
        self.selectors.append(Selector(f"{found}{when}", ranged=True))
        return f"{found}[{_duration(node.range)}]{when}"

    def _named(self, node: parsed.VectorSelector) -> tuple[str, tuple[str, ...]]:
        if node.matchers.or_matchers:
            raise PromqlError("`or` between matchers is not PromQL")
        if node.name is not None and not _METRIC.fullmatch(node.name):
            raise PromqlError(f"{node.name!r} is no name of a metric")
        return node.name or "", tuple(map(self._matcher, node.matchers.matchers))

    def _matcher(self, matcher: parsed.Matcher) -> str:
        if not _LABEL.fullmatch(matcher.name):
            raise PromqlError("names of labels in quotes are not taken")
        return f"{matcher.name}{_MATCH[_member(matcher.op)]}{quoted(self._masked.string(matcher.value))}"

    def _subquery(self, node: parsed.SubqueryExpr) -> str:
        if node.range is None:
            raise PromqlError("a subquery without a range")
        step = "" if node.step is None else _duration(node.step)
        when = _when(node.at, node.offset)
        self.shifted |= bool(when)
        self._subqueries += 1
        inner = self.text(node.expr)
        self._subqueries -= 1
        return f"({inner})[{_duration(node.range)}:{step}]{when}"

    def _binary(self, node: parsed.BinaryExpr) -> str:
        left, right = self.text(node.lhs), self.text(node.rhs)
        return f"({' '.join((left, _operator(node.op), *_matching(node.modifier), right))})"

    def _aggregate(self, node: parsed.AggregateExpr) -> str:
        grouping = ""
        if node.modifier is not None:
            word = "by" if node.modifier.type == parsed.AggModifierType.By else "without"
            grouping = f" {word} {_labels(node.modifier.labels)} "
        parameter = "" if node.param is None else f"{self.text(node.param)}, "
        return f"{_operator(node.op)}{grouping}({parameter}{self.text(node.expr)})"

    def _call(self, node: parsed.Call) -> str:
        function = node.func
        if function.experimental:
            # One of them, info(), reads series that no selector of the query names.
            raise PromqlError(f"the function {function.name} is an experimental one; those are not taken")
        return f"{_operator(function.name)}({', '.join(map(self.text, node.args))})"


def _member(found: object) -> str:
    """The name of an enumeration's member; the parser's enumerations cannot be hashed."""
    return str(found).rpartition(".")[2]


def _operator(found: object) -> str:
    text = str(found)
    if not _OPERATOR.fullmatch(text):
        raise PromqlError(f"{text!r} is no operator or function")
    return text


def _labels(names: list[str]) -> str:
    for name in names:
        if not _LABEL.fullmatch(name):
            raise PromqlError("names of labels in quotes are not taken")
    return f"({', '.join(names)})"


def _matching(modifier: parsed.BinModifier | None) -> Iterator[str]:
    if modifier is None:
        return
    if modifier.fill_values.lhs is not None or modifier.fill_values.rhs is not None:
        raise PromqlError("fill is an experimental modifier; those are not taken")
    if modifier.return_bool:
        yield "bool"
    if modifier.matching is not None:
        on = modifier.matching.type == parsed.LabelModifierType.Include
        yield f"{'on' if on else 'ignoring'} {_labels(modifier.matching.labels)}"
    side = _SIDES.get(_member(modifier.card))
    if side is not None:
        yield f"{side} {_labels(modifier.group_labels or [])}"


def _when(at: parsed.AtModifier | None, offset: timedelta | None) -> str:
    text = ""
    if at is not None:
        text = " @ start()" if at.type == parsed.AtModifierType.Start else " @ end()"
        if at.type == parsed.AtModifierType.At:
            if at.at is None:
                raise PromqlError("the time after @ cannot be read")
            text = f" @ {at.at.timestamp():.3f}"
    return text if offset is None else f"{text} offset {_duration(offset)}"


def _duration(found: timedelta) -> str:
    milliseconds = found // _MILLISECOND
    seconds, rest = divmod(abs(milliseconds), 1000)
    sign = "-" if milliseconds < 0 else ""
    return f"{sign}{abs(milliseconds)}ms" if rest else f"{sign}{seconds}s"


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else "(-Inf)"
    # Not by way of an int, which has no -0.
    text = f"{value:.0f}" if value.is_integer() and abs(value) < _EXACT_MAX else repr(value)
    return f"({text})" if text.startswith("-") else text
