"""What a scenario is made of: a target, an HPA, and steps that change the world they live in."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.e2e.workload_kinds import STATEFUL_SET, WorkloadKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.e2e.metrics_server import Fault, MetricsApi

TARGET = "web"
"""The name of every target and of the HPA that scales it; each scenario has a namespace of its own."""


@dataclasses.dataclass(frozen=True)
class Usage:
    """What pods use of a resource, in thousandths: one number for all, or one per pod in the order of their names.

    None means that nothing is known of a pod; the last entry of a sequence goes for all further pods.
    """

    milli: int | Sequence[int | None]
    resource: str = "cpu"
    container: str = "app"
    superfluous: int = 0
    """So many samples beside those: of pods with the same labels that do not exist, using as much as the first."""


@dataclasses.dataclass(frozen=True)
class PodValue:
    """A custom metric of each pod, in thousandths, as in Usage."""

    metric: str
    milli: int | Sequence[int | None]


@dataclasses.dataclass(frozen=True)
class ObjectValue:
    """A custom metric of the Service ``front``."""

    metric: str
    value: str


@dataclasses.dataclass(frozen=True)
class ExternalValue:
    """The series of an external metric."""

    metric: str
    values: Sequence[str]


@dataclasses.dataclass(frozen=True)
class Glimpse:
    """An external metric that has one value when it is next asked for, and another one ever after."""

    metric: str
    value: str
    then: str


@dataclasses.dataclass(frozen=True)
class Break:
    """A metrics API fails from now on."""

    api: MetricsApi
    fault: Fault


@dataclasses.dataclass(frozen=True)
class Repair:
    """A metrics API works again."""

    api: MetricsApi


@dataclasses.dataclass(frozen=True)
class PodStates:
    """How pods are, in the order of their names: ``ready``, ``unready`` or ``pending``; the last goes for the rest."""

    states: Sequence[str]


@dataclasses.dataclass(frozen=True)
class EditAutoscaler:
    """A merge patch of the HPA's spec."""

    spec: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class SetReplicas:
    """Somebody else scales the target."""

    replicas: int


@dataclasses.dataclass(frozen=True)
class DeleteTarget:
    """The target goes with its pods."""


@dataclasses.dataclass(frozen=True)
class CreateTarget:
    """The target comes back."""

    replicas: int


@dataclasses.dataclass(frozen=True)
class DeleteAutoscaler:
    """The HPA goes."""


@dataclasses.dataclass(frozen=True)
class CreateAutoscaler:
    """The HPA comes back as it was at first."""


@dataclasses.dataclass(frozen=True)
class AddRival:
    """A second HPA, ``rival``, for the same target."""


@dataclasses.dataclass(frozen=True)
class RemoveRival:
    """The second HPA goes."""


@dataclasses.dataclass(frozen=True)
class Surge:
    """So many pods of an older revision beside those that the target counts, as in a rolling update; 0 ends it."""

    pods: int


@dataclasses.dataclass(frozen=True)
class RollOut:
    """A new revision of a real Deployment, whose pods have these annotations changed; None removes one."""

    annotations: Mapping[str, str | None]


Action: TypeAlias = (
    Usage
    | PodValue
    | ObjectValue
    | ExternalValue
    | Glimpse
    | Break
    | Repair
    | PodStates
    | EditAutoscaler
    | SetReplicas
    | DeleteTarget
    | CreateTarget
    | DeleteAutoscaler
    | CreateAutoscaler
    | AddRival
    | RemoveRival
    | Surge
    | RollOut
)


@dataclasses.dataclass(frozen=True)
class Step:
    """What happens at once, and how long the world then stays as it is."""

    name: str
    actions: Sequence[Action]
    hold_periods: int = 3


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A target and its HPA, which come with the actions of the first step, and what happens to them."""

    name: str
    metrics: Sequence[Mapping[str, Any]]
    steps: Sequence[Step]
    replicas: int = 2
    minimum: int = 1
    maximum: int = 10
    behavior: Mapping[str, Any] | None = None
    kind: WorkloadKind = STATEFUL_SET
    containers: Sequence[str] = ("app",)
    requests: Mapping[str, str] = dataclasses.field(default_factory=lambda: {"cpu": "200m", "memory": "128Mi"})
    annotations: Mapping[str, str] | None = None
    """If given, the target is a real Deployment whose pods KWOK plays as these tell (kwok_stages.py)."""
    by_chance: Sequence[str] = ()
    """Reasons of events that hang on when a sync comes: before the first pod does, or in the midst of a rollout."""
    sample_window: str = "30s"
    """The time that a pod's usage is told to be measured over: so long after getting ready a pod is young."""

    @property
    def has_glimpse(self) -> bool:
        """Whether a value is there for one look only, so that of two controllers one would not see it."""
        return self._has(Glimpse)

    @property
    def has_rival(self) -> bool:
        """Whether a second HPA comes."""
        return self._has(AddRival)

    def _has(self, kind: type[Action]) -> bool:
        return any(isinstance(action, kind) for step in self.steps for action in step.actions)
