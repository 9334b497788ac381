"""Scenarios of what goes wrong, of what people do, and of targets that change by themselves."""

from __future__ import annotations

from typing import Final

from tests.e2e import autoscalers
from tests.e2e.kwok_stages import READY, READY_AFTER
from tests.e2e.metrics_server import Fault, MetricsApi
from tests.e2e.side_by_side.scenario import (
    AddRival,
    Break,
    CreateAutoscaler,
    CreateTarget,
    DeleteAutoscaler,
    DeleteTarget,
    EditAutoscaler,
    ObjectValue,
    RemoveRival,
    Repair,
    RollOut,
    Scenario,
    SetReplicas,
    Step,
    Usage,
)
from tests.e2e.side_by_side.stock import AT_ONCE, HALF_OF_CPU, QUEUE, SERVICE, queue
from tests.e2e.workload_kinds import DEPLOYMENT, FLEET, SWARM

FAILURES: Final = [
    Scenario(
        "largest-wins",
        [HALF_OF_CPU, QUEUE, autoscalers.of_object(SERVICE, "parcels", averageValue="10")],
        [
            Step("the second asks for most", [Usage(100), queue("60"), ObjectValue("parcels", "30")]),
            Step("the third asks for most", [queue("30"), ObjectValue("parcels", "80")]),
        ],
        behavior=AT_ONCE,
    ),
    Scenario(
        "partial-failure",
        [QUEUE, HALF_OF_CPU],
        [
            Step("both work", [queue("40"), Usage(100)]),
            Step("one fails, low", [Break(MetricsApi.RESOURCE, Fault.INTERNAL_ERROR), queue("20")]),
            Step("one fails, high", [queue("60")]),
            Step("both fail", [Break(MetricsApi.EXTERNAL, Fault.FORBIDDEN)]),
            Step("all well", [Repair(MetricsApi.RESOURCE), Repair(MetricsApi.EXTERNAL)]),
        ],
        replicas=4,
        behavior=AT_ONCE,
    ),
    Scenario(
        "ambiguous-selector",
        [QUEUE],
        [
            Step("alone", [queue("40")]),
            Step("a rival comes", [AddRival(), queue("80")]),
            Step("the rival goes", [RemoveRival()], hold_periods=4),
        ],
    ),
    Scenario("no-selector", [QUEUE], [Step("refused", [queue("40")])], kind=SWARM),
    Scenario(
        "custom-resource",
        [QUEUE],
        [Step("up", [queue("40")]), Step("down", [queue("10")])],
        kind=FLEET,
        behavior=AT_ONCE,
    ),
]

LIVES: Final = [
    Scenario(
        "paused-at-zero",
        [QUEUE],
        [
            Step("paused", [queue("40")]),
            Step("resumed by hand", [SetReplicas(1)]),
            Step("paused again", [SetReplicas(0)]),
        ],
        replicas=0,
    ),
    Scenario(
        "target-deleted",
        [QUEUE],
        [
            Step("at work", [queue("40")]),
            Step("deleted", [DeleteTarget()]),
            Step("recreated", [CreateTarget(1), queue("60")], hold_periods=5),
        ],
    ),
    Scenario(
        "autoscaler-deleted",
        [QUEUE],
        [
            Step("at work", [queue("60")]),
            Step("deleted", [DeleteAutoscaler()]),
            Step("recreated, without memory", [CreateAutoscaler(), queue("20")]),
        ],
        behavior={"scaleDown": {"stabilizationWindowSeconds": 300}},
    ),
    Scenario(
        "edited-in-flight",
        [QUEUE],
        [
            Step("at work", [queue("80")]),
            Step("a lower maximum", [EditAutoscaler({"maxReplicas": 6})]),
            Step("another target value", [EditAutoscaler({"metrics": [autoscalers.external("queue", value="40")]})]),
            Step("a higher minimum", [EditAutoscaler({"minReplicas": 6}), queue("20")]),
            Step("rules of its own", [EditAutoscaler({"minReplicas": 1, "behavior": AT_ONCE})], hold_periods=6),
        ],
    ),
]

