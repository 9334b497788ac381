"""§14: what the status is made of, and when it is a changed one."""

import pytest
from msgspec.structs import replace

from controller.decide.conditions import Change, applied
from controller.decide.observed import Reading
from controller.decide.quantity import parse
from controller.decide.spec import MetricIdentifier, MetricSpec, Reference
from controller.decide.status import Condition, MetricStatus, Status
from tests.builders import (
    condition,
    container_metric,
    cpu,
    external_metric,
    history,
    hpa,
    label_selector,
    object_metric,
    observation,
    pods_metric,
    resource_metric,
    samples,
    scale,
    series,
    status,
    usage,
    value,
    wall_ns,
)
from tests.decide.syncs import proposal, sync

ENTRY = MetricStatus("Resource", resource="memory", average_value=parse("1Gi"), average_utilization=50)
STORED = status(
    condition("AbleToScale", reason="ReadyForNewScale", message="fine"),
    condition("Custom", "Unknown"),
    current=3,
    desired=3,
    last_scale_s=-60,
    metrics=(ENTRY, MetricStatus()),
)

SAME = {
    "itself": replace(STORED),
    "quantity in another format": replace(
        STORED, metrics=(replace(ENTRY, average_value=parse("1073741824")), MetricStatus())
    ),
}
CHANGED = {
    "quantity": replace(STORED, metrics=(replace(ENTRY, average_value=parse("1G")), MetricStatus())),
    "utilization": replace(STORED, metrics=(replace(ENTRY, average_utilization=51), MetricStatus())),
    "utilization gone": replace(STORED, metrics=(replace(ENTRY, average_utilization=None), MetricStatus())),
    "empty entry gone": replace(STORED, metrics=(ENTRY,)),
    "order of metrics": replace(STORED, metrics=(MetricStatus(), ENTRY)),
    "no metrics": replace(STORED, metrics=()),
    "current replicas": replace(STORED, replicas_current=4),
    "desired replicas": replace(STORED, replicas_desired=4),
    "last scale time": replace(STORED, last_scale_ns=wall_ns(-59)),
    "last scale time gone": replace(STORED, last_scale_ns=None),
    "observed generation": replace(STORED, observed_generation=1),
    "message": replace(STORED, conditions=(replace(STORED.conditions[0], message="better"), STORED.conditions[1])),
    "reason": replace(STORED, conditions=(replace(STORED.conditions[0], reason="Other"), STORED.conditions[1])),
    "condition gone": replace(STORED, conditions=STORED.conditions[:1]),
    "order of conditions": replace(STORED, conditions=STORED.conditions[::-1]),
    "transition time": replace(
        STORED, conditions=(replace(STORED.conditions[0], changed_ns=wall_ns()), STORED.conditions[1])
    ),
}


@pytest.mark.parametrize("other", SAME.values(), ids=SAME)
def test_the_same_status(other: Status) -> None:
    """§14.4."""
    assert other == STORED


@pytest.mark.parametrize("other", CHANGED.values(), ids=CHANGED)
def test_a_changed_status(other: Status) -> None:
    """§14.4."""
    assert other != STORED


def steady(stored: Status) -> bool:
    """Whether a steady sync writes this stored status."""
    seen = observation(scale(3), usage(500, 500, 500), status=stored)
    return sync(hpa(cpu(50)), seen, history((3, -600))).conclusion.status_changed


def settled() -> Status:
    """What a steady sync stores."""
    seen = observation(scale(3), usage(500, 500, 500))
    return sync(hpa(cpu(50)), seen, history((3, -600))).status


def test_a_steady_sync_writes_nothing() -> None:
    assert not steady(settled())


def test_observed_generation_is_dropped() -> None:
    """§14.1."""
    assert steady(replace(settled(), observed_generation=3))


def test_unknown_conditions_are_preserved() -> None:
    """§15.1."""
    foreign = condition("Foreign", "Unknown", message="kept", since_s=-9)
    stored = replace(settled(), conditions=(foreign, *settled().conditions))
    seen = observation(scale(3), usage(900, 900, 900), status=stored)
    outcome = sync(hpa(cpu(50)), seen)
    assert outcome.status.conditions[0] == foreign
    assert not steady(stored)


