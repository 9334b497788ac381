"""The scenarios: what is played under both controllers. Data only; how it is played stands in stage.py.

Without behavior the scale-down window is that of the flag in runner.py; where a step is not about windows, it is 0.
"""

from __future__ import annotations

from typing import Any, Final

from tests.e2e import autoscalers
from tests.e2e.metrics_server import Fault, MetricsApi
from tests.e2e.side_by_side.scenario import (
    AddRival,
    Break,
    CreateAutoscaler,
    CreateTarget,
    DeleteAutoscaler,
    DeleteTarget,
    EditAutoscaler,
    ExternalValue,
    ObjectValue,
    PodStates,
    PodValue,
    RemoveRival,
    Repair,
    Scenario,
    SetReplicas,
    Step,
    Surge,
    Usage,
)
from tests.e2e.workload_kinds import DEPLOYMENT, FLEET, SWARM

_HALF_OF_CPU: Final = autoscalers.resource("cpu", averageUtilization=50)
_QUEUE: Final = autoscalers.external("queue", averageValue="10")
_SERVICE: Final = {"apiVersion": "v1", "kind": "Service", "name": "front"}
_AT_ONCE: Final = {"scaleDown": {"stabilizationWindowSeconds": 0}}


def _queue(value: str) -> ExternalValue:
    return ExternalValue("queue", [value])


def _policies(*policies: tuple[str, int], select: str = "Max", window_s: int = 0) -> dict[str, Any]:
    """Rules of a direction whose periods outlast every scenario."""
    written = [{"type": kind, "value": value, "periodSeconds": 600} for kind, value in policies]
    return {"policies": written, "selectPolicy": select, "stabilizationWindowSeconds": window_s}


_METRIC_KINDS: Final = [
    Scenario(
        "cpu-utilization",
        [_HALF_OF_CPU],
        [
            Step("within tolerance", [Usage(105)]),
            Step("at the upper edge", [Usage(110)]),
            Step("above", [Usage([180, 181])]),
            Step("nothing used", [Usage(0)], hold_periods=4),
        ],
        behavior=_AT_ONCE,
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
        behavior=_AT_ONCE,
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
        behavior=_AT_ONCE,
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
        behavior=_AT_ONCE,
        maximum=5,
    ),
    Scenario(
        "object-value",
        [autoscalers.of_object(_SERVICE, "hits", value="10")],
        [
            Step("on target", [ObjectValue("hits", "10")]),
            Step("above, to the maximum", [ObjectValue("hits", "16500m")]),
            Step("below", [ObjectValue("hits", "1")], hold_periods=5),
        ],
        behavior=_AT_ONCE,
        maximum=4,
    ),
    Scenario(
        "object-average",
        [autoscalers.of_object(_SERVICE, "parcels", averageValue="10")],
        [
            Step("above", [ObjectValue("parcels", "33")]),
            Step("odd", [ObjectValue("parcels", "37777m")]),
            Step("below", [ObjectValue("parcels", "9")]),
        ],
        behavior=_AT_ONCE,
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
        [_QUEUE],
        [
            Step("above", [ExternalValue("queue", ["20", "11"])]),
            Step("within tolerance", [_queue("43")]),
            Step("far above", [_queue("400")], hold_periods=4),
            Step("below", [_queue("5")]),
        ],
        behavior=_AT_ONCE,
    ),
]

