"""Statuses from JSON and to JSON (§6.4, §14): what Go leaves out is left out, and nothing is lost on the way back."""

from typing import Any, Final

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.decide.instants import NANOSECONDS, ZERO_TIME_NS
from controller.decide.quantity import INT64_MAX, INT64_MIN, Format, of_milli, parse
from controller.decide.selectors import LabelSelector, LabelSelectorRequirement
from controller.decide.spec import MetricIdentifier, Reference
from controller.decide.status import Condition, MetricStatus, Status
from controller.wire.autoscalers import status_from
from controller.wire.errors import WireError
from controller.wire.status import status_to
from tests.builders import condition, label_selector, status, wall_ns

NOON = "2026-01-31T12:00:00Z"
BLANK: dict[str, object] = {"desiredReplicas": 0, "currentMetrics": None}

WRITTEN: dict[str, tuple[Status, dict[str, object]]] = {
    "empty": (Status(), BLANK),
    "counts": (
        status(current=3, desired=4, observed_generation=0),
        {"observedGeneration": 0, "currentReplicas": 3, "desiredReplicas": 4, "currentMetrics": None},
    ),
    "times are whole seconds": (status(last_scale_s=0.999), BLANK | {"lastScaleTime": NOON}),
    "condition": (
        status(condition("AbleToScale", reason="R", message="m", since_s=0)),
        BLANK
        | {
            "conditions": [
                {
                    "type": "AbleToScale",
                    "status": "True",
                    "lastTransitionTime": NOON,
                    "reason": "R",
                    "message": "m",
                }
            ]
        },
    ),
    "condition without anything": (
        status(Condition("A", "Unknown", "", "", ZERO_TIME_NS)),
        BLANK | {"conditions": [{"type": "A", "status": "Unknown", "lastTransitionTime": None}]},
    ),
    "failed metric": (status(metrics=(MetricStatus(),)), BLANK | {"currentMetrics": [{"type": ""}]}),
    "Resource": (
        status(
            metrics=(MetricStatus("Resource", resource="cpu", average_value=of_milli(250), average_utilization=25),)
        ),
        BLANK
        | {
            "currentMetrics": [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "current": {"averageValue": "250m", "averageUtilization": 25}},
                }
            ]
        },
    ),
    "ContainerResource": (
        status(
            metrics=(
                MetricStatus(
                    "ContainerResource",
                    resource="memory",
                    container="app",
                    average_value=of_milli(2_048_000, Format.BINARY_SI),
                ),
            )
        ),
        BLANK
        | {
            "currentMetrics": [
                {
                    "type": "ContainerResource",
                    "containerResource": {"name": "memory", "container": "app", "current": {"averageValue": "2Ki"}},
                }
            ]
        },
    ),
    "Pods": (
        status(metrics=(MetricStatus("Pods", metric=MetricIdentifier("requests"), average_value=of_milli(0)),)),
        BLANK
        | {
            "currentMetrics": [
                {"type": "Pods", "pods": {"metric": {"name": "requests"}, "current": {"averageValue": "0"}}}
            ]
        },
    ),
    "Object": (
        status(
            metrics=(
                MetricStatus(
                    "Object",
                    metric=MetricIdentifier("hits", label_selector({"a": "1"})),
                    described=Reference("Service", "front", "v1"),
                    value=of_milli(1500),
                ),
            )
        ),
        BLANK
        | {
            "currentMetrics": [
                {
                    "type": "Object",
                    "object": {
                        "metric": {"name": "hits", "selector": {"matchLabels": {"a": "1"}}},
                        "describedObject": {"kind": "Service", "name": "front", "apiVersion": "v1"},
                        "current": {"value": "1500m"},
                    },
                }
            ]
        },
    ),
    "External": (
        status(
            metrics=(
                MetricStatus(
                    "External",
                    metric=MetricIdentifier("backlog", label_selector(None, ("a", "In", "xy"), ("b", "Exists", ()))),
                    value=of_milli(1),
                ),
            )
        ),
        BLANK
        | {
            "currentMetrics": [
                {
                    "type": "External",
                    "external": {
                        "metric": {
                            "name": "backlog",
                            "selector": {
                                "matchExpressions": [
                                    {"key": "a", "operator": "In", "values": ["x", "y"]},
                                    {"key": "b", "operator": "Exists"},
                                ]
                            },
                        },
                        "current": {"value": "1m"},
                    },
                }
            ]
        },
    ),
}


@pytest.mark.parametrize(("value", "wire"), WRITTEN.values(), ids=WRITTEN)
def test_written(value: Status, wire: dict[str, object]) -> None:
    assert status_to(value) == wire


@pytest.mark.parametrize(
    "wire",
    [
        None,
        {},
        BLANK,
        {"currentMetrics": []},
        {"conditions": None, "currentReplicas": None, "desiredReplicas": None, "lastScaleTime": None},
        {"currentReplicas": 0, "conditions": [], "unknown": 5},
    ],
)
def test_blank(wire: Any) -> None:
    """Absent, null, empty and zero are one."""
    assert status_from(wire) == Status()


def test_a_status_of_another_form_is_the_same() -> None:
    """§14.4."""
    written = {
        "lastScaleTime": "2026-01-31T13:00:00+01:00",
        "currentMetrics": [{"type": "Pods", "pods": {"metric": {"name": "m"}, "current": {"averageValue": "1024"}}}],
    }
    entry = MetricStatus("Pods", metric=MetricIdentifier("m"), average_value=parse("1Ki"))
    assert status_from(written) == Status(last_scale_ns=wall_ns(), metrics=(entry,))


