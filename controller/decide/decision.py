"""One sync's decision, and what becomes of it once its write is known (§4, §12–§14).

`decide` and `conclude` are the whole algorithm as the rest of the program sees it. Both are pure; between them the
reconciler writes the scale.
"""

from msgspec.structs import replace

from controller.decide import conditions, events, limits
from controller.decide.combine import evaluate, selector_problem, statuses
from controller.decide.conditions import Change, applied
from controller.decide.history import History
from controller.decide.instants import Now
from controller.decide.normalize import normalize
from controller.decide.observed import Observation, Scale, ScaleFailure
from controller.decide.result import Conclusion, Decision, MetricFailure, Path, Write, WriteFailed, direction
from controller.decide.situation import Situation
from controller.decide.spec import Autoscaler, tolerance_of
from controller.decide.status import Condition, Status

ABOVE_MAX = "Current number of replicas above Spec.MaxReplicas"
BELOW_MIN = "Current number of replicas below Spec.MinReplicas"


def path_before_metrics(autoscaler: Autoscaler, scale: Scale, status: Status) -> Path | None:
    """The branch that is taken without looking at metrics, or None when they have to be read (§4.7)."""
    if scale.replicas == 0:
        return None if _computes_from_zero(autoscaler, status) else Path.PAUSED
    if scale.replicas > autoscaler.spec.replicas_max:
        return Path.ABOVE_MAX
    if scale.replicas < autoscaler.replicas_min:
        return Path.BELOW_MIN
    return None


def decide(autoscaler: Autoscaler, observation: Observation, history: History, now: Now) -> Decision:
    """What to do about one HPA, with every reason; nothing is raised, whatever was observed.

    `history` is what the previous sync left. `observation` needs pods and readings only where `path_before_metrics`
    gives None.
    """
    scale, status = observation.scale, observation.status
    if isinstance(scale, ScaleFailure):
        return _unreadable(scale, status, history, now)
    history = begun(scale, observation, history, now)
    path = path_before_metrics(autoscaler, scale, status)
    if path is None:
        return _by_metrics(autoscaler, scale, observation, history, now)
    return _without_metrics(path, autoscaler, scale, status, history, now)


def conclude(autoscaler: Autoscaler, previous: Status, decision: Decision, write: Write | None, now: Now) -> Conclusion:
    """What is left to do and to remember after a decision: status, events, history and labels (§13, §14).

    `write` is what became of the scale write, None when none was sent: the decision asks for none, or this HPA is not
    ours to write. `previous` is the status that the decision was made from; `now` the moment after the write.
    """
    if isinstance(write, WriteFailed):
        return _write_failed(previous, decision, write, now)
    changes: tuple[Change, ...] = ()
    emitted, history = decision.events, decision.history
    last_scale_ns, scaled_to = previous.last_scale_ns, None
    replicas, desired = decision.replicas, decision.desired
    if write is not None and replicas is not None and desired is not None:
        changes = (conditions.rescaled(desired), _scaled_to_zero(autoscaler, replicas, desired))
        emitted = (*emitted, events.rescaled(desired, decision.rescale_reason))
        history = rescaled(autoscaler, history, desired - replicas, now.monotonic_ns)
        last_scale_ns, scaled_to = now.wall_ns, desired
    status = _status(previous, decision, applied(decision.conditions, changes, now.wall_ns), last_scale_ns)
    reached_end = desired is not None
    return Conclusion(
        status=status,
        status_changed=status is not previous,
        history=history,
        events=emitted,
        events_after_status=decision.events_after_status,
        scaled_to=scaled_to,
        replicas_desired=desired,
        action="none" if scaled_to is None else direction(scaled_to, replicas or 0),
        cause=decision.cause,
        error=decision.error,
        status_failure_counts=reached_end,
    )


def begun(scale: Scale, observation: Observation, history: History, now: Now) -> History:
    """The history that a sync goes on from: if it is empty, with the replicas that the sync has found (§4.5)."""
    read_ns = observation.scale_read_ns
    return history.begun(scale.replicas, now.monotonic_ns if read_ns is None else read_ns)


