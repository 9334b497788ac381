"""The annotation that names queries of metrics: YAML that maps names of metrics to PromQL, each a text."""

from collections.abc import Mapping
from typing import Final

import msgspec
import yaml

from controller.wire.errors import MESSAGE_CHARACTERS_MAX, printable
from controller.wire.remembered import Remembered

ANNOTATION: Final = "hpa-controller.io/queries"
TEXT_MAX: Final = 32_000
"""The most characters that the annotation may have."""

_LOADER: Final = yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader
_KEPT_BYTES_MAX: Final = 32 * 1024 * 1024
_QUOTE: Final = "; a query with ': ' or ' #' in it, or that begins with a brace, needs quotes or stands after >-"


class Queries(msgspec.Struct, frozen=True):
    """What an HPA's annotation says: a query by the name of the metric; or why it cannot be read, empty if it can."""

    by_metric: Mapping[str, str] = {}
    problem: str = ""


class _Metadata(msgspec.Struct):
    annotations: dict[str, str] | None = None


_METADATA: Final = msgspec.json.Decoder(_Metadata)
_NONE: Final = Queries()


def queries_of(metadata: bytes) -> Queries:
    """What the annotation of an HPA says, from the JSON of its metadata; never raises."""
    if b"queries" not in metadata:
        return _NONE
    try:
        annotations = _METADATA.decode(metadata).annotations or {}
    except msgspec.MsgspecError as error:
        return Queries(problem=f"the annotations cannot be read: {error}")
    text = annotations.get(ANNOTATION)
    return _NONE if text is None else read_queries(text)


def read_queries(text: str) -> Queries:
    """What the text of the annotation says; never raises."""
    if len(text) > TEXT_MAX:
        return Queries(problem=f"it has {len(text)} characters, and {TEXT_MAX} are the most")
    return _remembered(text)


def _read(text: str, _: str) -> Queries:
    try:
        return Queries(_mapping(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        problem = f"line {line} is no YAML: {error.problem or error.context}{_QUOTE}"
    except (yaml.YAMLError, ValueError) as error:
        problem = str(error)
    return Queries(problem=printable(" ".join(problem.split()), MESSAGE_CHARACTERS_MAX))


_remembered: Final = Remembered(_read, copies=2, bytes_max=_KEPT_BYTES_MAX)


def _mapping(text: str) -> dict[str, str]:
    """Raises ValueError or YAMLError. Events are looked at one by one, so that no nesting is too deep for it."""
    found: dict[str, str] = {}
    name: str | None = None
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        match event:
            case yaml.MappingStartEvent() if depth == 0:
                depth = 1
            case yaml.ScalarEvent(value=value) if depth and name is None:
                if not value or value in found:
                    problem = f"{value} is there twice" if value else "a metric has no name"
                    raise ValueError(f"line {_line(event)}: {problem}")
                name = value
            case yaml.ScalarEvent(value=value) if depth:
                assert name is not None  # noqa: S101 - the case before
                found[name], name = value, None
            case yaml.MappingEndEvent() | yaml.StreamStartEvent() | yaml.StreamEndEvent():
                pass
            case yaml.DocumentStartEvent() | yaml.DocumentEndEvent() if not event.explicit:
                pass
            case _:
                raise ValueError(
                    f"line {_line(event)}: names of metrics and their queries are needed, each on one level{_QUOTE}"
                )
    if not found:
        raise ValueError("it names no metric; write NAME: QUERY")
    return found


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 1
