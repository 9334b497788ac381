"""Validation of a spec on create (§21.3), with messages that say what to write instead."""

from collections.abc import Iterator
from typing import Any, Final

from controller.decide import quantity
from controller.manifest import names
from controller.manifest.findings import FORBIDDEN, INVALID, NOT_SUPPORTED, REQUIRED, Problem
from controller.manifest.tree import Path

STABILIZATION_WINDOW_S_MAX: Final = 3600
PERIOD_S_MAX: Final = 1800

SOURCES: Final = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
"""The key of the source that belongs to a metric's type, in the order in which the API server looks for one."""

TARGET_TYPES: Final = ("Utilization", "Value", "AverageValue")
SELECT_POLICIES: Final = ("Max", "Min", "Disabled")
POLICY_TYPES: Final = ("Pods", "Percent")


def problems(spec: dict[str, Any], *, scale_to_zero: bool) -> list[Problem]:
    """All that is wrong with a decoded and completed spec; `scale_to_zero` is the gate HPAScaleToZero."""
    path: Path = ("spec",)
    return [
        *_replicas(spec, path, scale_to_zero=scale_to_zero),
        *_reference(
            spec["scaleTargetRef"],
            (*path, "scaleTargetRef"),
            needs_group=spec["scaleTargetRef"]["kind"] != "ReplicationController",
        ),
        *_metrics(spec, (*path, "metrics")),
        *_behavior(spec.get("behavior", {}), (*path, "behavior")),
    ]


def _replicas(spec: dict[str, Any], path: Path, *, scale_to_zero: bool) -> Iterator[Problem]:
    least, most = spec["minReplicas"], spec["maxReplicas"]
    if least < (0 if scale_to_zero else 1):
        remedy = "0 or more" if scale_to_zero else "1 or more"
        if least == 0:
            remedy += "; 0 is allowed only where the alpha feature gate HPAScaleToZero is on, in the API server too"
        yield Problem((*path, "minReplicas"), INVALID, f"{least} is too small; write {remedy}")
    if most == 0:
        yield Problem((*path, "maxReplicas"), REQUIRED, "write the largest number of replicas, 1 or more")
    elif most < 0:
        yield Problem((*path, "maxReplicas"), INVALID, f"{most} is negative; write 1 or more")
    if most < least:
        yield Problem(
            (*path, "maxReplicas"), INVALID, f"{most} is smaller than minReplicas; write {max(least, 1)} or more"
        )


def _reference(reference: dict[str, Any], path: Path, *, needs_group: bool) -> Iterator[Problem]:
    for field, example in (("kind", "Deployment"), ("name", "web")):
        value = reference[field]
        if not value:
            yield Problem((*path, field), REQUIRED, f"write the {field} of the object, such as {example}")
        for complaint in names.path_segment(value):
            yield Problem((*path, field), INVALID, f"{value!r} {complaint}")
    api_version = reference.get("apiVersion", "")
    if api_version.count("/") > 1:
        yield Problem(
            (*path, "apiVersion"),
            INVALID,
            f"{api_version!r} has more than one slash; write group/version, as in apps/v1",
        )
    elif needs_group and not api_version.rpartition("/")[0]:
        yield Problem(
            (*path, "apiVersion"), INVALID, f"{api_version!r} names no API group; write group/version, as in apps/v1"
        )


# --- metrics -------------------------------------------------------------------------------------


