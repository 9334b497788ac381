"""Validation of a HorizontalPodAutoscaler (docs/behaviour.md §21.3).

Paths are those of v2 whatever was sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from controller.lab.kinds import resource_names
from controller.lab.objects import names, quantity
from controller.lab.objects.errors import FieldError, forbidden, invalid, not_supported, required
from controller.lab.objects.resources import nested

if TYPE_CHECKING:
    from controller.lab.objects.resources import Object, ValidationSettings

_SOURCE_OF_TYPE = {
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
    "External": "external",
    "ContainerResource": "containerResource",
}
_SOURCES_IN_ORDER = ("object", "external", "pods", "resource", "containerResource")
_METRIC_TYPES = sorted(_SOURCE_OF_TYPE)
_TARGET_TYPES = ("Utilization", "Value", "AverageValue")
_SELECT_POLICIES = ("Disabled", "Max", "Min")
_POLICY_TYPES = ("Percent", "Pods")
_WINDOW_MAX_S = 3600
_PERIOD_MAX_S = 1800
_VALUE_PER_POD_ONLY = "give an averageUtilization or an averageValue"


def validate(new: Object, old: Object | None, settings: ValidationSettings) -> list[FieldError]:
    """Everything wrong with the spec of a new or changed HPA, and with its status."""
    spec = new["spec"]
    old_spec = old["spec"] if old else {}
    lowest = 0 if settings.scale_to_zero or old_spec.get("minReplicas") == 0 else 1
    errors = _replicas(spec, lowest)
    reference, old_reference = spec["scaleTargetRef"], old_spec.get("scaleTargetRef", {})
    same_kind = old is not None and all(reference.get(key) == old_reference.get(key) for key in ("apiVersion", "kind"))
    no_group = reference["kind"] == "ReplicationController"
    errors += _reference(reference, "spec.scaleTargetRef", check_version=not same_kind, no_group=no_group)
    check_objects = not any(
        _version_error(metric["object"]["describedObject"], "", no_group=True)
        for metric in old_spec.get("metrics") or ()
        if metric["type"] == "Object" and metric.get("object")
    )
    for index, metric in enumerate(spec.get("metrics") or ()):
        errors += _metric(metric, f"spec.metrics[{index}]", check_objects=check_objects)
    if spec.get("minReplicas") == 0 and not any(
        metric["type"] in ("Object", "External") for metric in spec.get("metrics") or ()
    ):
        reason = "scaling to zero needs a metric of type Object or External"
        errors.append(forbidden("spec.metrics", reason))
    for direction in ("scaleUp", "scaleDown"):
        errors += _rules(nested(spec, "behavior", direction), f"spec.behavior.{direction}")
    return errors


def validate_status(new: Object) -> list[FieldError]:
    """What is wrong with a status that a controller wrote."""
    return [
        invalid(f"status.{name}", count, "must be greater than or equal to 0")
        for name in ("currentReplicas", "desiredReplicas")
        if (count := new["status"].get(name, 0)) < 0
    ]


def _replicas(spec: Object, lowest: int) -> list[FieldError]:
    errors = []
    fewest, most = spec.get("minReplicas"), spec["maxReplicas"]
    if fewest is not None and fewest < lowest:
        errors.append(invalid("spec.minReplicas", fewest, f"must be greater than or equal to {lowest}"))
    if most == 0:
        errors.append(required("spec.maxReplicas", "must be above 0"))
    elif most < 0:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to 1"))
    if fewest is not None and most < fewest:
        errors.append(invalid("spec.maxReplicas", most, "must not be below minReplicas"))
    return errors


def _reference(reference: Object, path: str, *, check_version: bool, no_group: bool) -> list[FieldError]:
    errors = []
    for name in ("kind", "name"):
        errors += _segment(reference[name], f"{path}.{name}", "")
    version_error = _version_error(reference, path, no_group=no_group) if check_version else None
    return errors + ([version_error] if version_error else [])


def _version_error(reference: Object, path: str, *, no_group: bool) -> FieldError | None:
    version = reference.get("apiVersion", "")
    if version.count("/") > 1:
        return invalid(f"{path}.apiVersion", version, "must be GROUP/VERSION")
    if not no_group and not version.rpartition("/")[0]:
        return invalid(f"{path}.apiVersion", version, "must name an API group")
    return None


def _segment(value: str, path: str, hint: str) -> list[FieldError]:
    if not value:
        return [required(path, hint)]
    return [invalid(path, value, problem) for problem in names.path_segment_problems(value)]


def _metric(metric: Object, path: str, *, check_objects: bool) -> list[FieldError]:
    kind = metric["type"]
    errors = [] if kind else [required(f"{path}.type", "every metric has a type")]
    if kind not in _SOURCE_OF_TYPE:
        errors.append(not_supported(f"{path}.type", kind, _METRIC_TYPES))
    present = [name for name in _SOURCES_IN_ORDER if metric.get(name) is not None]
    if present:
        errors += _source(present[0], metric[present[0]], f"{path}.{present[0]}", check_objects=check_objects)
    wanted = _SOURCE_OF_TYPE.get(kind)
    if wanted is None:
        errors.append(not_supported(f"{path}.type", kind, _METRIC_TYPES))
    elif wanted not in present:
        errors.append(required(f"{path}.{wanted}", "must be given for a metric of this type"))
    if len(present) > 1:
        errors += [
            forbidden(f"{path}.{name}", "does not belong to the type of this metric")
            for name in present
            if name != wanted
        ]
    return errors


def _source(name: str, source: Object, path: str, *, check_objects: bool) -> list[FieldError]:
    target, where = source["target"], f"{path}.target"
    match name:
        case "object":
            errors = _reference(
                source["describedObject"],
                f"{path}.describedObject",
                check_version=check_objects,
                no_group=True,
            )
            errors += _identifier(source, path) + _target(target, where)
            if target.get("value") is None and target.get("averageValue") is None:
                errors.append(required(f"{where}.averageValue", "give a value or an averageValue"))
            return errors
        case "external":
            return _identifier(source, path) + _target(target, where) + _external_target(target, where)
        case "pods":
            errors = _identifier(source, path) + _target(target, where)
            if target.get("averageValue") is None:
                errors.append(required(f"{where}.averageValue", "is what a pods metric is compared with"))
            return errors
        case "resource":
            errors = [] if source["name"] else [required(f"{path}.name", "name the resource")]
            return errors + _target(target, where) + _resource_target(target, where)
        case _:
            return _container_resource(source, path) + _target(target, where) + _resource_target(target, where)


def _container_resource(source: Object, path: str) -> list[FieldError]:
    errors = []
    if source["name"]:
        problems = resource_names.container_resource_problems(source["name"])
        errors += [invalid(f"{path}.name", source["name"], problem) for problem in problems]
    else:
        errors.append(required(f"{path}.name", "name the resource"))
    if source["container"]:
        problems = names.label_problems(source["container"])
        errors += [invalid(f"{path}.container", source["container"], problem) for problem in problems]
    else:
        errors.append(required(f"{path}.container", "name the container"))
    return errors


def _identifier(source: Object, path: str) -> list[FieldError]:
    return _segment(source["metric"]["name"], f"{path}.metric.name", "name the metric")


def _target(target: Object, path: str) -> list[FieldError]:
    kind = target["type"]
    errors = [] if kind else [required(f"{path}.type", "every target has a type")]
    if kind not in _TARGET_TYPES:
        errors.append(invalid(f"{path}.type", kind, "must be Utilization, Value or AverageValue"))
    for name in ("value", "averageValue"):
        given: Any = target.get(name)
        if given is not None and quantity.parse(given) <= 0:
            errors.append(invalid(f"{path}.{name}", given, "must be positive"))
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        errors.append(invalid(f"{path}.averageUtilization", utilization, "must be greater than 0"))
    return errors


def _external_target(target: Object, path: str) -> list[FieldError]:
    value, average = target.get("value"), target.get("averageValue")
    if value is None and average is None:
        reason = "give a value or an averageValue"
        return [required(f"{path}.averageValue", reason)]
    if value is not None and average is not None:
        return [forbidden(f"{path}.value", "give a value or an averageValue, not both")]
    return []


def _resource_target(target: Object, path: str) -> list[FieldError]:
    utilization, average = target.get("averageUtilization"), target.get("averageValue")
    if utilization is None and average is None:
        return [required(f"{path}.averageUtilization", _VALUE_PER_POD_ONLY)]
    if utilization is not None and average is not None:
        reason = "give an averageUtilization or an averageValue, not both"
        return [forbidden(f"{path}.averageValue", reason)]
    return []


def _rules(rules: Object | None, path: str) -> list[FieldError]:
    if rules is None:
        return []
    errors = []
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and window < 0:
        reason = "must be greater than or equal to zero"
        errors.append(invalid(f"{path}.stabilizationWindowSeconds", window, reason))
    if window is not None and window > _WINDOW_MAX_S:
        reason = f"must be less than or equal to {_WINDOW_MAX_S}"
        errors.append(invalid(f"{path}.stabilizationWindowSeconds", window, reason))
    select = rules.get("selectPolicy")
    if select is not None and select not in _SELECT_POLICIES:
        errors.append(not_supported(f"{path}.selectPolicy", select, _SELECT_POLICIES))
    if not rules.get("policies"):
        errors.append(required(f"{path}.policies", "give at least one policy, or leave the list out"))
    for index, policy in enumerate(rules.get("policies") or ()):
        errors += _policy(policy, f"{path}.policies[{index}]")
    tolerance = rules.get("tolerance")
    if tolerance is not None and quantity.parse(tolerance) < 0:
        errors.append(invalid(f"{path}.tolerance", tolerance, "must be greater than or equal to 0"))
    return errors


def _policy(policy: Object, path: str) -> list[FieldError]:
    errors = []
    if policy["type"] not in _POLICY_TYPES:
        errors.append(not_supported(f"{path}.type", policy["type"], _POLICY_TYPES))
    if policy["value"] <= 0:
        errors.append(invalid(f"{path}.value", policy["value"], "must be greater than zero"))
    period = policy["periodSeconds"]
    if period <= 0:
        errors.append(invalid(f"{path}.periodSeconds", period, "must be greater than zero"))
    if period > _PERIOD_MAX_S:
        reason = f"must be less than or equal to {_PERIOD_MAX_S}"
        errors.append(invalid(f"{path}.periodSeconds", period, reason))
    return errors
