"""What a scenario consists of: Kubernetes manifests, and what the lab does with them."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from controller.lab.durations import parse_duration
from controller.lab.load.curves import Curve
from controller.lab.load.equivalent import Equivalent
from controller.lab.load.models import Queue, Service
from controller.lab.metrics_feed import CUSTOM_METRICS, EXTERNAL_METRICS, RESOURCE_METRICS

_METRICS_GROUPS: Final = (RESOURCE_METRICS, CUSTOM_METRICS, EXTERNAL_METRICS)


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
