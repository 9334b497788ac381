"""Advice about a single manifest: replicas, scale target and behavior."""

import difflib
from collections.abc import Iterator
from typing import Any, Final

from controller.decide import quantity
from controller.manifest import metric_advice, names, query_advice, written_advice
from controller.manifest.admission import Admission, Gates
from controller.manifest.findings import Advice
from controller.manifest.tree import Path

_SCALABLE: Final = {
    "apps": ("Deployment", "StatefulSet", "ReplicaSet"),
    "batch": (),
    "extensions": (),
    "": ("ReplicationController",),
}
"""Kinds with a scale subresource in the groups that Kubernetes itself serves, or served."""

_DIRECTIONS: Final = ("scaleUp", "scaleDown")
SYNC_PERIOD_S: Final = 15
"""The default of --horizontal-pod-autoscaler-sync-period."""

_MILLI_PER_UNIT: Final = 1000


def advise(admission: Admission, gates: Gates) -> list[Advice]:
    """All advice about one manifest; of one that is refused only what may explain why."""
    found = list(written_advice.advise(admission))
    if admission.problems:
        return found
    spec = admission.stored["spec"]
    found.extend(_replicas(spec))
    found.extend(_scale_target(spec["scaleTargetRef"]))
    found.extend(metric_advice.advise(spec))
    found.extend(query_advice.advise(admission.stored["metadata"], spec))
    found.extend(_behavior(spec, ("spec", "behavior")))
    if not gates.configurable_tolerance:
        found.extend(_dropped_tolerances(admission))
    return found


def _replicas(spec: dict[str, Any]) -> Iterator[Advice]:
    least, most = spec["minReplicas"], spec["maxReplicas"]
    if least == most:
        yield Advice(
            "replicas-fixed",
            ("spec", "maxReplicas"),
            f"minReplicas and maxReplicas are both {most}, so that no metric ever changes the number of replicas; "
            f"raise maxReplicas",
        )


def _scale_target(reference: dict[str, Any]) -> Iterator[Advice]:
    group, kind = reference.get("apiVersion", "").rpartition("/")[0], reference["kind"]
    kinds = _SCALABLE.get(group)
    if kinds is None or names.means_one_of(kind, kinds):
        return
    homes = [home for home, scalable in _SCALABLE.items() if names.means_one_of(kind, scalable)]
    similar = difflib.get_close_matches(kind.lower(), [known.lower() for known in kinds], n=1)
    if homes:
        remedy = f"write apiVersion: {f'{homes[0]}/v1' if homes[0] else 'v1'}"
    elif similar:
        remedy = f"write {next(known for known in kinds if known.lower() == similar[0])}"
    else:
        remedy = "choose a target that can, such as a Deployment of apps/v1"
    yield Advice(
        "target-not-scalable",
        ("spec", "scaleTargetRef", "kind"),
        f"the API group {group or 'core'!r} has no {kind} that can be scaled, so that every sync fails; {remedy}",
    )


def _behavior(spec: dict[str, Any], path: Path) -> Iterator[Advice]:
    behavior = spec.get("behavior", {})
    if all(behavior.get(direction, {}).get("selectPolicy") == "Disabled" for direction in _DIRECTIONS):
        yield Advice(
            "scaling-disabled",
            path,
            "both directions are Disabled, so that no metric ever changes the number of replicas; enable one",
        )
    elif spec["minReplicas"] == 0 and "scaleUp" in behavior:
        yield from _from_zero(behavior["scaleUp"], (*path, "scaleUp"))
    for direction in _DIRECTIONS:
        if direction in behavior:
            yield from _rules(behavior[direction], direction, (*path, direction))


def _from_zero(rules: dict[str, Any], path: Path) -> Iterator[Advice]:
    """A percentage of no pods is none (§12.7)."""
    kinds = [policy["type"] for policy in rules["policies"]]
    if rules.get("selectPolicy") == "Disabled":
        yield Advice(
            "stuck-at-zero",
            (*path, "selectPolicy"),
            "with scaleUp Disabled nothing ever leaves zero replicas; enable it",
        )
    elif all(kind == "Percent" for kind in kinds) or (rules.get("selectPolicy") == "Min" and "Percent" in kinds):
        remedy = "add a Pods policy" if "Pods" not in kinds else "write selectPolicy: Max"
        yield Advice(
            "stuck-at-zero",
            (*path, "policies"),
            f"a percentage of zero replicas is zero, so that these policies never leave it; {remedy}",
        )


def _rules(rules: dict[str, Any], direction: str, path: Path) -> Iterator[Advice]:
    for index, policy in enumerate(rules["policies"]):
        period_s = policy["periodSeconds"]
        if period_s < SYNC_PERIOD_S and rules.get("selectPolicy") != "Disabled":
            yield Advice(
                "period-short",
                (*path, "policies", index, "periodSeconds"),
                f"replicas change once per sync, every {SYNC_PERIOD_S} s by default, so that {period_s} s allow no "
                f"more than {SYNC_PERIOD_S} s do; raise value instead, or write periodSeconds: {SYNC_PERIOD_S}",
            )
    tolerance = rules.get("tolerance")
    if tolerance is not None and quantity.milli(tolerance) >= _MILLI_PER_UNIT:
        effect = (
            "nothing is ever scaled down"
            if direction == "scaleDown"
            else f"nothing is scaled up below {1 + quantity.parse(tolerance).approximate():g} times the target"
        )
        yield Advice(
            "tolerance-large",
            (*path, "tolerance"),
            f"tolerance is a ratio, and with {tolerance} {effect}; write 0.05 for 5 %",
        )


def _dropped_tolerances(admission: Admission) -> Iterator[Advice]:
    spec = admission.conversion.spec if admission.conversion else admission.given["spec"]
    for direction in _DIRECTIONS:
        if "tolerance" in spec.get("behavior", {}).get(direction, {}):
            yield Advice(
                "tolerance-dropped",
                ("spec", "behavior", direction, "tolerance"),
                "the API server drops tolerance where the feature gate HPAConfigurableTolerance is off; "
                "switch it on or remove the field",
            )
