"""Scenarios of the kinds of metrics and of the groups of pods."""

from __future__ import annotations

from typing import Final

from tests.e2e import autoscalers
from tests.e2e.side_by_side.scenario import (
    ExternalValue,
    ObjectValue,
    PodStates,
    PodValue,
    Scenario,
    Step,
    Surge,
    Usage,
)
from tests.e2e.side_by_side.stock import AT_ONCE, HALF_OF_CPU, QUEUE, SERVICE, queue

METRIC_KINDS: Final = [
    Scenario(
        "cpu-utilization",
        [HALF_OF_CPU],
        [
            Step("within tolerance", [Usage(105)]),
            Step("at the upper edge", [Usage(110)]),
            Step("1.15 times the target, to the maximum", [Usage(115)]),
            Step("above", [Usage([180, 181])]),
            Step("nothing used", [Usage(0)], hold_periods=4),
        ],
        behavior=AT_ONCE,
        maximum=3,
    ),
    Scenario(
        "memory-average",
        [autoscalers.resource("memory", averageValue="64Mi")],
        [
            Step("above", [Usage(134_217_728_000 + 1, resource="memory")]),
            Step("on target", [Usage(67_108_864_000, resource="memory")]),
            Step("below", [Usage(16_777_216_000, resource="memory")]),
        ],
        behavior=AT_ONCE,
        maximum=5,
    ),
    Scenario(
        "container-utilization",
        [autoscalers.container_resource("app", "cpu", averageUtilization=50)],
        [
            Step("the sidecar is busy", [Usage(100), Usage(900, container="sidecar")]),
            Step("the container is busy", [Usage(190)]),
            Step("of the sidecar only", [Usage([None])]),
        ],
        containers=("app", "sidecar"),
        behavior=AT_ONCE,
        maximum=4,
    ),
    Scenario(
        "pods-metric",
        [autoscalers.pods("requests", averageValue="10")],
        [
            Step("above", [PodValue("requests", [25_000, 15_001])]),
            Step("one is silent", [PodValue("requests", [10_000, None, 2_000])]),
            Step("all are silent", [PodValue("requests", [None])]),
            Step("low", [PodValue("requests", 1_000)]),
        ],
        behavior=AT_ONCE,
        maximum=5,
    ),
    Scenario(
        "object-value",
        [autoscalers.of_object(SERVICE, "hits", value="10")],
        [
            Step("on target", [ObjectValue("hits", "10")]),
            Step("above, to the maximum", [ObjectValue("hits", "16500m")]),
            Step("below", [ObjectValue("hits", "1")], hold_periods=5),
        ],
        behavior=AT_ONCE,
        maximum=4,
    ),
    Scenario(
        "object-average",
        [autoscalers.of_object(SERVICE, "parcels", averageValue="10")],
        [
            Step("above", [ObjectValue("parcels", "33")]),
            Step("odd", [ObjectValue("parcels", "37777m")]),
            Step("below", [ObjectValue("parcels", "9")]),
        ],
        behavior=AT_ONCE,
    ),
    Scenario(
        "external-value",
        [autoscalers.external("backlog", value="10")],
        [
            Step("sum of series on target", [ExternalValue("backlog", ["4", "6"])]),
            Step("above, to the maximum", [ExternalValue("backlog", ["14", "6"])]),
            Step("no series", [ExternalValue("backlog", [])]),
        ],
        maximum=4,
    ),
    Scenario(
        "external-average",
        [QUEUE],
        [
            Step("above", [ExternalValue("queue", ["20", "11"])]),
            Step("within tolerance", [queue("43")]),
            Step("far above", [queue("400")], hold_periods=4),
            Step("below", [queue("5")]),
        ],
        behavior=AT_ONCE,
        # As far as four more pods go; what may come after their fifteen seconds is not waited for.
        maximum=6,
    ),
]

PODS: Final = [
    Scenario(
        "missing-pods",
        [HALF_OF_CPU],
        [
            Step("one of four missing, high", [Usage([150, 150, 150, None])]),
            Step("one of four missing, low", [Usage([70, 70, 70, None])]),
            Step("superfluous samples", [Usage(100, superfluous=2)]),
            Step("nothing known", [Usage([None])]),
        ],
        replicas=4,
        behavior=AT_ONCE,
    ),
    Scenario(
        "unready-pods",
        [HALF_OF_CPU],
        [
            Step("two of four unready, high", [Usage([160, 160, 0, 0]), PodStates(["ready", "ready", "unready"])]),
            Step("the unready are busy", [Usage([100, 100, 190, 190])]),
            Step("ready again", [Usage(100), PodStates(["ready"])]),
            Step("two pending, low", [Usage([60, 60, None]), PodStates(["ready", "ready", "pending"])]),
        ],
        replicas=4,
        behavior=AT_ONCE,
        maximum=6,
    ),
    Scenario(
        "object-counts-ready-pods",
        [autoscalers.of_object(SERVICE, "hits", value="10")],
        [
            Step("half unready", [ObjectValue("hits", "15"), PodStates(["ready", "ready", "unready"])]),
            Step("all ready", [ObjectValue("hits", "10"), PodStates(["ready"])]),
        ],
        replicas=4,
        behavior=AT_ONCE,
        maximum=8,
    ),
    Scenario(
        "pods-that-no-count-knows",
        [HALF_OF_CPU],
        [
            Step("at rest", [Usage(100)]),
            # Pods first: they do not come in the moment in which values change.
            Step("two old pods, unmeasured", [Surge(2)]),
            Step("more load", [Usage(150)]),
            Step("the old are gone", [Surge(0), Usage(100)]),
        ],
        replicas=3,
        maximum=4,
        behavior=AT_ONCE,
    ),
]
