"""From the selector check to one proposal out of many, and what failed metrics still permit (§5, §6.1)."""

from controller.decide import conditions, events, selectors
from controller.decide.conditions import Change
from controller.decide.observed import Observation, Scale
from controller.decide.replicas import propose
from controller.decide.result import Evaluation, MetricFailure, Proposal, SelectorProblem
from controller.decide.situation import Situation
from controller.decide.spec import Autoscaler, MetricSpec
from controller.decide.status import MetricStatus

_UNFILLED = MetricStatus()


def selector_problem(scale: Scale, overlapping: tuple[str, ...]) -> SelectorProblem | None:
    """Why the pods of the target cannot be told apart, or None when they can (§5)."""
    if not scale.selector:
        return SelectorProblem("selector is required", conditions.selector_missing(), events.selector_required())
    try:
        selectors.parse(scale.selector)
    except selectors.SelectorError as error:
        text = f"the selector of the target's scale cannot be used: {error}"
        return SelectorProblem(text, conditions.selector_invalid(text), events.selector_invalid(text))
    if len(overlapping) > 1:
        text = (
            f"pods that the selector {scale.selector!r} matches are controlled by several autoscalers: "
            f"[{' '.join(overlapping)}]"
        )
        return SelectorProblem(text, conditions.selector_ambiguous(text), events.selector_ambiguous(text))
    return None


def evaluate(autoscaler: Autoscaler, observation: Observation, situation: Situation) -> Evaluation:
    """Every metric's proposal or failure, and the one count they make together (§6.1)."""
    metrics, readings = autoscaler.metrics, observation.readings
    results = tuple(
        propose(metric, readings[index] if index < len(readings) else None, situation)
        for index, metric in enumerate(metrics)
    )
    best, name = 0, ""
    failures: list[MetricFailure] = []
    for result in results:
        if isinstance(result, MetricFailure):
            failures.append(result)
        elif best == 0 or result.replicas > best:
            best, name = result.replicas, result.name
    error = _combined_error(failures, metrics)
    if len(failures) == len(results) or (failures and best < situation.scale.replicas):
        first = failures[0]
        change: Change = conditions.metric_failed(first.reason, first.error)
        return Evaluation(results, situation.tolerance, None, name, error, change)
    return Evaluation(results, situation.tolerance, best, name, error, conditions.valid_metric(name))


def statuses(evaluation: Evaluation) -> tuple[MetricStatus, ...]:
    """One entry per metric; failed ones keep an empty place (§6.5)."""
    return tuple(result.status if isinstance(result, Proposal) else _UNFILLED for result in evaluation.results)


def _combined_error(failures: list[MetricFailure], metrics: tuple[MetricSpec, ...]) -> str | None:
    if not failures:
        return None
    return f"invalid metrics ({len(failures)} invalid out of {len(metrics)}), first error is: {failures[0].wrapped}"
