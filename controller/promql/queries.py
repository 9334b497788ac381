"""Queries that are understood: confined to a namespace, and with the selectors by which their samples can be dated."""

from typing import Final

import msgspec
import promql_parser

from controller.promql.literals import Masked, PromqlError, mask
from controller.promql.rendering import Renderer, Selector
from controller.wire.errors import MESSAGE_CHARACTERS_MAX, printable
from controller.wire.remembered import Remembered

NAMESPACE: Final = "namespace"
QUERY_MAX: Final = 8_000
"""The most characters that a query of an HPA may have."""

_KEPT_BYTES_MAX: Final = 64 * 1024 * 1024


class Query(msgspec.Struct, frozen=True):
    """A query, printed anew.

    `selectors` are all of its selectors, each of them once, in order; None where they do not tell how old its samples
    are, since a subquery looks at another time.
    """

    text: str
    selectors: tuple[Selector, ...] | None


def confined(query: str, namespace: str) -> Query:
    """The query with `namespace="…"` in every selector, beside the matchers that it has.

    What it computes afterwards cannot reach further: label_replace and the like change the labels of results, and all
    of those come from series of the namespace.

    Raises:
        PromqlError: the query cannot be understood, or is of a kind that is not taken.
    """
    if len(query) > QUERY_MAX:
        raise PromqlError(f"it has {len(query)} characters, and {QUERY_MAX} are the most")
    return _understood(query, namespace)


def understood(query: str) -> Query:
    """The query as it is. Raises PromqlError."""
    return _understood(query, "")


def _understood(query: str, namespace: str) -> Query:
    found = _remembered(query, namespace)
    if isinstance(found, str):
        raise PromqlError(found)
    return found


def _tried(query: str, namespace: str) -> Query | str:
    """The query, or why it is not taken: a value, since refusing one over and over would be too dear as well."""
    try:
        masked = mask(query)
        renderer = Renderer(masked, ((NAMESPACE, namespace),) if namespace else ())
        text = renderer.text(_parsed(masked))
    except PromqlError as error:
        return printable(" ".join(str(error).split()), MESSAGE_CHARACTERS_MAX)
    except (OverflowError, RecursionError, ValueError) as error:
        return f"it cannot be printed: {error}"
    except BaseException as error:
        # A panic of the parser is no Exception, and reading what it has parsed may panic, too; nobody's query may end
        # the program.
        if type(error).__name__ != "PanicException":
            raise
        return "the parser gave up on it, as it does where a time before 1970 stands after @"
    return Query(text, None if renderer.shifted else tuple(dict.fromkeys(renderer.selectors)))


_remembered: Final = Remembered(_tried, copies=3, bytes_max=_KEPT_BYTES_MAX)


def _parsed(masked: Masked) -> promql_parser.Expr:
    try:
        return promql_parser.parse(masked.text)
    except ValueError as error:
        raise PromqlError(f"it is no PromQL that is understood: {error}") from error
