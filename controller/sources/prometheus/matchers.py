"""What a template is filled in with: label matchers of a metric's selector, the namespace and the objects."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from controller.decide.selectors import Selector
from controller.sources.prometheus.answers import PrometheusError
from controller.sources.prometheus.labels import MappingError
from controller.sources.prometheus.template_functions import quoted
from controller.sources.prometheus.template_tokens import TemplateError
from controller.sources.prometheus.templates import Template

_LABEL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]*")
"""Of an object, of whatever kind; an HPA may name one that could not exist, and rules put names where they like."""
_ORDERED: Final = (">", "<")
_SIGNS: Final[dict[str, str]] = {"=": "=", "!=": "!=", "in": "=~", "notin": "!~", "exists": "!=", "!": "="}
"""By the operator of a requirement; a label that does not exist is one that is empty."""


class QueryError(Exception):
    """No query can be made; the message says of what."""


@contextmanager
def of_rule(line: int) -> Iterator[None]:
    """For what only the rule in this line can cure: labels that it gives no name, a query that cannot be filled in.

    Raises:
        PrometheusError: instead of MappingError and QueryError, with the line.
    """
    try:
        yield
    except (MappingError, QueryError) as error:
        message = f"the rule in line {line}: {error}"
        raise PrometheusError(message, message) from error


class Matchers:
    """Matchers in the order in which the adapter writes them, and the values by label."""

    def __init__(self, selector: Selector | None = None) -> None:
        """Begins with a metric's selector. Raises QueryError when PromQL cannot say what it says."""
        self._texts: list[str] = []
        self.values: dict[str, str] = {}
        for requirement in () if selector is None else selector.requirements:
            if requirement.operator in _ORDERED:
                raise QueryError(f"the metric's selector compares {requirement.key!r}, which PromQL has no matcher for")
            if not _LABEL.fullmatch(requirement.key):
                raise QueryError(
                    f"the metric's selector names {requirement.key!r}, which no Prometheus label can be called"
                )
            self._add(requirement.key, requirement.operator, requirement.values)

    def add_equal(self, label: str, value: str) -> None:
        """A label that has to have a value, such as the namespace."""
        self._add(label, "=", (value,))

    def add_objects(self, label: str, names: Sequence[str]) -> None:
        """A label that has to have one of these objects' names. Raises QueryError for what cannot be one."""
        for name in names:
            if not _NAME.fullmatch(name):
                raise QueryError(f"{name!r} cannot be the name of an object")
        self._add(label, "=" if len(names) == 1 else "in", names)

    def fill(self, template: Template, series: str, group_by: Sequence[str]) -> str:
        """The query. Raises QueryError."""
        values: dict[str, Any] = {
            "Series": series,
            "LabelMatchers": ",".join(self._texts),
            "LabelValuesByName": self.values,
            "GroupBy": ",".join(group_by),
            "GroupBySlice": list(group_by),
        }
        try:
            query = template.fill(values)
        except TemplateError as error:
            raise QueryError(f"the rule's query cannot be filled in: {error}") from error
        if not query.strip():
            raise QueryError("the rule's query is empty once filled in")
        return query

    def _add(self, label: str, operator: str, values: Sequence[str]) -> None:
        joined = "|".join(values)
        self._texts.append(f"{label}{_SIGNS[operator]}{quoted(joined)}")
        self.values[label] = joined
