"""Manifests that nobody has written, right and wrong ones, bred from those in tests/data."""

from __future__ import annotations

import copy
import json
import random
from typing import TYPE_CHECKING, Any, Final

from controller.manifest.convert import BEHAVIOR_ANNOTATION, METRICS_ANNOTATION
from tests.recording.recorded import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.e2e.reference.draws import Json

    Path = tuple[str | int, ...]

_NUMBERS: Final[list[Any]] = [0, 1, -1, 2, 99, 100, 101, 1800, 1801, 3600, 3601, 2**31 - 1, 2**31, 1.5, 10**18]
_NAMES: Final[list[Any]] = [
    *("", "web", "Web", "a.b", "-a", "a b", "é", "x" * 254, "a/b", "a/b/c", "/x", "x/", "..", ".", "a%b"),
    *("app_1", "cpu", "memory", "pods", "requests.cpu", "hugepages-2Mi", "example.com/foo"),
    *("requests.example.com/foo", "v1", "/v1", "apps/v1", "Deployment", "ReplicationController", "Utilization"),
    *("Value", "AverageValue", "Pods", "Percent", "Max", "Resource", "ContainerResource", "Object", "External"),
    *("Disabled", "In", "Exists", "Gt"),
]
_QUANTITIES: Final[list[Any]] = [
    *("0", "100m", "1000m", "-1", "1e3", "12e2", "1Ki", "1024Mi", "0.5", "0.1m", "1n", "1e-10", " 5", "NaN"),
]
_OTHERS: Final[list[Any]] = [None, True, False, [], {}, [{}], ["x"], {"a": "b"}]
_FIELDS: Final = [
    *("type", "resource", "pods", "object", "external", "containerResource", "name", "target", "metric"),
    *("selector", "averageValue", "averageUtilization", "value", "describedObject", "kind"),
    *("apiVersion", "behavior", "scaleUp", "scaleDown", "policies", "selectPolicy"),
    *("stabilizationWindowSeconds", "tolerance"),
]
_OPERATORS: Final = ["In", "NotIn", "Exists", "DoesNotExist", "in", ""]
_ANNOTATIONS: Final = ["", "null", "{}", "[]", "[{}]", "[1]", "x"]


def known_manifests() -> list[Json]:
    """Those in tests/data."""
    return [json.loads(line)["manifest"] for line in (FOLDER.parent / "manifests.jsonl").read_text().splitlines()]


def manifest(known: Sequence[Json], seed: int, number: int) -> Json:
    """A manifest in one or several places unlike a known one, the same for the same seed and number.

    A third of them are in autoscaling/v1, most of these with annotations.
    """
    dice = random.Random(f"{seed} {number}")  # noqa: S311  # nothing secret
    made = copy.deepcopy(dice.choice(known))
    if dice.random() < 0.35:
        _annotate(made, dice.choice(known), dice)
    for _ in range(dice.choice([1, 1, 1, 1, 2, 2, 3, 5])):
        _spoil(made, known, dice)
    return made


def _paths(tree: Any, path: Path = ()) -> Iterator[Path]:
    """Where something is, the root itself left out."""
    children: Any = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, child in children:
        yield (*path, key)
        yield from _paths(child, (*path, key))


def _at(tree: Any, path: Path) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def _spoil(tree: Json, known: Sequence[Json], dice: random.Random) -> None:
    """Take something away, put something else in its place or beside it, or repeat it."""
    paths = list(_paths(tree))
    path = dice.choice([one for one in paths if one[0] == "spec"] or paths if dice.random() < 0.7 else paths)
    parent: Any = _at(tree, path[:-1])
    key: Any = path[-1]
    drawn = dice.random()
    if drawn < 0.2:
        del parent[key]
    elif drawn < 0.3 and isinstance(parent, dict):
        parent[dice.choice(_FIELDS)] = _anything(dice)
    elif drawn < 0.35 and isinstance(parent, list):
        parent.append(copy.deepcopy(parent[key]))
    elif drawn < 0.45:
        other = dice.choice(known)
        alike = [one for one in _paths(other) if one[-1] == path[-1]]
        parent[key] = copy.deepcopy(_at(other, dice.choice(alike))) if alike else _anything(dice)
    elif key == "metric" and isinstance(parent[key], dict):
        parent[key]["selector"] = _selector(dice)
    else:
        parent[key] = _like(parent[key], dice)


