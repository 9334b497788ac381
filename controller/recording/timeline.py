"""A replayed sync in one line for people."""

from controller.decide.result import Decision, MetricFailure, Path
from controller.recording.format import Outcome, Tick


def line(tick: Tick, outcome: Outcome, decision: Decision) -> str:
    """Time, replicas and why, in that order."""
    replicas = "?" if decision.replicas is None else str(decision.replicas)
    if decision.rescales and outcome.scaled_to is None:
        change = f"{replicas} ✗ {decision.desired}"
    elif outcome.scaled_to is not None:
        change = f"{replicas} → {outcome.scaled_to}"
    else:
        change = replicas
    return f"{tick.t:>7} s  {change:<13} {why(decision)}"


def why(decision: Decision) -> str:
    """The reasons of a decision, in the order in which they took effect."""
    if decision.path is not Path.METRICS:
        return f"{decision.path.value}{_errors(decision)}"
    assert decision.evaluation is not None  # noqa: S101 - the metrics path evaluates
    parts = [f"metrics want {decision.evaluation.replicas} ({decision.evaluation.name})"]
    stabilization, limit = decision.stabilization, decision.limit
    if stabilization is not None and stabilization.stabilized != stabilization.desired:
        held = stabilization.change.reason
        parts.append(f"{held} at {stabilization.stabilized}")
    if limit is not None and limit.reason != "DesiredWithinRange":
        parts.append(f"{limit.reason} at {limit.limited}")
    if decision.lifted_to_min:
        parts.append(f"lifted from zero to the minimum {decision.desired}")
    return "; ".join(parts) + _errors(decision)


def _errors(decision: Decision) -> str:
    if decision.evaluation is not None:
        failed = [result.error for result in decision.evaluation.results if isinstance(result, MetricFailure)]
        return "".join(f"; failed: {error}" for error in failed)
    return f": {decision.error}" if decision.error else ""
