"""What is played with KEDA: ScaledObjects, what happens to their triggers, and what has to become of their targets."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

TARGET = "web"
HPA = f"keda-hpa-{TARGET}"
"""The name that KEDA gives the HPA of a ScaledObject ``web``."""

DOWNSCALE_STABILIZATION_S = 5
# Long enough that the HPA has come down to one pod before KEDA takes the last one.
_COOLDOWN_S = 15
_BACKLOG_PER_POD = 10
_CPU_REQUEST_MILLI = 200
_CRON_REPLICAS = 3
_LEAD = dt.timedelta(minutes=2)

LABELS = {"app.kubernetes.io/component": "worker", "shop.example.com/team": "checkout"}
ANNOTATIONS = {
    "shop.example.com/notes": 'two lines,\n\twith "quotes", umläuten and an empty neighbour',
    "shop.example.com/empty": "",
    "kubectl.kubernetes.io/last-applied-configuration": '{"apiVersion":"keda.sh/v1alpha1","kind":"ScaledObject"}\n',
}
"""KEDA passes labels and annotations of a ScaledObject on to its HPA."""


class Writer(enum.StrEnum):
    """Who changes the number of replicas."""

    KEDA = "KEDA"
    HPA = "HPA"


class Trigger(enum.Enum):
    """Of what a ScaledObject scales."""

    PROMETHEUS = enum.auto()
    CRON = enum.auto()
    CPU = enum.auto()


@dataclasses.dataclass(frozen=True)
class Schedule:
    """A time of some minute of today, as cron triggers are told of it."""

    start: str
    end: str

    @classmethod
    def soon(cls) -> Schedule:
        """The minute that begins in one to two minutes, so that what comes before it has time."""
        now = dt.datetime.now(dt.UTC)  # noqa: TID251  # KEDA's cron trigger goes by the wall clock
        start = (now + _LEAD).replace(second=0, microsecond=0)
        return cls(*(f"{at.minute} {at.hour} * * *" for at in (start, start + dt.timedelta(minutes=1))))


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a story is played: what its triggers have to name."""

    namespace: str
    prometheus: str
    schedule: Schedule


@dataclasses.dataclass(frozen=True)
class Step:
    """What changes, and the number of replicas at which all has come to rest after it."""

    name: str
    replicas: int
    backlog: int | None = None
    """From here on Prometheus counts so much; a pod is to have ten."""
    load_milli: int | None = None
    """From here on ready pods share so much CPU; a pod is to use 100m."""
    edit: Mapping[str, Any] | None = None
    """A merge patch of the ScaledObject's spec."""
    answerable: bool | None = None
    """Whether, from here on, Prometheus understands what the trigger asks."""
    scaling: str = ""
    """The reason of the condition ScalingActive at the end; that of an HPA that works unless given."""
    timeout_s: float = 60.0


@dataclasses.dataclass(frozen=True)
class Story:
    """One ScaledObject and its fate."""

    name: str
    minimum: int
    triggers: tuple[Trigger, ...]
    steps: tuple[Step, ...]
    writes: tuple[tuple[Writer, int], ...]
    """Who gives the target which size, in order; of `shared_load` only the sizes at which it turns."""
    maximum: int = 6
    advanced: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def by_cpu(self) -> bool:
        """Whether CPU takes part, whose readings, and what is told of them, hang on the moments of measuring."""
        return Trigger.CPU in self.triggers

    @property
    def shared_load(self) -> bool:
        """Whether pods share a load: sizes on the way to where it comes to rest hang on the moments of measuring."""
        return any(step.load_milli is not None for step in self.steps)

    @property
    def node(self) -> str:
        """The node of its pods; a load is set for a node, so that is a node of its own."""
        return "kwok-1" if self.shared_load else "kwok-0"


