"""What will go wrong with HPAs, or does already: each finding with its remedy."""

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Final, Literal

import msgspec

from controller.decide import conditions
from controller.decide.instants import NANOSECONDS
from controller.decide.spec import (
    ContainerResourceMetric,
    ExternalMetric,
    MetricSpec,
    ObjectMetric,
    PodsMetric,
    ResourceMetric,
)
from controller.explain.facts import Facts, Patient, Target, TargetKey, lacking
from controller.explain.wording import duration, metric_name

PINNED_NS: Final = 15 * 60 * NANOSECONDS
"""For how long an HPA has to be at its maximum to be worth a word."""

STALE_S: Final = 300.0
_SHOWN: Final = 3
_APIS: Final[tuple[tuple[tuple[type[MetricSpec], ...], tuple[str, ...], tuple[str, ...], str], ...]] = (
    (
        (ResourceMetric, ContainerResourceMetric),
        ("Resource", "ContainerResource"),
        ("metrics.k8s.io/v1beta1",),
        "install metrics-server",
    ),
    (
        (PodsMetric, ObjectMetric),
        ("Pods", "Object"),
        ("custom.metrics.k8s.io/v1beta2", "custom.metrics.k8s.io/v1beta1"),
        "install an adapter, such as prometheus-adapter",
    ),
    (
        (ExternalMetric,),
        ("External",),
        ("external.metrics.k8s.io/v1beta1",),
        "install an adapter, such as KEDA or prometheus-adapter",
    ),
)
"""Kinds of metrics, as specs and as statuses have them, the APIs they are read from, and what provides these."""


class Finding(msgspec.Struct, frozen=True):
    """Something to see to. `code` names the rule and never changes; `about` is an HPA's key, or what it concerns."""

    severity: Literal["problem", "advice"]
    code: str
    about: str
    text: str
    remedy: str


def checked(facts: Facts, wall_ns: int) -> tuple[Finding, ...]:
    """All findings: problems first, each kind by what it is about."""
    rules: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
        _incomprehensible,
        _shared_targets,
        _overlapping,
        _targets,
        _requests,
        _replicas_set,
        _apis,
        _gates,
        _zero,
        _of_controller,
    )
    found = [finding for rule in rules for finding in rule(facts)]
    found += _pinned(facts, wall_ns)
    troubled = {finding.about for finding in found if finding.severity == "problem"}
    found += [one for one in _inactive(facts) if one.about not in troubled]
    return tuple(sorted(found, key=lambda one: (one.severity != "problem", one.about, one.code)))


def _incomprehensible(facts: Facts) -> Iterator[Finding]:
    for one in facts.patients:
        if one.problem is not None:
            yield _problem(one, "not-understood", f"it cannot be understood: {one.problem}", "correct that field")


def _shared_targets(facts: Facts) -> Iterator[Finding]:
    by_target: dict[TargetKey, list[Patient]] = {}
    for one in facts.patients:
        if one.problem is None:
            by_target.setdefault(one.target, []).append(one)
    for (_, kind, _, name), sharing in by_target.items():
        for one in sharing if len(sharing) > 1 else ():
            others = ", ".join(other.name for other in sharing if other is not one)
            text = f"{others} scales the same {kind} {name}, so that all of them stop with AmbiguousSelector"
            yield _problem(one, "same-target", text, "put all metrics into one HPA and delete the others")


def _overlapping(facts: Facts) -> Iterator[Finding]:
    """§5.4: pods that two targets' selectors match are nobody's."""
    namespaces: dict[str, list[tuple[Patient, Target]]] = {}
    for one in facts.patients:
        target = facts.targets.get(one.target)
        if target is not None and target.selector is not None:
            namespaces.setdefault(one.namespace, []).append((one, target))
    for members in namespaces.values():
        for (one, left), (other, right) in combinations(members, 2):
            if one.target == other.target:
                continue
            for matching, matched, owner in ((left, right, other), (right, left, one)):
                if matching.selector is not None and matched.labels and matching.selector.matches(matched.labels):
                    loser = one if owner is other else other
                    text = (
                        f"the selector of {_target(loser)} also matches the pods of {_target(owner)}, which "
                        f"{owner.name} scales: both HPAs stop with AmbiguousSelector"
                    )
                    yield _problem(loser, "selectors-overlap", text, "give each workload a label of its own")
                    break