REAL: Final = [
    Scenario(
        "rolling-update",
        [HALF_OF_CPU],
        [
            Step("at rest", [Usage(100)]),
            Step("a new revision changes nothing", [RollOut({"revision": "2"})], hold_periods=8),
            Step("another one, at less load", [RollOut({"revision": "3"}), Usage(60)], hold_periods=8),
        ],
        kind=DEPLOYMENT,
        replicas=3,
        minimum=2,
        behavior=AT_ONCE,
        annotations={READY_AFTER: "1s"},
        sample_window="1s",
    ),
    Scenario(
        "stuck-rollout",
        [HALF_OF_CPU],
        [
            Step("at rest", [Usage(100)]),
            Step("a revision that never gets ready", [RollOut({READY: "false"})]),
            Step("more load while it is stuck", [Usage(150)], hold_periods=8),
            Step("a revision that is well", [RollOut({READY: None, READY_AFTER: None})], hold_periods=4),
            Step("less load", [Usage(20)]),
        ],
        # The revision that is well replaces all pods at once: a sync within that second finds none old enough to tell.
        by_chance=("FailedGetResourceMetric", "FailedComputeMetricsReplicas"),
        kind=DEPLOYMENT,
        replicas=3,
        minimum=2,
        # As far as four more pods go; what may come after their fifteen seconds is not waited for.
        maximum=7,
        behavior=AT_ONCE,
        annotations={READY_AFTER: "1s"},
        sample_window="1s",
    ),
    Scenario(
        "young-pods",
        [HALF_OF_CPU],
        [
            Step("all are too young to tell", [Usage(190)]),
            Step("grown up, on target", [Usage(100)], hold_periods=16),
            Step("busy, and one of three is young", [Usage(150)]),
        ],
        kind=DEPLOYMENT,
        annotations={},
        maximum=3,
        behavior=AT_ONCE,
    ),
    Scenario(
        "rolling-update-and-a-queue",
        [QUEUE],
        [
            Step("three are needed", [queue("30")]),
            Step("five in the midst of a rollout", [RollOut({"revision": "2"}), queue("50")], hold_periods=10),
            Step("two in the midst of a rollout", [RollOut({"revision": "3"}), queue("20")], hold_periods=10),
        ],
        kind=DEPLOYMENT,
        annotations={READY_AFTER: "1s"},
        behavior=AT_ONCE,
    ),
]

TO_ZERO: Final = [
    Scenario(
        "to-zero-and-back",
        [QUEUE],
        [
            Step("at work", [queue("30")]),
            Step("nothing to do", [queue("0")]),
            Step("something to do", [queue("15")]),
            Step("nothing to do again", [queue("0")]),
            Step("a higher minimum", [EditAutoscaler({"minReplicas": 2})]),
        ],
        minimum=0,
        behavior=AT_ONCE,
    ),
    Scenario(
        "object-from-zero",
        [autoscalers.of_object(SERVICE, "hits", value="10"), HALF_OF_CPU],
        [
            Step("idle", [ObjectValue("hits", "0"), Usage(0)]),
            Step("one hit", [ObjectValue("hits", "1")]),
            Step("many, to the maximum", [ObjectValue("hits", "25"), Usage(100)], hold_periods=4),
        ],
        by_chance=("FailedGetObjectMetric", "FailedComputeMetricsReplicas"),
        minimum=0,
        maximum=4,
        behavior=AT_ONCE,
    ),
    Scenario(
        "paused-with-a-minimum-of-zero",
        [QUEUE],
        [
            Step("paused from the beginning", [queue("40")]),
            Step("resumed by hand", [SetReplicas(1)]),
            Step("paused by hand", [SetReplicas(0)]),
            Step("resumed, and scaled to zero", [SetReplicas(1), queue("0")], hold_periods=4),
            Step("back to work", [queue("20")]),
        ],
        replicas=0,
        minimum=0,
        behavior=AT_ONCE,
    ),
    Scenario(
        "cpu-cannot-reach-zero",
        [HALF_OF_CPU, QUEUE],
        [
            Step("cpu keeps one", [Usage(10), queue("0")], hold_periods=4),
            Step("zero by hand", [SetReplicas(0)]),
        ],
        minimum=0,
        behavior=AT_ONCE,
    ),
]