def manifest(story: Story, place: Place) -> dict[str, Any]:
    """The story's ScaledObject."""
    spec: dict[str, Any] = {
        "scaleTargetRef": {"name": TARGET},
        "pollingInterval": 1,
        "cooldownPeriod": _COOLDOWN_S,
        "minReplicaCount": story.minimum,
        "maxReplicaCount": story.maximum,
        "triggers": [_trigger(trigger, place) for trigger in story.triggers],
    }
    if story.advanced:
        spec["advanced"] = dict(story.advanced)
    metadata = {"name": TARGET, "labels": LABELS, "annotations": ANNOTATIONS}
    return {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": metadata, "spec": spec}


def requests() -> dict[str, str]:
    """What each pod asks for."""
    return {"cpu": f"{_CPU_REQUEST_MILLI}m"}


def prometheus_trigger(place: Place, *, answerable: bool = True) -> dict[str, Any]:
    """A trigger that asks Prometheus for the backlog, or something that no Prometheus can answer."""
    query = f'sum(backlog{{namespace="{place.namespace}"}})' if answerable else "sum("
    metadata = {"serverAddress": place.prometheus, "query": query, "threshold": str(_BACKLOG_PER_POD)}
    return {"type": "prometheus", "metadata": metadata}


def _trigger(trigger: Trigger, place: Place) -> dict[str, Any]:
    match trigger:
        case Trigger.PROMETHEUS:
            return prometheus_trigger(place)
        case Trigger.CRON:
            at = place.schedule
            times = {"timezone": "UTC", "start": at.start, "end": at.end, "desiredReplicas": str(_CRON_REPLICAS)}
            return {"type": "cron", "metadata": times}
        case Trigger.CPU:
            return {"type": "cpu", "metricType": "Utilization", "metadata": {"value": "50"}}


_TO_THE_MINUTE_S = 150.0
_TO_BE_MEASURED_S = 120.0
_FAST_DOWN = {"scaleDown": {"stabilizationWindowSeconds": 3}}

STORIES: tuple[Story, ...] = (
    Story(
        "prometheus-from-zero",
        0,
        (Trigger.PROMETHEUS,),
        (
            Step("nothing to do", 0, backlog=0),
            Step("work comes", 4, backlog=35),
            Step("half of it is done", 2, backlog=18),
            Step("all is done", 0, backlog=0),
            Step("work comes again", 3, backlog=25),
        ),
        (
            (Writer.KEDA, 1),
            (Writer.HPA, 4),
            (Writer.HPA, 2),
            (Writer.HPA, 1),
            (Writer.KEDA, 0),
            (Writer.KEDA, 1),
            (Writer.HPA, 3),
        ),
    ),
    Story(
        "prometheus-from-one",
        1,
        (Trigger.PROMETHEUS,),
        (
            Step("nothing to do", 1, backlog=0),
            Step("work comes", 4, backlog=35),
            Step("nobody can tell how much", 4, answerable=False, scaling="FailedGetExternalMetric"),
            Step("it is known again", 5, backlog=48, answerable=True),
            Step("at most three are allowed", 3, edit={"maxReplicaCount": 3}),
            Step("all is done", 1, backlog=0),
        ),
        ((Writer.HPA, 4), (Writer.HPA, 5), (Writer.HPA, 3), (Writer.HPA, 1)),
        advanced={"horizontalPodAutoscalerConfig": {"behavior": _FAST_DOWN}},
    ),
    Story(
        "cron-from-zero",
        0,
        (Trigger.CRON,),
        (
            Step("before its time", 0),
            Step("in its time", _CRON_REPLICAS, timeout_s=_TO_THE_MINUTE_S),
            Step("after its time", 0, timeout_s=_TO_THE_MINUTE_S),
        ),
        ((Writer.KEDA, 1), (Writer.HPA, _CRON_REPLICAS), (Writer.HPA, 1), (Writer.KEDA, 0)),
    ),
    Story(
        "cron-from-one",
        1,
        (Trigger.CRON,),
        (
            Step("before its time", 1),
            Step("in its time", _CRON_REPLICAS, timeout_s=_TO_THE_MINUTE_S),
            Step("after its time", 1, timeout_s=_TO_THE_MINUTE_S),
        ),
        ((Writer.HPA, _CRON_REPLICAS), (Writer.HPA, 1)),
    ),
    Story(
        "cpu-from-one",
        1,
        (Trigger.CPU,),
        (
            Step("idle", 1, load_milli=50, timeout_s=_TO_BE_MEASURED_S),
            Step("busy", 4, load_milli=400, timeout_s=_TO_BE_MEASURED_S),
            Step("idle again", 1, load_milli=50, timeout_s=_TO_BE_MEASURED_S),
        ),
        ((Writer.HPA, 4), (Writer.HPA, 1)),
        maximum=4,
    ),
    Story(
        "cpu-and-prometheus-from-zero",
        0,
        (Trigger.CPU, Trigger.PROMETHEUS),
        (
            Step("nothing to do", 0, backlog=0),
            Step("work comes", 3, backlog=25, timeout_s=_TO_BE_MEASURED_S),
            Step("all is done", 0, backlog=0, timeout_s=_TO_BE_MEASURED_S),
        ),
        ((Writer.KEDA, 1), (Writer.HPA, 3), (Writer.HPA, 1), (Writer.KEDA, 0)),
    ),
)