def rescaled(autoscaler: Autoscaler, history: History, change: int, monotonic_ns: int) -> History:
    """The history after a rescale by `change` at that time; only HPAs with behavior remember it (§11.6)."""
    behavior = autoscaler.spec.behavior
    if behavior is None or change == 0:
        return history
    rules = behavior.scale_up if change > 0 else behavior.scale_down
    return history.scaled(change, monotonic_ns, limits.longest_period_s(rules))


def _unreadable(scale: ScaleFailure, status: Status, history: History, now: Now) -> Decision:
    """§4.4."""
    changes = (conditions.scale_unreadable(scale.message),)
    return Decision(
        Path.SCALE_UNREADABLE,
        replicas=None,
        desired=None,
        conditions=applied(status.conditions, changes, now.wall_ns),
        history=history,
        events=(events.scale_unreadable(scale.message),),
        metrics=status.metrics,
        error=scale.message,
        cause=scale.cause,
    )


def _without_metrics(
    path: Path, autoscaler: Autoscaler, scale: Scale, status: Status, history: History, now: Now
) -> Decision:
    """Branches a, c and d of §4.7: no stabilization, no rate limit, no metric statuses."""
    changes: tuple[Change, ...] = (conditions.SCALE_READ,)
    desired, reason = 0, ""
    if path is Path.ABOVE_MAX:
        desired, reason = autoscaler.spec.replicas_max, ABOVE_MAX
    elif path is Path.BELOW_MIN:
        desired, reason = autoscaler.replicas_min, BELOW_MIN
    else:
        changes = (*changes, conditions.SCALING_DISABLED)
        if not autoscaler.settings.gates.scale_to_zero:
            changes = (*changes, conditions.SCALED_TO_ZERO_GONE)
    return Decision(
        path,
        replicas=scale.replicas,
        desired=desired,
        conditions=applied(status.conditions, changes, now.wall_ns),
        history=history,
        rescale_reason=reason,
    )


def _by_metrics(autoscaler: Autoscaler, scale: Scale, observation: Observation, history: History, now: Now) -> Decision:
    """§4.8."""
    status = observation.status
    problem = selector_problem(scale, observation.overlapping)
    if problem is not None:
        return Decision(
            Path.SELECTOR_REFUSED,
            replicas=scale.replicas,
            desired=None,
            conditions=applied(status.conditions, (conditions.SCALE_READ, problem.change), now.wall_ns),
            history=history,
            events=(problem.event,),
            events_after_status=(events.replicas_not_computed(problem.error),),
            selector_problem=problem,
            error=problem.error,
            cause="internal",
        )
    situation = Situation(scale, observation.pods, autoscaler.settings, tolerance_of(autoscaler), now)
    evaluation = evaluate(autoscaler, observation, situation)
    failures = tuple(
        events.metric_failed(result.reason, result.error)
        for result in evaluation.results
        if isinstance(result, MetricFailure)
    )
    evaluated = Decision(
        Path.UNDECIDED,
        replicas=scale.replicas,
        desired=None,
        conditions=status.conditions,
        history=history,
        events=failures,
        metrics=statuses(evaluation),
        evaluation=evaluation,
        error=evaluation.error,
        cause="none" if evaluation.error is None else "internal",
    )
    if evaluation.replicas is None:
        return replace(
            evaluated,
            conditions=applied(status.conditions, (conditions.SCALE_READ, evaluation.change), now.wall_ns),
            events_after_status=(events.replicas_not_computed(evaluation.error or ""),),
        )
    return _decided(autoscaler, scale.replicas, status, evaluated, now)


