"""Schemas of the group autoscaling: HorizontalPodAutoscaler in v2 and v1."""

from __future__ import annotations

from functools import cache

from controller.lab.schema.metadata import LABEL_SELECTOR, conditions, top_level
from controller.lab.schema.types import (
    INT32,
    INT64,
    QUANTITY,
    STRING,
    TIME,
    ListOf,
    Message,
    Type,
    always,
    plain,
    pointer,
)

_V1 = "io.k8s.api.autoscaling.v1"
_V2 = "io.k8s.api.autoscaling.v2"


@cache
def _reference(package: str) -> Message:
    return Message(
        f"{package}.CrossVersionObjectReference",
        "Names an object of the same namespace by kind and name.",
        {
            "kind": always(STRING, "Kind of the object.", required=True),
            "name": always(STRING, "Name of the object.", required=True),
            "apiVersion": plain(STRING, "API version of the object; only its group matters."),
        },
    )


_IDENTIFIER = Message(
    f"{_V2}.MetricIdentifier",
    "Names a metric of the custom or external metrics API.",
    {
        "name": always(STRING, "Name of the metric.", required=True),
        "selector": pointer(LABEL_SELECTOR, "Restricts the metric to series with these labels."),
    },
)

_TARGET = Message(
    f"{_V2}.MetricTarget",
    "What the metric should come to; give the field that belongs to the type.",
    {
        "type": always(STRING, "Utilization, Value or AverageValue.", required=True),
        "value": pointer(QUANTITY, "Wanted value of the metric as a whole."),
        "averageValue": pointer(QUANTITY, "Wanted value per pod."),
        "averageUtilization": pointer(INT32, "Wanted usage in percent of what the pods request."),
    },
)

_CURRENT = Message(
    f"{_V2}.MetricValueStatus",
    "What the metric was when it was last looked at.",
    {
        "value": pointer(QUANTITY, "Value of the metric as a whole."),
        "averageValue": pointer(QUANTITY, "Value per pod."),
        "averageUtilization": pointer(INT32, "Usage in percent of what the pods request."),
    },
)


def _sources(measure_name: str, measure: Message, suffix: str) -> dict[str, Type]:
    wanted = always(measure, "What it should come to, or what it was.", required=True)
    metric = always(_IDENTIFIER, "The metric.", required=True)
    resource_name = always(STRING, "cpu, memory or another resource.", required=True)
    described = always(_reference(_V2), "The object that the metric describes.", required=True)
    container = always(STRING, "Name of the container.", required=True)
    return {
        "object": Message(
            f"{_V2}.ObjectMetric{suffix}",
            "A metric of one Kubernetes object.",
            {"describedObject": described, measure_name: wanted, "metric": metric},
        ),
        "pods": Message(
            f"{_V2}.PodsMetric{suffix}",
            "A metric of each pod, averaged.",
            {"metric": metric, measure_name: wanted},
        ),
        "resource": Message(
            f"{_V2}.ResourceMetric{suffix}",
            "Use of a resource by whole pods.",
            {"name": resource_name, measure_name: wanted},
        ),
        "containerResource": Message(
            f"{_V2}.ContainerResourceMetric{suffix}",
            "Use of a resource by one container of each pod.",
            {"name": resource_name, measure_name: wanted, "container": container},
        ),
        "external": Message(
            f"{_V2}.ExternalMetric{suffix}",
            "A metric of something outside of the cluster.",
            {"metric": metric, measure_name: wanted},
        ),
    }


_SOURCE_TEXTS = {
    "object": "For type Object.",
    "pods": "For type Pods.",
    "resource": "For type Resource.",
    "containerResource": "For type ContainerResource.",
    "external": "For type External.",
}


def _metric(name: str, description: str, sources: dict[str, Type]) -> Message:
    kinds = "Object, Pods, Resource, ContainerResource or External; the field of that name must be given."
    return Message(
        f"{_V2}.{name}",
        description,
        {
            "type": always(STRING, kinds, required=True),
            **{key: pointer(source, _SOURCE_TEXTS[key]) for key, source in sources.items()},
        },
    )