def test_a_text_of_another_controller_is_replaced_once() -> None:
    first = settled().conditions[0]
    stored = replace(settled(), conditions=(replace(first, message="theirs"), *settled().conditions[1:]))
    assert steady(stored)


def test_intermediate_values_do_not_matter() -> None:
    """§14.4: AbleToScale is SucceededGetScale on the way to ReadyForNewScale."""
    able = settled().condition("AbleToScale")
    assert able is not None
    assert able.reason == "ReadyForNewScale"
    assert not steady(settled())


# --- conditions (§15.1) ---------------------------------------------------------------------------------------

A, B = condition("A", "True", since_s=-100), condition("B", "False", since_s=-50)


def entry(condition_type: str, value: str, since_s: float, reason: str = "R", message: str = "m") -> Condition:
    return condition(condition_type, value, reason=reason, message=message, since_s=since_s)


APPLIED: dict[str, tuple[tuple[Change, ...], tuple[Condition, ...]]] = {
    "nothing": ((), (A, B)),
    "same status: time stays": ((Change("A", "True", "R", "m"),), (entry("A", "True", -100), B)),
    "other status: time moves": ((Change("A", "False", "R", "m"),), (entry("A", "False", 0), B)),
    "new: at the end": ((Change("C", "True", "R", "m"),), (A, B, entry("C", "True", 0))),
    "removed": ((Change("A", None),), (B,)),
    "removed, not there": ((Change("C", None),), (A, B)),
    "in order": (
        (Change("B", "True", "R", "m"), Change("A", "True", "R", "m")),
        (entry("A", "True", -100), entry("B", "True", 0)),
    ),
    "removed and set again: at the end": (
        (Change("A", None), Change("A", "True", "R", "m")),
        (B, entry("A", "True", 0)),
    ),
}


@pytest.mark.parametrize(("changes", "expected"), APPLIED.values(), ids=APPLIED)
def test_applied(changes: tuple[Change, ...], expected: tuple[Condition, ...]) -> None:
    assert applied((A, B), changes, wall_ns()) == expected


# --- entries (§6.4) -------------------------------------------------------------------------------------------

SELECTOR = label_selector({"queue": "mail"})
ENTRIES: dict[str, tuple[MetricSpec, Reading, MetricStatus]] = {
    "Object Value": (
        object_metric(value_milli=1000, selector=SELECTOR, described=("Service", "front")),
        value(1500),
        MetricStatus(
            "Object",
            metric=MetricIdentifier("hits", SELECTOR),
            described=Reference("Service", "front"),
            value=parse("1500m"),
        ),
    ),
    "Object AverageValue": (
        object_metric(average_milli=1000),
        value(2000),
        MetricStatus(
            "Object",
            metric=MetricIdentifier("hits"),
            described=Reference("Service", "front"),
            average_value=parse("2"),
        ),
    ),
    "Pods": (
        pods_metric(1000, selector=SELECTOR),
        samples(7),
        MetricStatus("Pods", metric=MetricIdentifier("requests", SELECTOR), average_value=parse("7m")),
    ),
    "Resource average": (
        resource_metric("memory", average_milli=1000),
        usage(2_048_000, resource="memory"),
        MetricStatus("Resource", resource="memory", average_value=parse("2Ki")),
    ),
    "Resource utilization": (
        cpu(50),
        usage(250),
        MetricStatus("Resource", resource="cpu", average_value=parse("250m"), average_utilization=25),
    ),
    "ContainerResource average": (
        container_metric("app", average_milli=5),
        usage(250),
        MetricStatus("ContainerResource", resource="cpu", container="app", average_value=parse("250m")),
    ),
    "ContainerResource utilization": (
        container_metric("app", 50),
        usage(250),
        MetricStatus(
            "ContainerResource",
            resource="cpu",
            container="app",
            average_value=parse("250m"),
            average_utilization=25,
        ),
    ),
    "External Value": (
        external_metric(value_milli=1000),
        series(5, 6),
        MetricStatus("External", metric=MetricIdentifier("backlog"), value=parse("11m")),
    ),
    "External AverageValue": (
        external_metric(average_milli=1000),
        series(5, 6),
        MetricStatus("External", metric=MetricIdentifier("backlog"), average_value=parse("11m")),
    ),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_entry(name: str) -> None:
    metric, reading, expected = ENTRIES[name]
    assert proposal(metric, reading, replicas=1).status == expected
