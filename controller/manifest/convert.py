"""autoscaling/v1 to v2, with what the annotations of autoscaling/v1 carry (§22)."""

from typing import Any, Final

import msgspec

from controller.decide import quantity
from controller.manifest import json_text
from controller.manifest.decode import decode
from controller.manifest.defaults import default_metrics, utilization_metric
from controller.manifest.schema import BEHAVIOR, METRICS_V1, Kind
from controller.manifest.tree import Path, TextError, show

_PREFIX: Final = "autoscaling.alpha.kubernetes.io/"
METRICS_ANNOTATION: Final = f"{_PREFIX}metrics"
BEHAVIOR_ANNOTATION: Final = f"{_PREFIX}behavior"
ANNOTATIONS: Final = (
    METRICS_ANNOTATION,
    BEHAVIOR_ANNOTATION,
    f"{_PREFIX}current-metrics",
    f"{_PREFIX}conditions",
    f"{_PREFIX}scale-down-tolerance",
    f"{_PREFIX}scale-up-tolerance",
)
"""What an object never keeps: the first two say something in autoscaling/v1, none does in v2."""

CPU_FIELD: Final[Path] = ("spec", "targetCPUUtilizationPercentage")


class Converted(msgspec.Struct, frozen=True):
    """A v2 spec made from v1.

    `origins` says where in the manifest a part of the spec was written: the longest fitting prefix counts. `ignored`
    holds, by annotation, why the API server ignores it.
    """

    spec: dict[str, Any]
    origins: dict[Path, Path]
    ignored: dict[str, str]


def converted(spec: dict[str, Any], annotations: dict[str, str]) -> Converted:
    """The v2 spec of a decoded v1 spec: metrics of the annotation first, CPU last (§22.2).

    Nothing but minReplicas is defaulted beyond that: a behavior from the annotation stays as it is.
    """
    ignored: dict[str, str] = {}
    origins: dict[Path, Path] = {}
    metrics = [_metric(metric) for metric in _annotated(annotations, METRICS_ANNOTATION, METRICS_V1, ignored) or ()]
    for index in range(len(metrics)):
        origins["spec", "metrics", index] = ("metadata", "annotations", METRICS_ANNOTATION)
    utilization = spec.get("targetCPUUtilizationPercentage")
    if utilization is not None:
        origins["spec", "metrics", len(metrics)] = CPU_FIELD
        metrics.append(utilization_metric("cpu", utilization))
    found: dict[str, Any] = {
        "scaleTargetRef": spec["scaleTargetRef"],
        "minReplicas": spec.get("minReplicas", 1),
        "maxReplicas": spec["maxReplicas"],
        "metrics": metrics or default_metrics(),
    }
    behavior = _annotated(annotations, BEHAVIOR_ANNOTATION, BEHAVIOR, ignored)
    # Without a direction the annotation says nothing: unlike `behavior: {}` in v2 it does not switch behavior on.
    if behavior:
        found["behavior"] = behavior
        origins["spec", "behavior"] = ("metadata", "annotations", BEHAVIOR_ANNOTATION)
    return Converted(found, origins, ignored)


def origin(origins: dict[Path, Path], path: Path) -> Path:
    """Where the value at a path of the v2 object stands in the manifest, as far as it can be said."""
    for length in range(len(path), 0, -1):
        if path[:length] in origins:
            return origins[path[:length]]
    return path


def without_annotations(annotations: dict[str, str]) -> dict[str, str]:
    """The annotations that are stored."""
    return {key: value for key, value in annotations.items() if key not in ANNOTATIONS}


def _annotated(annotations: dict[str, str], name: str, kind: Kind, ignored: dict[str, str]) -> Any:
    """The value of an annotation, or None when there is none or it is ignored."""
    text = annotations.get(name)
    if text is None:
        return None
    try:
        node = json_text.read(text)
    except TextError as error:
        ignored[name] = str(error)
        return None
    decoded = decode(node, kind, fold_case=True)
    if decoded.mismatches:
        first = decoded.mismatches[0]
        ignored[name] = f"{show(first.path)}: {first.message}" if first.path else first.message
        return None
    return decoded.value


def _metric(metric: dict[str, Any]) -> dict[str, Any]:
    """A metric in the shape of v1 in that of v2; the type of the target follows from what is set."""
    found: dict[str, Any] = {"type": metric["type"]}
    for name, convert in _SOURCES.items():
        if name in metric:
            found[name] = convert(metric[name])
    return found


def _object(source: dict[str, Any]) -> dict[str, Any]:
    average = source.get("averageValue")
    target = _target("Value" if average is None else "AverageValue", averageValue=average)
    # v1 cannot leave the value out, so that 0 beside an average means that none was set.
    if average is None or quantity.parse(source["targetValue"]).sign():
        target["value"] = source["targetValue"]
    return {"describedObject": source["target"], "metric": _identifier(source, "selector"), "target": target}


def _pods(source: dict[str, Any]) -> dict[str, Any]:
    return {
        "metric": _identifier(source, "selector"),
        "target": _target("AverageValue", averageValue=source["targetAverageValue"]),
    }


def _external(source: dict[str, Any]) -> dict[str, Any]:
    value = source.get("targetValue")
    return {
        "metric": _identifier(source, "metricSelector"),
        "target": _target(
            "AverageValue" if value is None else "Value", value=value, averageValue=source.get("targetAverageValue")
        ),
    }


def _resource(source: dict[str, Any]) -> dict[str, Any]:
    utilization = source.get("targetAverageUtilization")
    return {
        "name": source["name"],
        "target": _target(
            "AverageValue" if utilization is None else "Utilization",
            averageValue=source.get("targetAverageValue"),
            averageUtilization=utilization,
        ),
    }


def _container_resource(source: dict[str, Any]) -> dict[str, Any]:
    return {"container": source["container"]} | _resource(source)


_SOURCES: Final = {
    "object": _object,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container_resource,
    "external": _external,
}


def _identifier(source: dict[str, Any], selector_key: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": source["metricName"]}
    if selector_key in source:
        found["selector"] = source[selector_key]
    return found


def _target(target_type: str, **fields: Any) -> dict[str, Any]:
    return {"type": target_type} | {name: value for name, value in fields.items() if value is not None}
