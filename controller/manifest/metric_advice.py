"""Advice about metrics: targets that are not what they look like, names that nothing measures, repetitions."""

import difflib
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from controller.decide import quantity, selectors
from controller.decide.selectors import LabelSelector, LabelSelectorRequirement
from controller.manifest import names
from controller.manifest.findings import Advice
from controller.manifest.tree import Path
from controller.manifest.validate import SOURCES

_FIELDS: Final = {"Value": "value", "AverageValue": "averageValue", "Utilization": "averageUtilization"}
_TYPES: Final = {field: target_type for target_type, field in _FIELDS.items()}
_MEASURED: Final = ("cpu", "memory")
_CORE_KINDS: Final = frozenset(
    (
        "Binding",
        "ComponentStatus",
        "ConfigMap",
        "Endpoints",
        "Event",
        "LimitRange",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "Pod",
        "PodTemplate",
        "ReplicationController",
        "ResourceQuota",
        "Secret",
        "Service",
        "ServiceAccount",
    )
)
_MEMORY_MILLI_LEAST: Final = 1000 * 1024 * 1024
_CPU_MILLI_MOST: Final = 1000 * 100
_NANO_PER_MILLI: Final = 10**6
# An error of less than a percent is lost in any tolerance.
_ROUNDING_RATIO: Final = 100


def advise(spec: dict[str, Any]) -> Iterator[Advice]:
    """Advice about the metrics of a valid, completed spec."""
    for index, metric in enumerate(spec["metrics"]):
        path: Path = ("spec", "metrics", index, SOURCES[metric["type"]])
        source = metric[SOURCES[metric["type"]]]
        yield from _target(metric["type"], source["target"], (*path, "target"))
        if metric["type"] in ("Resource", "ContainerResource"):
            yield from _resource(source, path)
        else:
            yield from _identifier(source["metric"], (*path, "metric"))
        if metric["type"] == "Object":
            yield from _described(source["describedObject"], (*path, "describedObject"))
    yield from _repetitions(spec["metrics"])


def effective_field(metric: dict[str, Any]) -> str | None:
    """The field of a metric's target that decides (§6.3); None when the metric fails for want of it."""
    target = metric[SOURCES[metric["type"]]]["target"]
    candidates: tuple[str, ...]
    match metric["type"]:
        case "Object":
            # Utilization belongs to no Object metric, even though validation lets it pass.
            candidates = (_FIELDS[target["type"]],) if target["type"] != "Utilization" else ()
        case "External":
            candidates = ("averageValue", "value")
        case "Pods":
            candidates = ("averageValue",)
        case _:
            candidates = ("averageValue", "averageUtilization")
    return next((field for field in candidates if field in target), None)


def _target(kind: str, target: dict[str, Any], path: Path) -> Iterator[Advice]:
    field = effective_field({"type": kind, SOURCES[kind]: {"target": target}})
    given = [name for name in _TYPES if name in target]
    if field is None:
        fitting = next(name for name in ("value", "averageValue") if name in target)
        yield Advice(
            "object-target",
            (*path, "type"),
            f"type {target['type']} does not fit {fitting}, so that this metric fails at run time; "
            f"write type: {_TYPES[fitting]}",
        )
        return
    if target["type"] != _TYPES[field]:
        yield Advice(
            "target-type",
            (*path, "type"),
            f"type {target['type']} has no effect, {field} decides; write type: {_TYPES[field]}",
        )
    for name in given:
        if name != field:
            yield Advice(
                "target-field-ignored", (*path, name), f"{name} has no effect beside {field} in this metric; remove it"
            )
    if field != "averageUtilization":
        yield from _rounded(target[field], (*path, field))


def _rounded(text: str, path: Path) -> Iterator[Advice]:
    target = quantity.parse(text)
    exact_nano, counted_milli = target.nano(), target.milli()
    if (counted_milli * _NANO_PER_MILLI - exact_nano) * _ROUNDING_RATIO > exact_nano:
        yield Advice(
            "target-rounded",
            path,
            f"{text} counts as {counted_milli}m, for decisions are made in thousandths rounded up; "
            f"measure in a larger unit",
        )


def _resource(source: dict[str, Any], path: Path) -> Iterator[Advice]:
    name, target = source["name"], source["target"]
    if name not in _MEASURED:
        similar = difflib.get_close_matches(name.lower(), _MEASURED, n=1)
        remedy = f"write {similar[0]}" if similar else "use a Pods or External metric"
        yield Advice(
            "resource-unmeasured",
            (*path, "name"),
            f"the resource metrics API measures cpu and memory and not {name}, so that this metric fails; {remedy}",
        )
    if "averageValue" not in target:
        return
    text, milli = target["averageValue"], quantity.milli(target["averageValue"])
    average: Path = (*path, "target", "averageValue")
    if name == "memory" and milli < _MEMORY_MILLI_LEAST:
        digits = text.removesuffix("m")
        meant = f"{digits}Mi if mebibytes are meant" if digits.isdigit() else "an amount such as 100Mi"
        yield Advice("memory-tiny", average, f"{text} of memory is less than 1 MiB per pod; write {meant}")
    if name == "cpu" and milli >= _CPU_MILLI_MOST:
        cores = milli // 1000
        yield Advice(
            "cpu-huge",
            average,
            f"{text} is {cores} cores per pod; write {cores}m if thousandths of a core are meant",
        )


def _identifier(identifier: dict[str, Any], path: Path) -> Iterator[Advice]:
    selector = identifier.get("selector")
    if selector is None:
        return
    try:
        selectors.from_object(
            LabelSelector(
                tuple(sorted(selector.get("matchLabels", {}).items())),
                tuple(
                    LabelSelectorRequirement(entry["key"], entry["operator"], tuple(entry.get("values", ())))
                    for entry in selector.get("matchExpressions", ())
                ),
            )
        )
    except selectors.SelectorError as error:
        yield Advice(
            "selector-invalid",
            (*path, "selector"),
            f"{error}, which the API server does not check and which makes this metric fail at run time; correct it",
        )


def _described(reference: dict[str, Any], path: Path) -> Iterator[Advice]:
    api_version = reference.get("apiVersion", "")
    if api_version.rpartition("/")[0]:
        return
    if not names.means_one_of(reference["kind"], _CORE_KINDS):
        written = f"apiVersion {api_version} names" if api_version else "no apiVersion means"
        yield Advice(
            "described-object-group",
            (*path, "apiVersion"),
            f"{written} the core group, which has no {reference['kind']}, so that this metric fails; "
            f"write the group, as in networking.k8s.io/v1",
        )


def _repetitions(metrics: list[dict[str, Any]]) -> Iterator[Advice]:
    seen: dict[bytes, int] = {}
    for index, metric in enumerate(metrics):
        source = SOURCES[metric["type"]]
        field = effective_field(metric)
        if field is None:
            continue
        measured = {name: value for name, value in metric[source].items() if name != "target"}
        identity = msgspec.json.encode((source, measured, field), order="sorted")
        first = seen.setdefault(identity, index)
        if first == index:
            continue
        target, first_target = metric[source]["target"][field], metrics[first][source]["target"][field]
        if target == first_target:
            message = f"this metric says the same as metrics[{first}]; remove one of them"
        else:
            lower = min(target, first_target, key=lambda value: quantity.parse(str(value)).nano())
            message = (
                f"this metric measures the same as metrics[{first}], so that only the lower of both targets, {lower}, "
                f"ever decides; remove the other"
            )
        yield Advice("metric-repeated", ("spec", "metrics", index), message)