_PODS: Final = [
    Scenario(
        "missing-pods",
        [_HALF_OF_CPU],
        [
            Step("one of four missing, high", [Usage([150, 150, 150, None])]),
            Step("one of four missing, low", [Usage([70, 70, 70, None])]),
            Step("superfluous samples", [Usage(100, superfluous=2)]),
            Step("nothing known", [Usage([None])]),
        ],
        replicas=4,
        behavior=_AT_ONCE,
    ),
    Scenario(
        "unready-pods",
        [_HALF_OF_CPU],
        [
            Step("two of four unready, high", [Usage([160, 160, 0, 0]), PodStates(["ready", "ready", "unready"])]),
            Step("the unready are busy", [Usage([100, 100, 190, 190])]),
            Step("ready again", [Usage(100), PodStates(["ready"])]),
            Step("two pending, low", [Usage([60, 60, None]), PodStates(["ready", "ready", "pending"])]),
        ],
        replicas=4,
        behavior=_AT_ONCE,
        maximum=6,
    ),
    Scenario(
        "object-counts-ready-pods",
        [autoscalers.of_object(_SERVICE, "hits", value="10")],
        [
            Step("half unready", [ObjectValue("hits", "15"), PodStates(["ready", "ready", "unready"])]),
            Step("all ready", [ObjectValue("hits", "10"), PodStates(["ready"])]),
        ],
        replicas=4,
        behavior=_AT_ONCE,
        maximum=8,
    ),
    Scenario(
        "rolling-update",
        [_HALF_OF_CPU],
        [
            Step("at rest", [Usage(100)]),
            Step("two old pods, unmeasured", [Surge(2), Usage(150)]),
            Step("the old are gone", [Surge(0), Usage(100)]),
        ],
        kind=DEPLOYMENT,
        replicas=3,
        maximum=4,
        behavior=_AT_ONCE,
    ),
]

_RULES: Final = [
    Scenario(
        "growth-limit",
        [_QUEUE],
        [
            Step("at rest", [_queue("30")]),
            Step("everything at once", [_queue("5000")], hold_periods=5),
        ],
        replicas=3,
        maximum=40,
    ),
    Scenario(
        "flag-window",
        [_QUEUE],
        [
            Step("six are needed", [_queue("60")]),
            Step("two are needed, six are kept", [_queue("20")]),
            Step("after the window", [_queue("20")], hold_periods=13),
        ],
    ),
    Scenario(
        "scale-down-window",
        [_QUEUE],
        [
            Step("six are needed", [_queue("60")]),
            Step("two are needed, six are kept", [_queue("20")]),
            Step("four are needed, six are kept", [_queue("40")]),
        ],
        behavior={"scaleDown": {"stabilizationWindowSeconds": 300}},
    ),
    Scenario(
        "scale-up-window",
        [_QUEUE],
        [
            Step("two are needed", [_queue("20")]),
            Step("six are needed, two are kept", [_queue("60")]),
            Step("after the window", [_queue("60")], hold_periods=13),
        ],
        behavior={"scaleUp": {"stabilizationWindowSeconds": 12}},
    ),
    Scenario(
        "pods-policies",
        [_QUEUE],
        [
            Step("three more may come", [_queue("100")]),
            Step("two and those may go", [_queue("10")]),
        ],
        replicas=4,
        behavior={"scaleUp": _policies(("Pods", 3)), "scaleDown": _policies(("Pods", 2))},
    ),
    Scenario(
        "percent-policies",
        [_QUEUE],
        [
            Step("a third more may come", [_queue("200")]),
            Step("half may go", [_queue("10")]),
        ],
        replicas=7,
        maximum=30,
        behavior={"scaleUp": _policies(("Percent", 33)), "scaleDown": _policies(("Percent", 45))},
    ),
    Scenario(
        "smallest-policy",
        [_QUEUE],
        [
            Step("the smaller way up", [_queue("200")]),
            Step("the smaller way down", [_queue("10")]),
        ],
        replicas=6,
        maximum=30,
        behavior={
            "scaleUp": _policies(("Percent", 100), ("Pods", 2), select="Min"),
            "scaleDown": _policies(("Percent", 50), ("Pods", 1), select="Min"),
        },
    ),
    Scenario(
        "disabled-policies",
        [_QUEUE],
        [
            Step("no way down", [_queue("10")]),
            Step("the way up is open", [_queue("45")]),
        ],
        replicas=4,
        behavior={"scaleDown": {"selectPolicy": "Disabled", "stabilizationWindowSeconds": 0}},
    ),
    Scenario(
        "tolerance-per-direction",
        [_QUEUE],
        [
            Step("within on the way up", [_queue("52")]),
            Step("beyond on the way up", [_queue("57")]),
            Step("within on the way down", [_queue("44")]),
            Step("beyond on the way down", [_queue("35")]),
        ],
        replicas=4,
        behavior={
            "scaleUp": {"tolerance": "0.4"},
            "scaleDown": {"tolerance": "0.3", "stabilizationWindowSeconds": 0},
        },
    ),
    Scenario(
        "edges",
        [_QUEUE],
        [
            Step("below the minimum", [_queue("1")]),
            Step("above the maximum", [_queue("1000")], hold_periods=4),
            Step("scaled above by hand", [SetReplicas(8)]),
            Step("scaled below by hand", [SetReplicas(1), _queue("40")]),
        ],
        replicas=4,
        minimum=3,
        maximum=5,
        behavior=_AT_ONCE,
    ),
]

