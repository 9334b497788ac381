"""What Prometheus answers, as samples in milli-units; what is no number is never taken for one."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

import msgspec

from controller.decide.instants import NANOSECONDS
from controller.decide.quantity import INT64_MAX, INT64_MIN

SERIES_MAX: Final = 20_000
"""The most series that one query may give; a rule that gives more has forgotten to aggregate."""

WINDOW_NS: Final = 60 * NANOSECONDS
"""What an answer of the adapter means by saying nothing (§18.2)."""

_TEXT_MAX: Final = 300
_NAME: Final = "__name__"
_REMARK: Final = "PromQL info"
"""What a remark about the query begins with, such as that the name is none of a counter's. Prometheus 2.48 to 2.53, and
Thanos, have those among the warnings."""

_OF_QUERY: Final = ("bad_data", "execution", "400", "422")
"""Types of errors that lie in the query; the numbers are VictoriaMetrics', which says the HTTP status instead."""


class PrometheusError(Exception):
    """Prometheus gave no usable answer.

    `cause` is the same for failures that one log line is enough for; `of_query`: it lies in what was asked, not in who.
    """

    def __init__(self, message: str, cause: str, *, of_query: bool = False) -> None:
        super().__init__(message)
        self.cause = cause
        self.of_query = of_query

    def of_rule(self, line: int) -> "PrometheusError":
        """The same with the rule that has to be changed, if that is what helps."""
        if not self.of_query:
            return self
        return PrometheusError(f"the rule in line {line}: {self}", f"{self.cause} {line}")


class Point(msgspec.Struct, frozen=True):
    """One series of a vector. `value_milli` None: it is NaN, infinite or stale. `at_ns`: when it was evaluated."""

    labels: Mapping[str, str]
    value_milli: int | None
    at_ns: int


class Vector(msgspec.Struct, frozen=True):
    """All series of an answer; a scalar is one without labels. `kind` is Prometheus's word for what it was."""

    points: tuple[Point, ...]
    kind: str = "vector"


class Family(msgspec.Struct, frozen=True):
    """Series of one name that have the same label names."""

    name: str
    labels: frozenset[str]


class _Sampled(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, str] | None = None
    histogram: Any = None


class _Result(msgspec.Struct, rename="camel"):
    result_type: str
    result: msgspec.Raw


class _Answer(msgspec.Struct, rename="camel"):
    status: Literal["success", "error"]
    data: msgspec.Raw = msgspec.Raw(b"null")
    error_type: str = ""
    error: str = ""
    warnings: list[str] | None = None
    is_partial: bool = False


_ANSWER: Final = msgspec.json.Decoder(_Answer)
_RESULT: Final = msgspec.json.Decoder(_Result)
_VECTOR: Final = msgspec.json.Decoder(list[_Sampled])
_SCALAR: Final = msgspec.json.Decoder(tuple[float, str])
_SERIES: Final = msgspec.json.Decoder(list[dict[str, str]] | None)


def decode_vector(status: int, body: bytes) -> Vector:
    """The series that a query gave. Raises PrometheusError."""
    data = _data(status, body)
    try:
        result = _RESULT.decode(data)
        match result.result_type:
            case "vector":
                sampled = _VECTOR.decode(result.result)
                if len(sampled) > SERIES_MAX:
                    raise PrometheusError(
                        f"the query gives {len(sampled)} series, more than {SERIES_MAX}: let it aggregate",
                        "series",
                        of_query=True,
                    )
                return Vector(tuple(map(_point, sampled)))
            case "scalar":
                at_s, text = _SCALAR.decode(result.result)
                return Vector((Point({}, _milli(text), _ns(at_s)),), "scalar")
            case other:
                raise PrometheusError(
                    f"the query gives a {shown(other)} where a vector is needed", "type", of_query=True
                )
    except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError) as error:
        raise PrometheusError(
            f"the answer of Prometheus cannot be understood: {shown(str(error))}", "answer"
        ) from error


def decode_families(status: int, body: bytes) -> tuple[Family, ...]:
    """The names of the series of a listing, with their label names, each once and in order. Raises PrometheusError."""
    data = _data(status, body)
    try:
        listed: Iterable[dict[str, str]] = _SERIES.decode(data) or ()
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise PrometheusError(f"the list of series cannot be understood: {shown(str(error))}", "answer") from error
    found = {Family(series.get(_NAME, ""), frozenset(series) - {_NAME}) for series in listed}
    return tuple(sorted(found, key=lambda family: (family.name, sorted(family.labels))))


def is_error(body: bytes) -> bool:
    """Whether it says in the words of Prometheus that something is wrong, and what."""
    try:
        answer = _ANSWER.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return answer.status == "error" and bool(answer.error_type)


def shown(text: str) -> str:
    """A foreign text on one line, cut to what fits into a condition."""
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return line if len(line) <= _TEXT_MAX else f"{line[:_TEXT_MAX]}…"


def _data(status: int, body: bytes) -> msgspec.Raw:
    try:
        answer = _ANSWER.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        start = shown(body[:80].decode(errors="replace"))
        raise PrometheusError(
            f"HTTP status {status} with something that is no answer of Prometheus, beginning with {start!r}; "
            "check --prometheus-url",
            f"status {status}",
        ) from error
    if answer.status == "error":
        of_query = answer.error_type in _OF_QUERY
        what = "refused the query" if of_query else "has no answer"
        raise PrometheusError(
            f"Prometheus {what} ({shown(answer.error_type)}): {shown(answer.error)}",
            f"refused {status}",
            of_query=of_query,
        )
    # Thanos and others say so where a part of the stores did not answer: the rest is not the value.
    warnings = [warning for warning in answer.warnings or () if not warning.startswith(_REMARK)]
    if answer.is_partial:
        warnings.append("some of the storage nodes have not answered")
    if warnings:
        raise PrometheusError(f"the answer may be incomplete: {shown('; '.join(warnings))}", "incomplete")
    return answer.data


def _point(sampled: _Sampled) -> Point:
    """Raises PrometheusError for a native histogram, and ValueError without any value."""
    if sampled.value is not None:
        return Point(sampled.metric, _milli(sampled.value[1]), _ns(sampled.value[0]))
    if sampled.histogram is None:
        raise ValueError("a series has no value")
    raise PrometheusError(
        "the query gives a histogram where a number is needed; "
        "use histogram_quantile, histogram_count or histogram_sum",
        "histogram",
        of_query=True,
    )


def _milli(text: str) -> int | None:
    """Milli-units, cut off towards zero as the adapter has it; None for what is no finite number."""
    value = float(text)
    if not math.isfinite(value):
        return None
    product = value * 1000.0
    if not math.isfinite(product):
        return INT64_MAX if value > 0 else INT64_MIN
    return max(INT64_MIN, min(INT64_MAX, int(product)))


def _ns(seconds: float) -> int:
    """Nanoseconds of a time that Prometheus gives in seconds with thousandths."""
    return round(seconds * 1000) * (NANOSECONDS // 1000)
