"""What each metric asks for: a proposal or a failure, by the kind of its source (§6.3, §7)."""

from typing import assert_never

from controller.decide.observed import Reading
from controller.decide.one_number import from_external, from_object
from controller.decide.per_pod import from_pods, from_resource
from controller.decide.result import MetricFailure, Proposal
from controller.decide.situation import Situation
from controller.decide.spec import (
    ContainerResourceMetric,
    ExternalMetric,
    MetricSpec,
    ObjectMetric,
    PodsMetric,
    ResourceMetric,
    UnknownMetric,
)


def propose(metric: MetricSpec, reading: Reading | None, situation: Situation) -> Proposal | MetricFailure:
    """What one metric asks for. A reading that is absent or of another kind than the metric is a failure."""
    match metric:
        case ResourceMetric() | ContainerResourceMetric():
            return from_resource(metric, reading, situation)
        case PodsMetric():
            return from_pods(metric, reading, situation)
        case ObjectMetric():
            return from_object(metric, reading, situation)
        case ExternalMetric():
            return from_external(metric, reading, situation)
        case UnknownMetric():
            error = f"unknown metric source type {metric.type!r}"
            return MetricFailure("InvalidMetricSourceType", error, error, cause="spec")
        case _:
            assert_never(metric)