_RULES = Message(
    f"{_V2}.HPAScalingRules",
    "How fast, and how sure of itself, scaling in one direction is.",
    {
        "stabilizationWindowSeconds": pointer(
            INT32,
            "How long past recommendations count, 0 to 3600; absent: 0 up, the controller's setting down.",
        ),
        "selectPolicy": pointer(STRING, "Max (default) or Min change of the policies, or Disabled."),
        "policies": pointer(
            ListOf(
                Message(
                    f"{_V2}.HPAScalingPolicy",
                    "A limit on the change within a period.",
                    {
                        "type": always(STRING, "Pods or Percent.", required=True),
                        "value": always(INT32, "How much may change; above 0.", required=True),
                        "periodSeconds": always(INT32, "Within how long, 1 to 1800.", required=True),
                    },
                )
            ),
            "The limits; at least one.",
        ),
        "tolerance": pointer(QUANTITY, "How far a metric may be off before anything is done, as 0.05."),
    },
)

BEHAVIOR = Message(
    f"{_V2}.HorizontalPodAutoscalerBehavior",
    "How scaling proceeds in each direction.",
    {
        "scaleUp": pointer(_RULES, "When replicas are added."),
        "scaleDown": pointer(_RULES, "When they are removed."),
    },
)

METRIC_SPEC = _metric("MetricSpec", "One metric to scale by.", _sources("target", _TARGET, "Source"))
METRIC_STATUS = _metric("MetricStatus", "What one metric was.", _sources("current", _CURRENT, "Status"))

HPA_V2 = top_level(
    f"{_V2}.HorizontalPodAutoscaler",
    "Scales a workload so that its metrics come close to their targets.",
    {
        "spec": always(
            Message(
                f"{_V2}.HorizontalPodAutoscalerSpec",
                "What to scale, between which limits, and by what.",
                {
                    "scaleTargetRef": always(_reference(_V2), "What is scaled.", required=True),
                    "minReplicas": pointer(INT32, "Fewest replicas; 1 when absent."),
                    "maxReplicas": always(INT32, "Most replicas; not below minReplicas.", required=True),
                    "metrics": plain(
                        ListOf(METRIC_SPEC),
                        "What to scale by; the largest proposal wins. CPU at 80 % when absent.",
                    ),
                    "behavior": pointer(BEHAVIOR, "Windows and limits of scaling; defaults apply when absent."),
                },
            ),
            "What is wanted.",
        ),
        "status": always(
            Message(
                f"{_V2}.HorizontalPodAutoscalerStatus",
                "What the controller saw and decided.",
                {
                    "observedGeneration": pointer(INT64, "Not filled by the controller."),
                    "lastScaleTime": pointer(TIME, "When the replicas were changed last."),
                    "currentReplicas": plain(INT32, "Replicas at the last look."),
                    "desiredReplicas": always(INT32, "Replicas wanted at the last look.", required=True),
                    "currentMetrics": always(ListOf(METRIC_STATUS), "The metrics at the last look."),
                    "conditions": conditions(f"{_V2}.HorizontalPodAutoscaler"),
                },
            ),
            "What there is.",
        ),
    },
)

HPA_V1 = top_level(
    f"{_V1}.HorizontalPodAutoscaler",
    "Scales a workload by its use of CPU; the older form.",
    {
        "spec": always(
            Message(
                f"{_V1}.HorizontalPodAutoscalerSpec",
                "What to scale, between which limits, and by what.",
                {
                    "scaleTargetRef": always(_reference(_V1), "What is scaled.", required=True),
                    "minReplicas": pointer(INT32, "Fewest replicas; 1 when absent."),
                    "maxReplicas": always(INT32, "Most replicas; not below minReplicas.", required=True),
                    "targetCPUUtilizationPercentage": pointer(INT32, "Wanted use of CPU in percent of requests."),
                },
            ),
            "What is wanted.",
        ),
        "status": always(
            Message(
                f"{_V1}.HorizontalPodAutoscalerStatus",
                "What the controller saw and decided.",
                {
                    "observedGeneration": pointer(INT64, "Not filled by the controller."),
                    "lastScaleTime": pointer(TIME, "When the replicas were changed last."),
                    "currentReplicas": always(INT32, "Replicas at the last look.", required=True),
                    "desiredReplicas": always(INT32, "Replicas wanted at the last look.", required=True),
                    "currentCPUUtilizationPercentage": pointer(INT32, "Use of CPU in percent of requests."),
                },
            ),
            "What there is.",
        ),
    },
)