def _anything(dice: random.Random) -> Any:
    kinds: list[list[Any]] = [_NUMBERS, _NAMES, _QUANTITIES, _OTHERS]
    return copy.deepcopy(dice.choice(dice.choice(kinds)))


def _like(value: Any, dice: random.Random) -> Any:
    """Mostly something of the same type, so that it can be decoded."""
    if dice.random() < 0.15:
        return _anything(dice)
    if isinstance(value, bool | list | dict) or value is None:
        return copy.deepcopy(dice.choice(_OTHERS))
    if isinstance(value, int | float):
        return dice.choice(_NUMBERS)
    return dice.choice(dice.choice([_NAMES, _QUANTITIES]))


def _selector(dice: random.Random) -> Json:
    keys, values = ["app", "x/y", "-bad", "a b", ""], ["web", "", "bad value", "-x", "x" * 64]
    drawn: Json = {}
    if dice.random() < 0.5:
        drawn["matchLabels"] = {dice.choice(keys): dice.choice(values)}
    if dice.random() < 0.7:
        expression: Json = {"key": dice.choice(keys), "operator": dice.choice(_OPERATORS)}
        if dice.random() < 0.7:
            expression["values"] = dice.sample(values, dice.randint(0, 2))
        drawn["matchExpressions"] = [expression]
    return drawn


def _annotate(made: Json, other: Json, dice: random.Random) -> None:
    """Make it one of autoscaling/v1, with what another one says in annotations, now and then spoilt."""
    made["apiVersion"] = "autoscaling/v1"
    made["spec"].pop("metrics", None)
    made["spec"].pop("behavior", None)
    annotations = made["metadata"].setdefault("annotations", {})
    said: Json = {"metrics": [_as_in_v1(one) for one in other["spec"].get("metrics", ())]}
    said["behavior"] = other["spec"].get("behavior", {"scaleUp": {}})
    for _ in range(dice.choice([0, 0, 1, 2])):
        _spoil(said, [other], dice)
    for name, field in ((METRICS_ANNOTATION, "metrics"), (BEHAVIOR_ANNOTATION, "behavior")):
        if dice.random() < 0.7:
            text = json.dumps(_capitalised(said.get(field), dice) if field == "behavior" else said.get(field))
            annotations[name] = dice.choice(_ANNOTATIONS) if dice.random() < 0.1 else text


def _capitalised(tree: Any, dice: random.Random) -> Any:
    """The same with some fields in capitals, as Go writes and reads them."""
    if isinstance(tree, list):
        return [_capitalised(one, dice) for one in tree]
    if not isinstance(tree, dict):
        return tree
    return {
        key[:1].upper() + key[1:] if dice.random() < 0.5 else key: _capitalised(one, dice) for key, one in tree.items()
    }


def _as_in_v1(metric: Json) -> Json:
    """A metric as the annotation has it (§22.1)."""
    [(source, described)] = [(key, one) for key, one in metric.items() if key != "type"]
    target, named = described.get("target", {}), described.get("metric", {})
    made = {key: one for key, one in described.items() if key in ("name", "container")}
    if named:
        made["metricName"] = named.get("name")
        if "selector" in named:
            made["metricSelector" if source == "external" else "selector"] = named["selector"]
    if source == "object":
        made["target"] = described.get("describedObject")
        made |= {
            to: target[one] for one, to in (("value", "targetValue"), ("averageValue", "averageValue")) if one in target
        }
    else:
        fields = {
            "value": "targetValue",
            "averageValue": "targetAverageValue",
            "averageUtilization": "targetAverageUtilization",
        }
        made |= {to: target[one] for one, to in fields.items() if one in target}
    return {"type": metric.get("type"), source: made}