def _targets(facts: Facts) -> Iterator[Finding]:
    for one in facts.patients:
        target = facts.targets.get(one.target)
        if target is None or one.problem is not None:
            continue
        if target.scalable is False:
            text = f"{one.spec.target.kind} of {one.spec.target.api_version or 'v1'} has no scale subresource"
            remedy = "choose a target that has one, or correct apiVersion and kind"
            yield _problem(one, "target-not-scalable", f"{text}, so that every sync fails", remedy)
        elif target.exists is False:
            text = f"there is no {_target(one)} in {one.namespace}, so that every sync fails"
            yield _problem(one, "target-missing", text, "create it, correct scaleTargetRef, or delete the HPA")


def _requests(facts: Facts) -> Iterator[Finding]:
    for one in facts.patients:
        target = facts.targets.get(one.target)
        if target is None or target.requests is None:
            continue
        for metric in one.spec.metrics:
            if not isinstance(metric, ResourceMetric | ContainerResourceMetric):
                continue
            container = metric.container if isinstance(metric, ContainerResourceMetric) else ""
            sidecars = (every for every in target.requests.init_containers if every.restartable)
            names = {every.name for every in (*target.requests.containers, *sidecars)}
            if container and container not in names:
                text = f"the pods of {_target(one)} have no container {container}, which {metric_name(metric)} measures"
                yield _problem(one, "container-missing", text, f"write one of {', '.join(sorted(names))}")
            elif metric.target.average_utilization is not None and metric.target.average_value_milli is None:
                without = lacking(target.requests, metric.name, container)
                if without:
                    text = (
                        f"{_plural('container', without)} {', '.join(without)} of {_target(one)} "
                        f"{'has' if len(without) == 1 else 'have'} no request of {metric.name}, of which a utilization "
                        "would be a percentage: the metric fails"
                    )
                    remedy = f"set resources.requests.{metric.name}, or target an averageValue"
                    yield _problem(one, "request-missing", text, remedy)


def _replicas_set(facts: Facts) -> Iterator[Finding]:
    for one in facts.patients:
        target = facts.targets.get(one.target)
        if target is not None and target.replicas_from:
            text = f"{target.replicas_from} sets replicas of {_target(one)}: each time it is applied, scaling is undone"
            yield _advice(one, "replicas-set", text, "take spec.replicas out of the manifest")


def _apis(facts: Facts) -> Iterator[Finding]:
    if facts.served is None:
        return
    for kinds, measured, versions, remedy in _APIS:
        asking = [
            one.key
            for one in facts.patients
            if any(isinstance(metric, kinds) for metric in one.spec.metrics) and not _measured(one, measured)
        ]
        if not asking:
            continue
        group = versions[0].partition("/")[0]
        broken = {version: facts.unavailable[version] for version in versions if version in facts.unavailable}
        working = [version for version in versions if version in facts.served and version not in broken]
        if working:
            continue
        if broken:
            version, reason = next(iter(broken.items()))
            text = f"{version} is registered but does not work ({reason}), and {_counted(asking)} need it"
            mend = "look at the pods and the Service behind the APIService"
            yield Finding("problem", "api-unavailable", group, text, mend)
        else:
            yield Finding(
                "problem", "api-missing", group, f"it is not served, and {_counted(asking)} scale on it", remedy
            )


def _measured(one: Patient, types: tuple[str, ...]) -> bool:
    """Whether its last sync had a value of these: a controller may have sources of its own, such as Prometheus."""
    active = one.status.condition(conditions.SCALING_ACTIVE)
    scales = active is not None and active.status == "True"
    return scales and any(metric.type in types for metric in one.status.metrics)


def _gates(facts: Facts) -> Iterator[Finding]:
    """What the API server stored only because its gate is or was on."""
    if facts.gates is None:
        return
    zero = [one.key for one in facts.patients if one.spec.replicas_min == 0]
    if zero and not facts.gates.scale_to_zero:
        yield _gate("HPAScaleToZero", f"{_counted(zero)} with minReplicas 0")
    tolerant = [one.key for one in facts.patients if _sets_tolerance(one)]
    if tolerant and not facts.gates.configurable_tolerance:
        yield _gate("HPAConfigurableTolerance", f"{_counted(tolerant)} with a tolerance of their own")


