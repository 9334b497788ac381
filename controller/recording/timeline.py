"""A replayed sync in one line for people."""

import math
from collections.abc import Mapping
from typing import Final

from controller.decide.result import Decision, MetricFailure, Path, Proposal
from controller.decide.selectors import debug_text
from controller.decide.working import PodsWorking

BAR_MAX: Final = 24
"""How many replicas a bar can show."""


def line(t_s: float, scaled_to: int | None, decision: Decision, hpa: str = "", *, bars: bool = False) -> str:
    """Time, the HPA if it is named, replicas (drawn as well, if there is room for that) and why, in that order."""
    named = f"{hpa:<24} " if hpa else ""
    drawn = f"{bar(decision.replicas or 0, scaled_to):<{BAR_MAX}} " if bars else ""
    return f"{clock(t_s):>9}  {named}{change(scaled_to, decision):<13} {drawn}{why(decision)}"


def bar(replicas: int, scaled_to: int | None) -> str:
    """A block for every replica: those that stay, those that come (▒), those that go (·); the end is cut off (…)."""
    after = replicas if scaled_to is None else scaled_to
    blocks = min(replicas, after, BAR_MAX), min(after, BAR_MAX), min(replicas, BAR_MAX)
    stay, coming, going = blocks[0], blocks[1] - blocks[0], blocks[2] - blocks[0]
    drawn = "█" * stay + "▒" * coming + "·" * going
    return drawn if max(replicas, after) <= BAR_MAX else drawn[:-1] + "…"


def clock(t_s: float) -> str:
    """Seconds since the start, with a tenth where there is a fraction."""
    return f"{t_s:.0f} s" if t_s == int(t_s) else f"{t_s:.1f} s"


def change(scaled_to: int | None, decision: Decision) -> str:
    """The replicas that were there, and what they were scaled to or (✗) could not be."""
    replicas = "?" if decision.replicas is None else str(decision.replicas)
    if scaled_to is not None:
        return f"{replicas} → {scaled_to}"
    return f"{replicas} ✗ {decision.desired}" if decision.rescales else replicas


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


def ratios(decision: Decision) -> Mapping[str, float]:
    """Usage over target by metric, where it could be computed."""
    found: dict[str, float] = {}
    for result in () if decision.evaluation is None else decision.evaluation.results:
        if isinstance(result, Proposal):
            working = result.working
            found[_named(result)] = working.usage.ratio if isinstance(working, PodsWorking) else working.ratio
    return found


def highest_ratio(decision: Decision) -> float | None:
    """That of the metric that is furthest above its target, or least below it.

    None where there is none: of no replicas, some are infinite or NaN.
    """
    return max(filter(math.isfinite, ratios(decision).values()), default=None)


def _named(result: Proposal) -> str:
    """What it is reported as, with what tells it from others that are reported as the same."""
    status = result.status
    if status.container:
        return f"{result.name} of container {status.container}"
    name = result.name if status.described is None else f"{result.name} of {status.described.name}"
    selector = None if status.metric is None or status.type == "External" else status.metric.selector
    return name if selector is None else f"{name} with {debug_text(selector)}"
