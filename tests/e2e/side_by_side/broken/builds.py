"""Builds of the controller that are broken in one place each, to see that the comparison notices.

A build wraps one function of the core. Each namespace gets the build whose name its own begins with, so that one
process shows all of them at once; in other namespaces the controller is whole.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from controller import judgement, reconcile
from controller.decide import arithmetic, decision, limits, one_number, pods, stabilize
from controller.decide.history import History
from controller.decide.result import MetricFailure, Proposal
from controller.decide.spec import Tolerance
from controller.decide.working import Verdict
from controller.kube import scale

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
    namespace_at: int | None = None
    """Which argument is the namespace; None: the function runs while an HPA is decided on, whose namespace it is."""


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


def _never_paused(original: Callable[..., Any], autoscaler: Any, target: Any, status: Any) -> Any:
    return None if target.replicas == 0 else original(autoscaler, target, status)


def _paused_at_zero(original: Callable[..., Any], autoscaler: Any, target: Any, status: Any) -> Any:
    return original(autoscaler, target, replace(status, conditions=()))


def _young_is_ready(original: Callable[..., Any], *arguments: Any) -> Any:
    verdict_of_pod = original(*arguments)
    return (
        Verdict.READY if verdict_of_pod in (Verdict.SAMPLE_TOO_EARLY, Verdict.INITIALIZING_UNREADY) else verdict_of_pod
    )


def _a_second_longer(original: Callable[..., Any], desired: int, current: int, history: History, *others: Any) -> Any:
    """Every window lasts a second longer: even one of 0 holds what the first sync begins with."""
    later = tuple(replace(past, at_ns=past.at_ns + 10**9) for past in history.recommendations or ())
    return original(desired, current, replace(history, recommendations=later), *others)


def _unversioned(original: Callable[..., Any], *arguments: Any) -> Any:
    """The scale with no version to be held against: whatever happened meanwhile is overwritten."""
    *target, read, wanted = arguments
    return original(*target, replace(read, version=""), wanted)


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
        ("tolerance", "cpu-utilization"),
    ),
    Build("missing-unfilled", arithmetic, "_filled", lambda *_: {}, ("missing-pods", "unready-pods")),
    Build("unready-counted", pods, "_cpu_verdict", lambda *_: Verdict.READY, ("unready-pods",)),
    Build("unready-counted-when-stuck", pods, "_cpu_verdict", lambda *_: Verdict.READY, ("stuck-rollout",)),
    Build("young-counted", pods, "_cpu_verdict", _young_is_ready, ("young-pods",)),
    Build(
        "windows-a-second-longer",
        stabilize,
        "with_behavior",
        _a_second_longer,
        ("no-window-down", "no-window-up"),
    ),
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
        one_number,
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
        _never_paused,
        ("paused-at-zero",),
    ),
    Build("no-resource-version", scale, "scale_to", _unversioned, ("pods-policies",), namespace_at=2),
)
"""Played with the feature gates as they are by default."""

ZERO_BUILDS: tuple[Build, ...] = (
    Build("zero-is-always-pause", decision, "path_before_metrics", _paused_at_zero, ("to-zero-and-back",)),
    Build("zero-is-never-pause", decision, "path_before_metrics", _never_paused, ("paused-with-a-minimum-of-zero",)),
)
"""Played with the feature gate HPAScaleToZero on."""


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
            namespace = self.namespace if build.namespace_at is None else arguments[build.namespace_at]
            if namespace.startswith(f"{build.name}-"):
                return build.instead(original, *arguments, **keywords)
            return original(*arguments, **keywords)

        return chosen


def install() -> None:
    """Breaks the core of this process; to be called once, before the controller starts."""
    switch = _Switch()
    for build in (*BUILDS, *ZERO_BUILDS):
        setattr(build.module, build.function, switch.broken(build, getattr(build.module, build.function)))
    for module, name in itertools.product((reconcile, judgement), ("decide", "conclude")):
        setattr(module, name, switch.entering(getattr(module, name)))