def _gate(name: str, seen: str) -> Finding:
    text = f"it is or was on in the API server ({seen}), but is off in the controller"
    return Finding("problem", "gate-differs", name, text, f"run the controller with --feature-gates={name}=true")


def _sets_tolerance(one: Patient) -> bool:
    behavior = one.spec.behavior
    rules = () if behavior is None else (behavior.scale_up, behavior.scale_down)
    return any(direction.tolerance is not None for direction in rules)


def _zero(facts: Facts) -> Iterator[Finding]:
    for one in facts.patients:
        measured = any(isinstance(metric, ObjectMetric | ExternalMetric) for metric in one.spec.metrics)
        if one.spec.replicas_min == 0 and one.problem is None and not measured:
            text = "minReplicas is 0, but without pods there is no CPU or memory that could call the first one back"
            yield _problem(one, "zero-without-signal", text, "add an Object or External metric, or write minReplicas 1")


def _of_controller(facts: Facts) -> Iterator[Finding]:
    """What only the controller knows."""
    for one in facts.patients:
        row = (facts.rows or {}).get(one.key)
        if row is None:
            continue
        if row.not_written == "foreign-writer":
            text = "another controller writes it, so that ours leaves it alone"
            remedy = "switch the other one off (--controllers=*,-horizontal-pod-autoscaler-controller)"
            yield _problem(one, "foreign-writer", text, remedy)
        # A row's age goes on after the sync; how late that is is another matter.
        age_s = None if row.data_age_s is None else row.data_age_s - (row.synced_s or 0.0)
        if age_s is not None and age_s > STALE_S:
            age = duration(round(age_s * NANOSECONDS))
            text = f"its last decision rests on data of {row.metric} that is {age} old"
            yield _problem(one, "metrics-stale", text, "look at the source of that metric and at its clock")


def _pinned(facts: Facts, wall_ns: int) -> Iterator[Finding]:
    for one in facts.patients:
        limited = one.status.condition(conditions.SCALING_LIMITED)
        if limited is None or limited.status != "True" or limited.reason != "TooManyReplicas" or not limited.changed_ns:
            continue
        since_ns = wall_ns - limited.changed_ns
        if one.status.replicas_current >= one.spec.replicas_max and since_ns >= PINNED_NS:
            text = f"it has wanted more than maxReplicas {one.spec.replicas_max} for {duration(since_ns)}"
            remedy = (
                f"raise maxReplicas, or look at the load: `hpa-controller explain {one.key}` says how many it wants"
            )
            yield _advice(one, "pinned-at-max", text, remedy)


def _inactive(facts: Facts) -> Iterator[Finding]:
    for one in facts.patients:
        able, active = map(one.status.condition, (conditions.ABLE_TO_SCALE, conditions.SCALING_ACTIVE))
        row = (facts.rows or {}).get(one.key)
        remedy = f"`hpa-controller explain {one.key}` says what is missing"
        if able is not None and able.status == "False":
            yield _problem(one, "scaling-inactive", f"it does not scale: {able.reason}: {able.message}", remedy)
        elif active is not None and active.status == "False" and active.reason != "ScalingDisabled":
            yield _problem(one, "scaling-inactive", f"it does not scale: {active.reason}: {active.message}", remedy)
        elif row is not None and row.error and row.limited_by in ("error", "failed"):
            yield _problem(one, "scaling-inactive", f"it does not scale: {row.error}", remedy)


def _target(one: Patient) -> str:
    return f"{one.spec.target.kind} {one.spec.target.name}"


def _problem(one: Patient, code: str, text: str, remedy: str) -> Finding:
    return Finding("problem", code, one.key, text, remedy)


def _advice(one: Patient, code: str, text: str, remedy: str) -> Finding:
    return Finding("advice", code, one.key, text, remedy)


def _plural(noun: str, items: tuple[str, ...]) -> str:
    return noun if len(items) == 1 else f"{noun}s"


def _counted(keys: list[str]) -> str:
    shown = ", ".join(sorted(keys)[:_SHOWN])
    more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
    return f"{len(keys)} HPA{'s' if len(keys) > 1 else ''} ({shown}{more})"
