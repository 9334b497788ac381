"""What a sync is counted as, and what is logged of it (§17, §24)."""

import structlog

from controller.decide.observed import Observation, ReadFailure
from controller.decide.result import Conclusion, Decision, MetricFailure, direction
from controller.decide.spec import Autoscaler, metric_type
from controller.gather import Gathered
from controller.ports import Instruments, WatchedAutoscaler

_log = structlog.get_logger(__name__)


def count_metrics(
    instruments: Instruments, autoscaler: Autoscaler, watched: WatchedAutoscaler, decision: Decision, gathered: Gathered
) -> None:
    """§17.4: every metric's proposal against the replicas that the status last reported."""
    if decision.evaluation is None:
        return
    reported = watched.status.replicas_current
    for index, (metric, result) in enumerate(zip(autoscaler.metrics, decision.evaluation.results, strict=True)):
        duration_s = gathered.durations_s[index] if index < len(gathered.durations_s) else 0.0
        kind = metric_type(metric)
        if isinstance(result, MetricFailure):
            instruments.metric_computed("none", result.cause, kind, duration_s)
            continue
        action = direction(result.replicas, reported)
        instruments.metric_computed(action, "none", kind, duration_s)


def count_sync(
    instruments: Instruments,
    watched: WatchedAutoscaler,
    observed: Observation,
    decision: Decision,
    conclusion: Conclusion,
    status_error: str | None,
    duration_s: float,
) -> None:
    """Count and log a sync (§17, §24).

    `status_error`: why its status was not written; None if it was, or had not to be.
    """
    error, cause = conclusion.error, conclusion.cause
    if status_error is not None and conclusion.status_failure_counts:
        error, cause = status_error, "internal"
    elif status_error is not None:
        _log.warning("status could not be written", hpa=watched.key, error=status_error)
    instruments.reconciled(conclusion.action, cause, duration_s)
    if conclusion.replicas_desired is not None:
        instruments.replicas_desired(watched.namespace, watched.name, conclusion.replicas_desired)
    if conclusion.scaled_to is not None:
        _log.info(
            "successfully rescaled",
            hpa=watched.key,
            replicas_current=decision.replicas,
            replicas_desired=conclusion.scaled_to,
            reason=decision.rescale_reason,
        )
    if error is not None:
        # A metric that cannot be read concerns many HPAs at once, and its source has said so, once for all.
        unread = any(isinstance(one, ReadFailure) and one.message in error for one in observed.readings)
        (_log.debug if unread else _log.error)("sync ended with an error", hpa=watched.key, error=error)
