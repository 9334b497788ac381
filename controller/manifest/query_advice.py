"""Advice about the annotation that names queries of metrics, which only some controllers heed."""

from collections.abc import Iterator
from typing import Any, Final

from controller.manifest.findings import Advice
from controller.manifest.query_annotation import ANNOTATION, read_queries
from controller.promql.literals import PromqlError
from controller.promql.queries import confined

_PATH: Final = ("metadata", "annotations", ANNOTATION)
_SOURCES: Final = ("pods", "object", "external")


def advise(metadata: dict[str, Any], spec: dict[str, Any]) -> Iterator[Advice]:
    """What `run --allow-query-annotations` will refuse, and names that no metric has."""
    text = (metadata.get("annotations") or {}).get(ANNOTATION)
    if not isinstance(text, str):
        return
    queries = read_queries(text)
    if queries.problem:
        yield Advice(
            "queries-unreadable",
            _PATH,
            f"every metric but those of resources fails where queries are allowed, since this cannot be read: "
            f"{queries.problem}",
        )
        return
    with_selector = {name: bool(selector) for name, selector in _metrics(spec)}
    for name, query in queries.by_metric.items():
        try:
            confined(query, metadata.get("namespace") or "default")
        except PromqlError as error:
            yield Advice("query-refused", _PATH, f"the metric {name} fails where queries are allowed: {error}")
        if name not in with_selector:
            yield Advice(
                "query-unused", _PATH, f"spec.metrics has no metric of pods, an object or outside that is named {name}"
            )
        elif with_selector[name]:
            yield Advice(
                "query-refused",
                _PATH,
                f"the metric {name} fails where queries are allowed: it has a selector, which nothing would heed; "
                "write its labels into the query",
            )


def _metrics(spec: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any] | None]]:
    for metric in spec.get("metrics", ()):
        for source in _SOURCES:
            identifier = metric.get(source, {}).get("metric", {})
            if identifier.get("name"):
                yield identifier["name"], identifier.get("selector")
