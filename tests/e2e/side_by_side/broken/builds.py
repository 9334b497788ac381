"""Builds of the controller that are broken in one place each, to see that the comparison notices.

A build wraps one function of the core. Each namespace gets the build whose name its own begins with, so that one
process shows all of them at once; in other namespaces the controller is whole.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from controller import reconcile, verdict
from controller.decide import arithmetic, decision, limits, pods, replicas, stabilize
from controller.decide.result import MetricFailure, Proposal, Verdict
from controller.decide.spec import Tolerance

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


@dataclasses.dataclass(frozen=True)
class Build:
    """One breakage: the function that is wrapped, and what is called instead with that function first."""

    name: str
    module: ModuleType
    function: str
    instead: Callable[..., Any]
    scenarios: tuple[str, ...]
    """Those of which at least one has to tell."""


def _forget_recommendations(original: Callable[..., Any], desired: int, *arguments: Any) -> Any:
    forgetful = [replace(one, recommendations=()) if hasattr(one, "recommendations") else one for one in arguments]
    return original(desired, *forgetful)


def _last_wins(original: Callable[..., Any], *arguments: Any) -> Any:
    evaluation = original(*arguments)
    proposals = [result for result in evaluation.results if isinstance(result, Proposal)]
    if evaluation.replicas is None or not proposals:
        return evaluation
    return replace(evaluation, replicas=proposals[-1].replicas, name=proposals[-1].name)


def _shrink_on_failure(original: Callable[..., Any], *arguments: Any) -> Any:
    evaluation = original(*arguments)
    proposals = [result for result in evaluation.results if isinstance(result, Proposal)]
    failed = any(isinstance(result, MetricFailure) for result in evaluation.results)
    if not failed or not proposals:
        return evaluation
    best = max(proposals, key=lambda proposal: proposal.replicas)
    return replace(evaluation, replicas=best.replicas, name=best.name)


def _smallest_is_largest(original: Callable[..., Any], rules: Any, *arguments: Any, **keywords: Any) -> Any:
    return original(replace(rules, select="Max") if rules.select == "Min" else rules, *arguments, **keywords)


def _percent_cut_off(original: Callable[..., Any], start: int, policy: Any) -> Any:
    return start + start * policy.value // 100 if policy.type == "Percent" else original(start, policy)


BUILDS: tuple[Build, ...] = (
    Build(
        "no-stabilization",
        stabilize,
        "with_behavior",
        _forget_recommendations,
        ("scale-down-window", "scale-up-window"),
    ),
    Build("no-flag-window", stabilize, "without_behavior", _forget_recommendations, ("flag-window",)),
    Build(
        "wide-tolerance",
        decision,
        "tolerance_of",
        lambda _original, _autoscaler: Tolerance(0.2, 0.2),
        ("cpu-utilization", "tolerance-per-direction"),
    ),
    Build("missing-unfilled", arithmetic, "_filled", lambda *_: {}, ("missing-pods", "unready-pods")),
    Build("unready-counted", pods, "_cpu_verdict", lambda *_: Verdict.READY, ("unready-pods",)),
    Build("last-metric-wins", decision, "evaluate", _last_wins, ("largest-wins",)),
    Build("shrinks-on-failure", decision, "evaluate", _shrink_on_failure, ("partial-failure",)),
    Build(
        "rivals-ignored",
        decision,
        "selector_problem",
        lambda original, scale, _overlapping: original(scale, ()),
        ("ambiguous-selector",),
    ),
    Build("smallest-is-largest", limits, "_selected", _smallest_is_largest, ("smallest-policy",)),
    Build("percent-cut-off", limits, "_bound_up", _percent_cut_off, ("percent-policies",)),
    Build(
        "every-pod-ready",
        replicas,
        "count_ready",
        lambda _original, present: len(present),
        ("object-counts-ready-pods",),
    ),
    Build(
        "rescales-forgotten",
        decision,
        "rescaled",
        lambda _original, _autoscaler, history, *_: history,
        ("pods-policies",),
    ),
    Build(
        "never-paused",
        decision,
        "path_before_metrics",
        lambda original, autoscaler, scale, status: (
            None if scale.replicas == 0 else original(autoscaler, scale, status)
        ),
        ("paused-at-zero",),
    ),
)


class _Switch:
    """Which build is on: that of the HPA in hand. Decisions are synchronous, so one at a time is in hand."""

    def __init__(self) -> None:
        self.namespace = ""

    def entering(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with the switch set by its first argument, an HPA, as long as it runs."""

        def switched(autoscaler: Any, *arguments: Any) -> Any:
            self.namespace = autoscaler.namespace
            try:
                return original(autoscaler, *arguments)
            finally:
                self.namespace = ""

        return switched

    def broken(self, build: Build, original: Callable[..., Any]) -> Callable[..., Any]:
        """The function, broken where the build is on."""

        def chosen(*arguments: Any, **keywords: Any) -> Any:
            if self.namespace.startswith(f"{build.name}-"):
                return build.instead(original, *arguments, **keywords)
            return original(*arguments, **keywords)

        return chosen


def install() -> None:
    """Breaks the core of this process; to be called once, before the controller starts."""
    switch = _Switch()
    for build in BUILDS:
        setattr(build.module, build.function, switch.broken(build, getattr(build.module, build.function)))
    for module, name in itertools.product((reconcile, verdict), ("decide", "conclude")):
        setattr(module, name, switch.entering(getattr(module, name)))
