"""One sync explained: the sentence, the alternatives, the arithmetic, the limits and the cost."""

from controller.decide.conditions import SCALED_TO_ZERO
from controller.decide.decision import conclude
from controller.decide.result import Conclusion, Decision, Path, Write, WriteFailed, Written
from controller.decide.spec import ContainerResourceMetric, MetricSpec, ResourceMetric, UnknownMetric
from controller.explain.alternatives import Alternatives
from controller.explain.changes import Moment
from controller.explain.limits import held, limited, windows_told
from controller.explain.metrics import binding_index, metrics_told
from controller.explain.search import alternatives
from controller.explain.sections import Explained, MetricTold, Requests
from controller.explain.wording import replicas

_COSTLY = "not everything that might change the outcome was tried: there are very many pods, metrics or rescales"


def explained(moment: Moment, write: Write | None, not_written: str = "", *, search: bool = True) -> Explained:
    """A sync in words.

    `write` is what became of the scale write, `not_written` why there was none although one was to be. `search` False
    leaves out what would have to change, which costs some dozens of decisions.
    """
    decision = moment.decided()
    conclusion = conclude(moment.autoscaler, moment.observation.status, decision, write, moment.now)
    metrics = metrics_told(moment, decision)
    # Where nothing was to be written, the syncs that follow are supposed to write what they decide.
    written = isinstance(write, Written) or not (decision.rescales or not_written)
    found = alternatives(moment, decision, written=written) if search else Alternatives((), complete=False)
    return Explained(
        summary=_summary(moment, decision, metrics, write, not_written),
        not_written=not_written,
        alternatives=found.found,
        alternatives_complete=found.complete,
        metrics=metrics,
        windows=windows_told(moment, decision),
        requests=_requests(moment, conclusion, write, not_written),
        notes=(_COSTLY,) if search and not found.complete else (),
    )


def _summary(
    moment: Moment, decision: Decision, metrics: tuple[MetricTold, ...], write: Write | None, not_written: str
) -> str:
    reasons = [
        reason for reason in (*_asked(decision, metrics), held(moment, decision), limited(moment, decision)) if reason
    ]
    if decision.path is not Path.METRICS:
        reasons = [_of_path(moment, decision, metrics)]
    if decision.lifted_to_min:
        reasons.append(f"lifted from zero to minReplicas {decision.desired}")
    return f"{_done(decision, write, not_written)}: {'; '.join(reasons)}."


def _done(decision: Decision, write: Write | None, not_written: str) -> str:
    """What was done, as the beginning of the sentence."""
    before, after = decision.replicas, decision.desired
    if not decision.rescales:
        return f"Left at {replicas(before)}" if before is not None else "Nothing was decided"
    change = f"from {before} to {replicas(after)}"
    if isinstance(write, WriteFailed):
        return f"Could not be scaled {change} ({write.message})"
    if write is None:
        return f"Would be scaled {change}" if not_written else f"To be scaled {change}, but nothing was written"
    return f"Scaled {change}"


def _asked(decision: Decision, metrics: tuple[MetricTold, ...]) -> tuple[str, ...]:
    """What the binding metric asks for, and which ones failed."""
    index, evaluation = binding_index(decision), decision.evaluation
    failed = tuple(f"{metric.name} failed: {metric.error}" for metric in metrics if metric.error)
    if index is None or evaluation is None:
        return failed
    metric = metrics[index]
    average = "average " if metric.pods_used is not None else ""
    asks = f"which asks for {evaluation.replicas}"
    if "within the tolerance" in metric.arithmetic[-1]:
        # §7.4: what is read for each replica is then left at as many as the status has.
        same = evaluation.replicas == decision.replicas
        asks = "which is within tolerance" + ("" if same else f" for the {evaluation.replicas} of its status")
    assumed = f" ({metric.assumed} with assumptions about the pods that do not count)" if metric.assumed else ""
    return (f"{average}{metric.name} is {metric.current}{assumed}, target {metric.target}, {asks}", *failed)


def _of_path(moment: Moment, decision: Decision, metrics: tuple[MetricTold, ...]) -> str:
    spec, count = moment.autoscaler.spec, decision.replicas
    match decision.path:
        case Path.ABOVE_MAX:
            return f"{count} is more than maxReplicas {spec.replicas_max}; metrics are not looked at"
        case Path.BELOW_MIN:
            return f"{count} is fewer than minReplicas {moment.autoscaler.replicas_min}; metrics are not looked at"
        case Path.PAUSED:
            return _paused(moment)
        case Path.UNDECIDED if any(metric.replicas is not None for metric in metrics):
            return _not_fewer(metrics)
        case _:
            return f"{decision.path.value}: {decision.error}" if decision.error else decision.path.value


def _paused(moment: Moment) -> str:
    """§12.3: by whom zero replicas were set only the condition tells."""
    marked = moment.observation.status.condition(SCALED_TO_ZERO)
    zero, by_us = "the target has zero replicas", marked is not None and marked.status == "True"
    if (by_us or moment.autoscaler.replicas_min == 0) and not moment.autoscaler.settings.gates.scale_to_zero:
        return f"{zero}, which pauses it: the gate HPAScaleToZero is off here"
    if by_us:
        return f"{zero}, which pauses it: no metric of an object, and no external one, could tell when to begin again"
    return f"{zero} without the condition ScaledToZero, which pauses it"


def _not_fewer(metrics: tuple[MetricTold, ...]) -> str:
    """§6.1: while a metric fails the others may ask for more replicas, but not for fewer."""
    asked = [f"{metric.name} asks for {metric.replicas}" for metric in metrics if metric.replicas is not None]
    failed = [f"{metric.name} failed: {metric.error}" for metric in metrics if metric.error]
    return f"{', '.join(asked)}, but nothing is scaled down while a metric fails; {'; '.join(failed)}"


def _requests(moment: Moment, conclusion: Conclusion, write: Write | None, not_written: str) -> Requests:
    withheld = bool(not_written)
    # What withholds may have come up right after the scale was written: then its event is sent, but no status.
    events = () if withheld and write is None else conclusion.events
    return Requests(
        metrics=len({_question(metric) for metric in moment.autoscaler.metrics[: len(moment.observation.readings)]}),
        scale_writes=int(write is not None),
        status_writes=int(conclusion.status_changed and not withheld),
        events=len(events) + (0 if withheld else len(conclusion.events_after_status)),
    )


def _question(metric: MetricSpec) -> tuple[object, ...]:
    """Metrics with the same one are answered by the same request."""
    match metric:
        case ResourceMetric() | ContainerResourceMetric():
            return ("resource",)
        case UnknownMetric(type=kind):
            return (kind,)
        case _:
            return (type(metric).__name__, metric.metric, getattr(metric, "described", None))