def _decided(autoscaler: Autoscaler, replicas: int, status: Status, evaluated: Decision, now: Now) -> Decision:
    """§4.8 from step 2 on."""
    evaluation = evaluated.evaluation
    assert evaluation is not None and evaluation.replicas is not None  # noqa: S101, PT018 - the caller has looked
    proposed = max(evaluation.replicas, 0)
    reason = _reason(proposed, replicas, evaluation.name)
    stabilization, limit, history = normalize(proposed, replicas, autoscaler, evaluated.history, now.monotonic_ns)
    desired = limit.limited
    lifted = (
        replicas == 0
        and autoscaler.replicas_min != 0
        and _scaled_to_zero_by_us(autoscaler, status)
        and desired < autoscaler.replicas_min
    )
    if lifted:
        desired, reason = autoscaler.replicas_min, reason or BELOW_MIN
    changes = (
        conditions.SCALE_READ,
        evaluation.change,
        stabilization.change,
        conditions.limited(limit.reason),
    )
    return replace(
        evaluated,
        path=Path.METRICS,
        desired=desired,
        conditions=applied(status.conditions, changes, now.wall_ns),
        history=history,
        rescale_reason=reason,
        stabilization=stabilization,
        limit=limit,
        lifted_to_min=lifted,
    )


def _write_failed(previous: Status, decision: Decision, write: WriteFailed, now: Now) -> Conclusion:
    """§13.2: nothing is remembered as scaled, and the desired count of the status stays."""
    assert decision.desired is not None  # noqa: S101 - only a decided count is written
    changes = (conditions.rescale_failed(write.message),)
    status = _status(
        previous,
        replace(decision, desired=None),
        applied(decision.conditions, changes, now.wall_ns),
        previous.last_scale_ns,
    )
    failed = events.rescale_failed(decision.desired, decision.rescale_reason, write.message)
    return Conclusion(
        status=status,
        status_changed=status is not previous,
        history=decision.history,
        events=(*decision.events, failed),
        events_after_status=(),
        scaled_to=None,
        replicas_desired=None,
        action="none",
        cause="internal",
        error=f"failed to rescale: {write.message}",
        status_failure_counts=False,
    )


def _status(
    previous: Status, decision: Decision, new_conditions: tuple[Condition, ...], last_scale_ns: int | None
) -> Status:
    """§14.1; where no count was decided, desiredReplicas stays, and without a scale everything but conditions does.

    Where nothing changes it is the previous one itself, with quantities in the form that they have there.
    """
    if decision.replicas is None:
        status = Status(
            previous.replicas_current,
            previous.replicas_desired,
            previous.last_scale_ns,
            previous.metrics,
            new_conditions,
            previous.observed_generation,
        )
    else:
        desired = previous.replicas_desired if decision.desired is None else decision.desired
        status = Status(decision.replicas, desired, last_scale_ns, decision.metrics, new_conditions)
    return previous if status == previous else status


def _reason(proposed: int, replicas: int, name: str) -> str:
    """The text of a rescale's event, from the count before normalisation (§4.8 step 5)."""
    if proposed > replicas:
        return f"{name} above target"
    return "All metrics below target" if proposed < replicas else ""


def _scaled_to_zero_by_us(autoscaler: Autoscaler, status: Status) -> bool:
    """`scaledToZero` of §12.2."""
    condition = status.condition(conditions.SCALED_TO_ZERO)
    return autoscaler.settings.gates.scale_to_zero and condition is not None and condition.status == "True"


def _computes_from_zero(autoscaler: Autoscaler, status: Status) -> bool:
    """§12.3."""
    return _scaled_to_zero_by_us(autoscaler, status) and (
        autoscaler.replicas_min != 0 or autoscaler.has_object_or_external_metric()
    )


def _scaled_to_zero(autoscaler: Autoscaler, replicas: int, desired: int) -> Change:
    """§12.4."""
    if not autoscaler.settings.gates.scale_to_zero:
        return conditions.SCALED_TO_ZERO_GONE
    to_zero = replicas > 0 and desired == 0 and autoscaler.replicas_min == 0
    if to_zero and autoscaler.has_object_or_external_metric():
        return conditions.SCALED_TO_ZERO_SET
    return conditions.NOT_SCALED_TO_ZERO
