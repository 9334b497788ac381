"""What an operator is to see of the HPAs of a scene, and the names and labels of what the controller publishes."""

from __future__ import annotations

import dataclasses

from tests.e2e.metrics_server import Fault

READ = ("True", "SucceededGetScale")
NO_METRIC = ("False", "FailedGetResourceMetric")
IN_RANGE = ("False", "DesiredWithinRange")


@dataclasses.dataclass(frozen=True)
class View:
    """What is shown of an HPA."""

    name: str
    counts: tuple[str, str]
    """How the line of the pods begins, and what it says."""
    metric: tuple[str, str]
    """A line of the metrics."""
    conditions: dict[str, tuple[str, str]]
    said: str
    """The message of the condition that matters, as a pattern."""
    events: dict[str, str]
    """The text of each event by its reason, as a pattern."""


BY_QUEUE = '"queue" (target average value)'
BY_CPU = "resource cpu on pods (as a percentage of request)"
MISSING = r"failed to get cpu utilization: missing request for cpu in container app of Pod frugal-\w+"
AMBIGUOUS = r"pods that the selector 'app=shared' matches .*\[(\S+)/shared-a \1/shared-b\]"
UNSCALABLE = "daemonsets.apps cannot be scaled: they have no scale subresource"
UNKNOWN_KIND = (
    r"unable to determine resource for scale target: no matches for kind 'Gadget' in group 'gadgets\.example\.com'"
)

VIEWS = [
    View(
        "scaling",
        ("Deployment pods", "4 current / 4 desired"),
        (BY_QUEUE, "10 / 10"),
        {
            "AbleToScale": ("True", "ReadyForNewScale"),
            "ScalingActive": ("True", "ValidMetricFound"),
            "ScalingLimited": IN_RANGE,
        },
        r"a replica count was computed from external metric queue\(nil\)",
        {"SuccessfulRescale": r"New size: 4; reason: external metric queue\(nil\) above target"},
    ),
    View(
        "frugal",
        ("Deployment pods", "2 current / 0 desired"),
        (BY_CPU, "<unknown> / 80%"),
        {"AbleToScale": READ, "ScalingActive": NO_METRIC},
        f"the HPA was unable to compute the replica count: {MISSING}",
        {
            "FailedGetResourceMetric": MISSING,
            "FailedComputeMetricsReplicas": r"invalid metrics \(1 invalid out of 1\), first error is: "
            f"failed to get cpu resource metric value: {MISSING}",
        },
    ),
    View(
        "orphan",
        ("Deployment pods", "0 current / 0 desired"),
        (BY_CPU, "<unknown> / 80%"),
        {"AbleToScale": ("False", "FailedGetScale")},
        r'the scale of the target cannot be read: deployments\.apps "gone" not found',
        {"FailedGetScale": r'deployments\.apps "gone" not found'},
    ),
    View(
        "daemon",
        ("DaemonSet pods", "0 current / 0 desired"),
        (BY_CPU, "<unknown> / 80%"),
        {"AbleToScale": ("False", "FailedGetScale")},
        f"the scale of the target cannot be read: {UNSCALABLE}",
        {"FailedGetScale": UNSCALABLE},
    ),
    View(
        "stranger",
        ("Gadget pods", "0 current / 0 desired"),
        (BY_CPU, "<unknown> / 80%"),
        {"AbleToScale": ("False", "FailedGetScale")},
        f"the scale of the target cannot be read: {UNKNOWN_KIND}",
        {"FailedGetScale": UNKNOWN_KIND},
    ),
    View(
        "swarm",
        ("Swarm pods", "2 current / 0 desired"),
        (BY_QUEUE, "<unknown> / 10"),
        {"AbleToScale": READ, "ScalingActive": ("False", "InvalidSelector")},
        "the target's scale has no selector, so its pods cannot be found",
        {"SelectorRequired": "selector is required", "FailedComputeMetricsReplicas": "selector is required"},
    ),
    View(
        "shared-a",
        # Before the two have met in the registry the first of them may have scaled once.
        ("Deployment pods", r"[24] current / [04] desired"),
        (BY_QUEUE, "<unknown> / 10"),
        {"AbleToScale": READ, "ScalingActive": ("False", "AmbiguousSelector")},
        AMBIGUOUS,
        {"AmbiguousSelector": AMBIGUOUS, "FailedComputeMetricsReplicas": AMBIGUOUS},
    ),
    View(
        "paused",
        ("Deployment pods", "0 current / 0 desired"),
        (BY_QUEUE, "<unknown> / 10"),
        {"AbleToScale": READ, "ScalingActive": ("False", "ScalingDisabled")},
        "scaling is paused while the target has zero replicas",
        {},
    ),
]

API_ERRORS = {
    Fault.INTERNAL_ERROR: "the test wants this API to fail",
    Fault.FORBIDDEN: "the test wants this API to refuse",
    Fault.NOT_FOUND: "the test wants this API to know nothing",
    Fault.GARBAGE: "the answer cannot be understood: .*",
    Fault.HANG: "no answer within 30 s",
}
FAULT_EVENTS = {
    "FailedGetResourceMetric",
    "FailedGetPodsMetric",
    "FailedGetObjectMetric",
    "FailedGetExternalMetric",
    "FailedComputeMetricsReplicas",
}

UPSTREAM = "horizontal_pod_autoscaler_controller"
PASS, COMPUTATION = {"action", "error"}, {"action", "error", "metric_type"}
LABELS = {
    f"{UPSTREAM}_reconciliations_total": PASS,
    f"{UPSTREAM}_reconciliation_duration_seconds_bucket": PASS | {"le"},
    f"{UPSTREAM}_metric_computation_total": COMPUTATION,
    f"{UPSTREAM}_metric_computation_duration_seconds_bucket": COMPUTATION | {"le"},
    f"{UPSTREAM}_num_horizontal_pod_autoscalers": set(),
    f"{UPSTREAM}_desired_replicas": {"namespace", "hpa_name"},
    "workqueue_depth": {"name"},
    "workqueue_adds_total": {"name"},
    "workqueue_retries_total": {"name"},
    "workqueue_queue_duration_seconds_bucket": {"name", "le"},
    "workqueue_work_duration_seconds_bucket": {"name", "le"},
    "workqueue_unfinished_work_seconds": {"name"},
    "workqueue_longest_running_processor_seconds": {"name"},
}
