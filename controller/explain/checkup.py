"""What will go wrong with HPAs, or does already: each finding with its remedy."""

from collections.abc import Callable, Iterator

from controller.decide.spec import ContainerResourceMetric, ExternalMetric, ObjectMetric, ResourceMetric
from controller.explain.checkup_apis import metrics_apis
from controller.explain.checkup_syncs import held_back, inactive, of_controller, pinned, twins
from controller.explain.facts import Facts, Patient, TargetKey, lacking
from controller.explain.findings import Finding, advice, counted, plural, problem, target_of, verb
from controller.explain.remedies import UNAVAILABLE
from controller.explain.wording import metric_name
from controller.rivals import Rivals


def checked(facts: Facts, wall_ns: int) -> tuple[Finding, ...]:
    """All findings: problems first, each kind by what it is about."""
    rules: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
        _incomprehensible,
        _shared_targets,
        _overlapping,
        _targets,
        _requests,
        _replicas_set,
        metrics_apis,
        _gates,
        _zero,
        of_controller,
        held_back,
        twins,
    )
    found = [finding for rule in rules for finding in rule(facts)]
    found += pinned(facts, wall_ns)
    said = (*UNAVAILABLE, *facts.unavailable.values())
    told: dict[str, tuple[str, ...]] = {key: said for one in found if one.code == "api-unavailable" for key in one.hpas}
    # Whatever it is that an HPA's own problem leads to.
    told |= {one.about: ("",) for one in found if one.severity == "problem"}
    found += inactive(facts, told)
    return tuple(sorted(found, key=lambda one: (one.severity != "problem", one.about, one.code)))


def _incomprehensible(facts: Facts) -> Iterator[Finding]:
    for one in facts.patients:
        if one.problem is not None:
            yield problem(one, "not-understood", f"it cannot be understood: {one.problem}", "correct that field")


def _shared_targets(facts: Facts) -> Iterator[Finding]:
    by_target: dict[TargetKey, list[Patient]] = {}
    for one in facts.patients:
        if one.problem is None:
            by_target.setdefault(one.target, []).append(one)
    for (_, kind, _, name), sharing in by_target.items():
        for one in sharing if len(sharing) > 1 else ():
            others = ", ".join(other.name for other in sharing if other is not one)
            scale = verb("scale", len(sharing) - 1)
            text = f"{others} {scale} the same {kind} {name}, so that all of them stop with AmbiguousSelector"
            yield problem(one, "same-target", text, "put all metrics into one HPA and delete the others")


def _overlapping(facts: Facts) -> Iterator[Finding]:
    """§5.4: pods that two targets' selectors match are nobody's."""
    rivals = Rivals()
    by_key: dict[str, Patient] = {}
    for one in facts.patients:
        target = facts.targets.get(one.target)
        if target is not None and target.selector is not None:
            by_key[one.key] = one
            rivals.register(one.namespace, one.name)
            rivals.store(one.namespace, one.name, target.selector)
    others: dict[str, dict[str, tuple[Patient, Patient]]] = {}
    for owner in by_key.values():
        labels = facts.targets[owner.target].labels
        for key in rivals.sharing(owner.namespace, (labels,)) if labels else ():
            wide = by_key[key]
            if wide.target != owner.target:
                others.setdefault(wide.key, {}).setdefault(owner.key, (wide, owner))
                others.setdefault(owner.key, {}).setdefault(wide.key, (wide, owner))
    for key, pairs in others.items():
        one, (wide, owner) = by_key[key], next(iter(pairs.values()))
        text = (
            f"the selector of {target_of(wide)}, which {wide.name} scales, also matches the pods of "
            f"{target_of(owner)}, which {owner.name} scales: both HPAs stop with AmbiguousSelector"
        )
        if len(pairs) > 1:
            text = (
                f"by labels and selectors {target_of(one)} shares pods with the targets of {counted(tuple(pairs))}: "
                "all of these HPAs stop with AmbiguousSelector"
            )
        yield problem(one, "selectors-overlap", text, "give each workload a label of its own")


def _targets(facts: Facts) -> Iterator[Finding]:
    for one in facts.patients:
        target = facts.targets.get(one.target)
        if target is None or one.problem is not None:
            continue
        if target.scalable is False:
            text = f"{one.spec.target.kind} of {one.spec.target.api_version or 'v1'} has no scale subresource"
            remedy = "choose a target that has one, or correct apiVersion and kind"
            yield problem(one, "target-not-scalable", f"{text}, so that every sync fails", remedy)
        elif target.exists is False:
            text = f"there is no {target_of(one)} in {one.namespace}, so that every sync fails"
            yield problem(one, "target-missing", text, "create it, correct scaleTargetRef, or delete the HPA")


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
                text = (
                    f"the pods of {target_of(one)} have no container {container}, which {metric_name(metric)} measures"
                )
                yield problem(one, "container-missing", text, f"write one of {', '.join(sorted(names))}")
            elif metric.target.average_utilization is not None and metric.target.average_value_milli is None:
                without = lacking(target.requests, metric.name, container)
                if without:
                    text = (
                        f"{plural('container', len(without))} {', '.join(without)} of {target_of(one)} "
                        f"{'has' if len(without) == 1 else 'have'} no request of {metric.name}, of which a utilization "
                        "would be a percentage: the metric fails"
                    )
                    remedy = f"set resources.requests.{metric.name}, or target an averageValue"
                    yield problem(one, "request-missing", text, remedy)


def _replicas_set(facts: Facts) -> Iterator[Finding]:
    for one in facts.patients:
        target = facts.targets.get(one.target)
        if target is not None and target.replicas_from:
            text = (
                f"{target.replicas_from} sets replicas of {target_of(one)}: each time it is applied, scaling is undone"
            )
            yield advice(one, "replicas-set", text, "take spec.replicas out of the manifest")


def _gates(facts: Facts) -> Iterator[Finding]:
    """What the API server stored only because its gate is or was on."""
    if facts.gates is None:
        return
    zero = [one.key for one in facts.patients if one.spec.replicas_min == 0]
    if zero and not facts.gates.scale_to_zero:
        yield _gate("HPAScaleToZero", f"{counted(zero)} with minReplicas 0", zero)
    tolerant = [one.key for one in facts.patients if _sets_tolerance(one)]
    if tolerant and not facts.gates.configurable_tolerance:
        yield _gate("HPAConfigurableTolerance", f"{counted(tolerant)} with a tolerance of their own", tolerant)


def _gate(name: str, seen: str, keys: list[str]) -> Finding:
    text = f"it is or was on in the API server ({seen}), but is off in the controller"
    remedy = f"run the controller with --feature-gates={name}=true"
    return Finding("problem", "gate-differs", name, text, remedy, tuple(keys))


def _sets_tolerance(one: Patient) -> bool:
    behavior = one.spec.behavior
    rules = () if behavior is None else (behavior.scale_up, behavior.scale_down)
    return any(direction.tolerance is not None for direction in rules)


def _zero(facts: Facts) -> Iterator[Finding]:
    for one in facts.patients:
        measured = any(isinstance(metric, ObjectMetric | ExternalMetric) for metric in one.spec.metrics)
        if one.spec.replicas_min == 0 and one.problem is None and not measured:
            text = "minReplicas is 0, but without pods there is no CPU or memory that could call the first one back"
            yield problem(one, "zero-without-signal", text, "add an Object or External metric, or write minReplicas 1")