def _metrics(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    for index, metric in enumerate(spec["metrics"]):
        yield from _metric(metric, (*path, index))
    if spec["minReplicas"] == 0 and not any(metric["type"] in ("Object", "External") for metric in spec["metrics"]):
        yield Problem(
            path,
            FORBIDDEN,
            "with minReplicas 0 at least one metric must be of type Object or External, for without pods there is no "
            "other; add one or write minReplicas: 1",
        )


def _metric(metric: dict[str, Any], path: Path) -> Iterator[Problem]:
    kind = metric["type"]
    if not kind:
        yield Problem((*path, "type"), REQUIRED, f"write one of {', '.join(SOURCES)}")
    if kind not in SOURCES:
        unsupported = Problem((*path, "type"), NOT_SUPPORTED, f"{kind!r} is none of {', '.join(SOURCES)}")
        # The API server finds this twice.
        yield unsupported
        yield unsupported
    present = [source for source in SOURCES.values() if source in metric]
    if present:
        yield from _source(present[0], metric[present[0]], (*path, present[0]))
    expected = SOURCES.get(kind)
    if expected is not None and expected not in metric:
        found = f", not under {present[0]!r}" if present else ""
        yield Problem((*path, expected), REQUIRED, f"a metric of type {kind} is described under {expected!r}{found}")
    if len(present) > 1:
        for source in present:
            if source != expected:
                remedy = f"keep only {expected!r}" if expected in present else "keep only one"
                yield Problem(
                    (*path, source),
                    FORBIDDEN,
                    f"an entry holds one metric; {remedy} and make others entries of their own",
                )


def _source(name: str, source: dict[str, Any], path: Path) -> Iterator[Problem]:
    if name == "object":
        yield from _reference(source["describedObject"], (*path, "describedObject"), needs_group=False)
    if name in ("resource", "containerResource"):
        yield from _resource(name, source, path)
    else:
        metric = source["metric"]["name"]
        if not metric:
            yield Problem((*path, "metric", "name"), REQUIRED, "write the name of the metric")
        for complaint in names.path_segment(metric):
            yield Problem((*path, "metric", "name"), INVALID, f"{metric!r} {complaint}")
    target = source["target"]
    yield from _target(target, (*path, "target"))
    yield from _target_of(name, target, (*path, "target"))


def _resource(name: str, source: dict[str, Any], path: Path) -> Iterator[Problem]:
    resource = source["name"]
    if not resource:
        yield Problem((*path, "name"), REQUIRED, "write the resource, such as cpu or memory")
    if name == "resource":
        return
    if resource:
        for complaint in names.container_resource(resource):
            yield Problem((*path, "name"), INVALID, f"{resource!r} {complaint}")
    container = source["container"]
    if not container:
        yield Problem((*path, "container"), REQUIRED, "write the name of a container of the pods")
    else:
        for complaint in names.dns_label(container):
            yield Problem((*path, "container"), INVALID, f"{container!r} {complaint}")


def _target(target: dict[str, Any], path: Path) -> Iterator[Problem]:
    if not target["type"]:
        yield Problem((*path, "type"), REQUIRED, f"write one of {', '.join(TARGET_TYPES)}")
    if target["type"] not in TARGET_TYPES:
        yield Problem((*path, "type"), INVALID, f"{target['type']!r} is none of {', '.join(TARGET_TYPES)}")
    for field in ("value", "averageValue"):
        if field in target and quantity.parse(target[field]).sign() != 1:
            yield Problem((*path, field), INVALID, f"{target[field]} is not greater than 0; write a positive quantity")
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        yield Problem(
            (*path, "averageUtilization"), INVALID, f"{utilization} is smaller than 1; write a percentage, such as 80"
        )


def _target_of(source: str, target: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The fields that each source needs, and those that exclude each other."""
    value, average, utilization = (field in target for field in ("value", "averageValue", "averageUtilization"))
    match source:
        case "object" | "external" if not value and not average:
            yield Problem((*path, "averageValue"), REQUIRED, "write averageValue (per pod) or value (in total)")
        case "external" if value and average:
            yield Problem((*path, "value"), FORBIDDEN, "an External metric has value or averageValue; remove one")
        case "pods" if not average:
            yield Problem((*path, "averageValue"), REQUIRED, "write what the pods should have on average")
        case "resource" | "containerResource" if not utilization and not average:
            yield Problem(
                (*path, "averageUtilization"),
                REQUIRED,
                "write averageUtilization (percent of the request) or averageValue (an amount)",
            )
        case "resource" | "containerResource" if utilization and average:
            yield Problem((*path, "averageValue"), FORBIDDEN, "averageUtilization is set as well; remove one")
        case _:
            pass


# --- behavior ------------------------------------------------------------------------------------


def _behavior(behavior: dict[str, Any], path: Path) -> Iterator[Problem]:
    for direction in ("scaleUp", "scaleDown"):
        if direction in behavior:
            yield from _rules(behavior[direction], (*path, direction))


def _rules(rules: dict[str, Any], path: Path) -> Iterator[Problem]:
    window_s = rules.get("stabilizationWindowSeconds")
    if window_s is not None and not 0 <= window_s <= STABILIZATION_WINDOW_S_MAX:
        yield Problem(
            (*path, "stabilizationWindowSeconds"),
            INVALID,
            f"{window_s} is not between 0 and {STABILIZATION_WINDOW_S_MAX} (one hour)",
        )
    select = rules.get("selectPolicy")
    if select is not None and select not in SELECT_POLICIES:
        yield Problem((*path, "selectPolicy"), NOT_SUPPORTED, f"{select!r} is none of {', '.join(SELECT_POLICIES)}")
    policies = rules.get("policies")
    if not policies:
        yield Problem((*path, "policies"), REQUIRED, "write at least one policy, or no policies at all for the default")
    for index, policy in enumerate(policies or ()):
        yield from _policy(policy, (*path, "policies", index))
    tolerance = rules.get("tolerance")
    if tolerance is not None and quantity.parse(tolerance).sign() < 0:
        yield Problem((*path, "tolerance"), INVALID, f"{tolerance} is negative; write a ratio, such as 0.05 for 5 %")


def _policy(policy: dict[str, Any], path: Path) -> Iterator[Problem]:
    kind, value, period_s = policy["type"], policy["value"], policy["periodSeconds"]
    if kind not in POLICY_TYPES:
        yield Problem((*path, "type"), NOT_SUPPORTED, f"{kind!r} is none of {', '.join(POLICY_TYPES)}")
    if value <= 0:
        yield Problem(
            (*path, "value"),
            INVALID,
            f"{value} is not greater than 0; to forbid the direction write selectPolicy: Disabled",
        )
    if not 1 <= period_s <= PERIOD_S_MAX:
        yield Problem(
            (*path, "periodSeconds"), INVALID, f"{period_s} is not between 1 and {PERIOD_S_MAX} (half an hour)"
        )
