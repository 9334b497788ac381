"""Reading scenarios from files; what cannot be used is named by file, line and field."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
import yaml

from controller.lab.scenario import Load, LoadSpec, Placed, Scenario, ScenarioError, Settings, Timeline, TimelineSpec
from controller.lab.yaml_text import KubernetesLoader

if TYPE_CHECKING:
    from collections.abc import Iterator

API_VERSION: Final = "lab.hpa-controller.io/v1alpha1"
_KINDS: Final = ("Lab", "Load", "Timeline")
_CALLED: Final = {
    dict: "a mapping",
    list: "a list",
    str: "a text",
    bool: "a boolean",
    int: "a number",
    float: "a number",
}

T = TypeVar("T")


def load_scenario(*paths: Path) -> Scenario:
    """The scenario of some files together; raises ScenarioError."""
    objects: list[Placed] = []
    loads: dict[tuple[str, str], Load] = {}
    timelines: list[Timeline] = []
    lab: Placed | None = None
    for placed in (placed for path in paths for file in _files(path) for placed in _documents(file)):
        metadata = placed.value.get("metadata") or {}
        if placed.value["apiVersion"] != API_VERSION:
            objects.append(placed)
            continue
        match placed.value["kind"]:
            case "Load":
                load = _load(placed)
                earlier = loads.setdefault((load.namespace, load.name), load)
                if earlier is not load:
                    raise ScenarioError(f"{placed.where}: {placed.described}: {earlier.where} has one of this name")
                other = next(
                    (known for known in loads.values() if known is not load and _same_target(known, load)), None
                )
                if other is not None:
                    raise ScenarioError(f"{placed.where}: {placed.described}: {other.where} has one for this target")
            case "Timeline":
                timelines.append(Timeline(metadata.get("namespace", ""), _converted(placed, TimelineSpec)))
            case "Lab":
                if lab is not None:
                    raise ScenarioError(f"{placed.where}: there is a Lab already, at {lab.where}")
                lab = placed
            case other_kind:
                known_kinds = ", ".join(_KINDS)
                raise ScenarioError(f"{placed.where}: kind {other_kind!r} is unknown, {API_VERSION} has {known_kinds}")
    settings = Settings() if lab is None else _found(lab, _converted(lab, Settings))
    return Scenario(tuple(objects), tuple(loads.values()), tuple(timelines), settings)


def _found(placed: Placed, settings: Settings) -> Settings:
    """The settings with the file of rules as it is found beside the scenario."""
    if settings.prometheus is None:
        return settings
    rules = Path(placed.where.rpartition(":")[0]).parent / settings.prometheus.rules
    if not rules.is_file():
        raise ScenarioError(f"{placed.where}: {placed.described}: spec.prometheus.rules: there is no file {rules}")
    return msgspec.structs.replace(settings, prometheus=msgspec.structs.replace(settings.prometheus, rules=str(rules)))


def _load(placed: Placed) -> Load:
    metadata = placed.value.get("metadata") or {}
    if not metadata.get("name"):
        raise ScenarioError(f"{placed.where}: Load: metadata.name is missing")
    return Load(metadata.get("namespace", "default"), metadata["name"], _converted(placed, LoadSpec), placed.where)


def _same_target(one: Load, other: Load) -> bool:
    return (one.namespace, one.spec.target.kind, one.spec.target.name) == (
        other.namespace,
        other.spec.target.kind,
        other.spec.target.name,
    )


def _files(path: Path) -> list[Path]:
    """The file, or the manifests in a folder, by name."""
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.suffix in (".yaml", ".yml", ".json"))
    if not found:
        raise ScenarioError(f"{path}: no manifests (*.yaml, *.yml, *.json) in this folder")
    return found


def _documents(path: Path) -> Iterator[Placed]:
    """The objects of a file, those of Lists one by one."""
    try:
        text = path.read_text(encoding="utf-8")
        nodes = yaml.compose_all(text, Loader=KubernetesLoader)
        values = yaml.load_all(text, Loader=KubernetesLoader)
        documents = list(zip(nodes, values, strict=True))
    except OSError as error:
        raise ScenarioError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        raise ScenarioError(f"{path}:{line}: not YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ScenarioError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    for node, value in documents:
        if value is None:
            continue
        where = f"{path}:{node.start_mark.line + 1}"
        many = isinstance(value, dict) and value.get("kind") == "List"
        items = (value.get("items") or []) if many else [value]
        if not isinstance(items, list):
            raise ScenarioError(f"{where}: items: must be a list, this is {_called(items)}")
        for item in items:
            yield _checked(where, item)


def _called(value: Any) -> str:
    return _CALLED.get(type(value), "something else")


def _checked(where: str, value: Any) -> Placed:
    if not isinstance(value, dict):
        raise ScenarioError(f"{where}: a Kubernetes object is a mapping, this is {_called(value)}")
    for field in ("apiVersion", "kind"):
        if not isinstance(value.get(field), str):
            raise ScenarioError(f"{where}: {field} is missing")
    metadata = value.get("metadata", {})
    if not isinstance(metadata, dict):
        raise ScenarioError(f"{where}: metadata: must be a mapping")
    for field in ("name", "namespace"):
        if metadata.get(field) is None:
            # As kubectl has it, what stands there without a value does not stand there.
            metadata.pop(field, None)
        elif not isinstance(metadata[field], str):
            called = _called(metadata[field])
            raise ScenarioError(f"{where}: {value['kind']}: metadata.{field}: must be a text, this is {called}")
    return Placed(where, value)


def _converted(placed: Placed, kind: type[T]) -> T:
    try:
        return msgspec.convert(placed.value.get("spec") or {}, kind)
    except (msgspec.ValidationError, ValueError) as error:
        message = str(error).replace("`$", "`spec").replace(" - at ", ", at ")
        raise ScenarioError(f"{placed.where}: {placed.described}: {message}") from error