_FAILURES: Final = [
    Scenario(
        "largest-wins",
        [_HALF_OF_CPU, _QUEUE, autoscalers.of_object(_SERVICE, "parcels", averageValue="10")],
        [
            Step("the second asks for most", [Usage(100), _queue("60"), ObjectValue("parcels", "30")]),
            Step("the third asks for most", [_queue("30"), ObjectValue("parcels", "80")]),
        ],
        behavior=_AT_ONCE,
    ),
    Scenario(
        "partial-failure",
        [_QUEUE, _HALF_OF_CPU],
        [
            Step("both work", [_queue("40"), Usage(100)]),
            Step("one fails, low", [Break(MetricsApi.RESOURCE, Fault.INTERNAL_ERROR), _queue("20")]),
            Step("one fails, high", [_queue("60")]),
            Step("both fail", [Break(MetricsApi.EXTERNAL, Fault.FORBIDDEN)]),
            Step("all well", [Repair(MetricsApi.RESOURCE), Repair(MetricsApi.EXTERNAL)]),
        ],
        replicas=4,
        behavior=_AT_ONCE,
    ),
    Scenario(
        "ambiguous-selector",
        [_QUEUE],
        [
            Step("alone", [_queue("40")]),
            Step("a rival comes", [AddRival(), _queue("80")]),
            Step("the rival goes", [RemoveRival()], hold_periods=4),
        ],
    ),
    Scenario("no-selector", [_QUEUE], [Step("refused", [_queue("40")])], kind=SWARM),
    Scenario(
        "custom-resource",
        [_QUEUE],
        [Step("up", [_queue("40")]), Step("down", [_queue("10")])],
        kind=FLEET,
        behavior=_AT_ONCE,
    ),
]

_LIVES: Final = [
    Scenario(
        "paused-at-zero",
        [_QUEUE],
        [
            Step("paused", [_queue("40")]),
            Step("resumed by hand", [SetReplicas(1)]),
            Step("paused again", [SetReplicas(0)]),
        ],
        replicas=0,
    ),
    Scenario(
        "target-deleted",
        [_QUEUE],
        [
            Step("at work", [_queue("40")]),
            Step("deleted", [DeleteTarget()]),
            Step("recreated", [CreateTarget(1), _queue("60")], hold_periods=5),
        ],
    ),
    Scenario(
        "autoscaler-deleted",
        [_QUEUE],
        [
            Step("at work", [_queue("60")]),
            Step("deleted", [DeleteAutoscaler()]),
            Step("recreated, without memory", [CreateAutoscaler(), _queue("20")]),
        ],
        behavior={"scaleDown": {"stabilizationWindowSeconds": 300}},
    ),
    Scenario(
        "edited-in-flight",
        [_QUEUE],
        [
            Step("at work", [_queue("80")]),
            Step("a lower maximum", [EditAutoscaler({"maxReplicas": 6})]),
            Step("another target value", [EditAutoscaler({"metrics": [autoscalers.external("queue", value="40")]})]),
            Step("a higher minimum", [EditAutoscaler({"minReplicas": 6}), _queue("20")]),
            Step("rules of its own", [EditAutoscaler({"minReplicas": 1, "behavior": _AT_ONCE})], hold_periods=6),
        ],
    ),
]

SCENARIOS: Final = [*_METRIC_KINDS, *_PODS, *_RULES, *_FAILURES, *_LIVES]