def test_what_is_missing_in_a_status_is_missing() -> None:
    """Others may have written it; a metric without numbers is one, and an object without an API version."""
    described = {"metric": {"name": "hits"}, "describedObject": {"kind": "Service", "name": "front"}}
    wire = {
        "observedGeneration": 7,
        "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu"}}, {"type": "Object", "object": described}],
    }
    read = status_from(wire)
    front = Reference("Service", "front", "")
    assert read == Status(
        metrics=(
            MetricStatus("Resource", resource="cpu"),
            MetricStatus("Object", metric=MetricIdentifier("hits"), described=front),
        ),
        observed_generation=7,
    )
    assert status_to(read)["currentMetrics"] == [
        {"type": "Resource", "resource": {"name": "cpu", "current": {}}},
        {"type": "Object", "object": described | {"current": {}}},
    ]


REFUSED: dict[str, tuple[object, str]] = {
    "a text": ("x", "Expected `object`, got `str`"),
    "condition without type": (
        {"conditions": [{"status": "True"}]},
        "Object missing required field `type` - at `$.conditions[0]`",
    ),
    "time of a condition": (
        {"conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "True", "lastTransitionTime": "x"}]},
        ("'x' is not an RFC 3339 time such as 2026-01-31T12:00:00Z - at `$.conditions[1].lastTransitionTime`"),
    ),
    "time of the last scale": (
        {"lastScaleTime": "2026-02-01T25:00:00Z"},
        "'2026-02-01T25:00:00Z' is not an RFC 3339 time such as 2026-01-31T12:00:00Z - at `$.lastScaleTime`",
    ),
    "quantity": (
        {"currentMetrics": [{"type": ""}, {"type": "Pods", "pods": {"current": {"averageValue": "q"}}}]},
        ("'q' is not a quantity such as 500m, 2 or 1.5Gi - at `$.currentMetrics[1].pods.current.averageValue`"),
    ),
}


@pytest.mark.parametrize(("wire", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(wire: Any, message: str) -> None:
    with pytest.raises(WireError) as raised:
        status_from(wire)
    assert str(raised.value) == message


# --- there and back -------------------------------------------------------------------------------------------

_TEXTS: Final = st.sampled_from(("", "a", "web", "ü 💥", "x" * 300))
_NAMES: Final = st.sampled_from(("cpu", "memory", "requests", "ü"))
_INSTANTS: Final = st.integers(0, 4 * 10**9).map(lambda seconds: seconds * NANOSECONDS)
_AMOUNTS: Final = st.none() | st.builds(of_milli, st.integers(INT64_MIN, INT64_MAX), st.sampled_from(Format))
_SELECTORS: Final = st.none() | st.builds(
    LabelSelector,
    st.dictionaries(_TEXTS, _TEXTS, max_size=2).map(lambda labels: tuple(sorted(labels.items()))),
    st.lists(
        st.builds(LabelSelectorRequirement, _TEXTS, _TEXTS, st.lists(_TEXTS, max_size=2).map(tuple)), max_size=2
    ).map(tuple),
)
_IDENTIFIERS: Final = st.builds(MetricIdentifier, _NAMES, _SELECTORS)
_REFERENCES: Final = st.builds(Reference, _TEXTS, _TEXTS, _TEXTS)
_PERCENTAGES: Final = st.none() | st.integers(0, 2**31 - 1)
_ENTRIES: Final = st.one_of(
    st.builds(MetricStatus, type=_TEXTS),
    st.builds(
        MetricStatus,
        type=st.just("Resource"),
        resource=_NAMES,
        average_value=_AMOUNTS,
        average_utilization=_PERCENTAGES,
    ),
    st.builds(
        MetricStatus,
        type=st.just("ContainerResource"),
        resource=_NAMES,
        container=_TEXTS,
        average_value=_AMOUNTS,
        average_utilization=_PERCENTAGES,
    ),
    st.builds(MetricStatus, type=st.just("Pods"), metric=_IDENTIFIERS, average_value=_AMOUNTS),
    st.builds(
        MetricStatus,
        type=st.just("Object"),
        metric=_IDENTIFIERS,
        described=_REFERENCES,
        value=_AMOUNTS,
        average_value=_AMOUNTS,
    ),
    st.builds(MetricStatus, type=st.just("External"), metric=_IDENTIFIERS, value=_AMOUNTS, average_value=_AMOUNTS),
)
STATUSES: Final = st.builds(
    Status,
    replicas_current=st.integers(0, 2**31 - 1),
    replicas_desired=st.integers(0, 2**31 - 1),
    last_scale_ns=st.none() | _INSTANTS,
    metrics=st.lists(_ENTRIES, max_size=3).map(tuple),
    conditions=st.lists(
        st.builds(Condition, _TEXTS, _TEXTS, _TEXTS, _TEXTS, st.just(ZERO_TIME_NS) | _INSTANTS), max_size=3
    ).map(tuple),
    observed_generation=st.none() | st.integers(0, 2**63 - 1),
)


@hypothesis.settings(max_examples=300, derandomize=True, database=None, deadline=None)
@given(STATUSES)
def test_there_and_back(value: Status) -> None:
    """All that a status holds has a place in JSON; quantities print exactly (§6.4), times are whole seconds."""
    assert status_from(status_to(value)) == value


@hypothesis.settings(max_examples=100, derandomize=True, database=None, deadline=None)
@given(STATUSES, st.integers(1, NANOSECONDS - 1))
def test_fractions_of_a_second_are_lost(value: Status, fraction_ns: int) -> None:
    """§14.4."""
    finer = Status(
        value.replicas_current,
        value.replicas_desired,
        None if value.last_scale_ns is None else value.last_scale_ns + fraction_ns,
        value.metrics,
        value.conditions,
        value.observed_generation,
    )
    assert status_from(status_to(finer)) == value
