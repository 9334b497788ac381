"""Scenarios: Kubernetes manifests, and what the lab does with them, in one YAML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

import msgspec
import yaml

from controller.lab.durations import parse_duration
from controller.lab.load.curves import Curve
from controller.lab.load.equivalent import Equivalent
from controller.lab.load.models import Queue, Service
from controller.lab.metrics_feed import CUSTOM_METRICS, EXTERNAL_METRICS, RESOURCE_METRICS
from controller.lab.yaml_text import KubernetesLoader

if TYPE_CHECKING:
    from collections.abc import Iterator

API_VERSION: Final = "lab.hpa-controller.io/v1alpha1"
_KINDS: Final = ("Lab", "Load", "Timeline")
_METRICS_GROUPS: Final = (RESOURCE_METRICS, CUSTOM_METRICS, EXTERNAL_METRICS)
_CALLED: Final = {
    dict: "a mapping",
    list: "a list",
    str: "a text",
    bool: "a boolean",
    int: "a number",
    float: "a number",
}


class ScenarioError(ValueError):
    """A scenario that cannot be used; the message names file, line and field."""


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A workload by kind and name; without `api_version` it is the built-in kind of that name."""

    kind: str
    name: str
    api_version: str = ""


class LoadSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of three kinds of load on a target."""

    target: Target
    service: Service | None = None
    queue: Queue | None = None
    equivalent: Equivalent | None = None

    def __post_init__(self) -> None:
        """Raises ValueError unless there is exactly one kind."""
        if sum(model is not None for model in (self.service, self.queue, self.equivalent)) != 1:
            raise ValueError("a Load has one of service, queue and equivalent")

    @property
    def curve(self) -> Curve:
        """The load over time: requests or items per second, or pods."""
        if self.service is not None:
            return self.service.requests_per_second
        if self.queue is not None:
            return self.queue.arrivals_per_second
        assert self.equivalent is not None  # noqa: S101 - see above
        return self.equivalent.pods


class Load(msgspec.Struct, frozen=True):
    """A load and where its target is; `where` it was written, empty for one that nobody wrote."""

    namespace: str
    name: str
    spec: LoadSpec
    where: str = ""


class SetImage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rolling update: another image for the first container."""

    target: Target
    image: str


class SetReplicas(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `kubectl scale` does."""

    target: Target
    replicas: Annotated[int, msgspec.Meta(ge=0)]


class DeletePods(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """So many pods of a target are deleted, the oldest first."""

    target: Target
    count: Annotated[int, msgspec.Meta(ge=1)] = 1


class Metrics(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A metrics API answers, or answers no more."""

    group: str
    available: bool

    def __post_init__(self) -> None:
        """Raises ValueError for a group that the lab does not serve."""
        if self.group not in _METRICS_GROUPS:
            raise ValueError(f"{self.group!r} is none of {', '.join(_METRICS_GROUPS)}")


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Something that happens at a time after the beginning."""

    at: str
    set_image: SetImage | None = None
    set_replicas: SetReplicas | None = None
    delete_pods: DeletePods | None = None
    metrics: Metrics | None = None

    def __post_init__(self) -> None:
        """Raises ValueError for a time that is none, or unless one thing happens."""
        parse_duration(self.at)
        if sum(what is not None for what in (self.set_image, self.set_replicas, self.delete_pods, self.metrics)) != 1:
            raise ValueError("a step has one of setImage, setReplicas, deletePods and metrics")


class TimelineSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Steps in any order; with `repeat_every` they happen again and again."""

    steps: tuple[Step, ...]
    repeat_every: str = ""

    def __post_init__(self) -> None:
        """Raises ValueError for a period that is none."""
        if self.repeat_every and parse_duration(self.repeat_every) <= 0:
            raise ValueError("repeatEvery must be longer than 0s")


class Timeline(msgspec.Struct, frozen=True):
    """A time line and the namespace of its targets, empty for that of the first load."""

    namespace: str
    spec: TimelineSpec


class AskedPrometheus(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The families of metrics that a controller should ask the lab's Prometheus for, and the file with its rules.

    In a scenario the file is named as seen from there; once loaded, as seen from where the program runs.
    """

    rules: str
    families: tuple[Literal["resource", "custom", "external"], ...] = ("custom",)


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The lab itself, and what a controller should be told; empty durations mean the controller's own defaults."""

    nodes: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 3
    scrape_interval: str = "15s"
    sync_period: str = ""
    downscale_stabilization: str = ""
    cpu_initialization_period: str = ""
    initial_readiness_delay: str = ""
    scale_to_zero: bool = False
    prometheus: AskedPrometheus | None = None

    def __post_init__(self) -> None:
        """Raises ValueError for a duration that is none."""
        for text in (
            self.scrape_interval,
            self.sync_period,
            self.downscale_stabilization,
            self.cpu_initialization_period,
            self.initial_readiness_delay,
        ):
            if text:
                parse_duration(text)
        if parse_duration(self.scrape_interval) <= 0:
            raise ValueError("scrapeInterval must be longer than 0s")


class Placed(msgspec.Struct, frozen=True):
    """An object and where it was written, as `file:line`."""

    where: str
    value: dict[str, Any]

    @property
    def described(self) -> str:
        """Kind and name for messages."""
        name = (self.value.get("metadata") or {}).get("name", "")
        return f"{self.value.get('kind')} {name}".rstrip()


class Scenario(msgspec.Struct, frozen=True):
    """Everything a lab needs to begin."""

    objects: tuple[Placed, ...] = ()
    loads: tuple[Load, ...] = ()
    timelines: tuple[Timeline, ...] = ()
    settings: Settings = Settings()


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
