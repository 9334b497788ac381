"""Scenarios: Kubernetes manifests, and what the lab does with them, in one YAML file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
import yaml

from controller.lab.durations import parse_duration
from controller.lab.load.curves import Curve
from controller.lab.load.equivalent import Equivalent
from controller.lab.load.models import Queue, Service

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

API_VERSION: Final = "lab.hpa-controller.io/v1alpha1"
_KINDS: Final = ("Lab", "Load", "Timeline")


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
    """A load and where its target is."""

    namespace: str
    name: str
    spec: LoadSpec


class SetImage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rolling update: another image for the first container."""

    target: Target
    image: str


class SetReplicas(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `kubectl scale` does."""

    target: Target
    replicas: int


class DeletePods(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """So many pods of a target are deleted, the oldest first."""

    target: Target
    count: int = 1


class Metrics(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A metrics API (`metrics.k8s.io`, …) answers, or answers no more."""

    group: str
    available: bool


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


class Timeline(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Steps in any order; with `repeat_every` they happen again and again."""

    steps: tuple[Step, ...]
    repeat_every: str = ""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The lab itself, and what a controller should be told; empty durations mean the controller's own defaults."""

    nodes: int = 3
    scrape_interval: str = "15s"
    sync_period: str = ""
    downscale_stabilization: str = ""
    cpu_initialization_period: str = ""
    initial_readiness_delay: str = ""
    scale_to_zero: bool = False

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
    loads: list[Load] = []
    timelines: list[Timeline] = []
    settings = Settings()
    for path in paths:
        for placed in _documents(path):
            if placed.value["apiVersion"] != API_VERSION:
                objects.append(placed)
                continue
            match placed.value["kind"]:
                case "Load":
                    metadata = placed.value.get("metadata") or {}
                    spec = _converted(placed, LoadSpec)
                    loads.append(Load(metadata.get("namespace", "default"), metadata.get("name", ""), spec))
                case "Timeline":
                    timelines.append(_converted(placed, Timeline))
                case "Lab":
                    settings = _converted(placed, Settings)
                case other:
                    raise ScenarioError(
                        f"{placed.where}: kind {other!r} is unknown, {API_VERSION} has {', '.join(_KINDS)}"
                    )
    return Scenario(tuple(objects), tuple(loads), tuple(timelines), settings)


def _documents(path: Path) -> Iterator[Placed]:
    """The objects of a file, those of Lists one by one."""
    try:
        text = path.read_text(encoding="utf-8")
        documents = list(zip(yaml.compose_all(text, Loader=yaml.SafeLoader), yaml.safe_load_all(text), strict=True))
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror or error}") from error
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
        for item in (value.get("items") or ()) if many else (value,):
            yield _checked(where, item)


def _checked(where: str, value: Any) -> Placed:
    if not isinstance(value, dict):
        raise ScenarioError(f"{where}: a Kubernetes object is a mapping, this is a {type(value).__name__}")
    for field in ("apiVersion", "kind"):
        if not isinstance(value.get(field), str):
            raise ScenarioError(f"{where}: {field} is missing")
    if not isinstance(value.get("metadata", {}), dict):
        raise ScenarioError(f"{where}: metadata: must be a mapping")
    return Placed(where, value)


def _converted(placed: Placed, kind: type[T]) -> T:
    try:
        return msgspec.convert(placed.value.get("spec") or {}, kind)
    except (msgspec.ValidationError, ValueError) as error:
        message = str(error).replace("`$", "`spec").replace(" - at ", ", at ")
        raise ScenarioError(f"{placed.where}: {placed.described}: {message}") from error
