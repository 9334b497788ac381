"""Wild worlds for Hypothesis: values that no API server would store, shaped so that every path of a sync is reached."""

from typing import Final, TypeVar

import hypothesis
from hypothesis import HealthCheck
from hypothesis import strategies as st
from msgspec import Struct

from controller.decide import observed, spec
from controller.decide.history import History, Recommendation, ScaleEvent
from controller.decide.observed import Observation, Pod, Reading, Scale, ScaleFailure
from controller.decide.quantity import Format, Quantity
from controller.decide.result import Write, WriteFailed, Written
from controller.decide.selectors import LabelSelector, LabelSelectorRequirement
from controller.decide.spec import Autoscaler, Behavior, Gates, MetricSpec, Policy, Rules, Settings
from controller.decide.status import Condition, MetricStatus, Status
from tests.builders import monotonic_ns, wall_ns


def profile(examples: int) -> hypothesis.settings:
    """The same examples in every run, and no clock that could fail one."""
    return hypothesis.settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


class World(Struct, frozen=True):
    """Everything that a decision is made from."""

    autoscaler: Autoscaler
    observation: Observation
    history: History


T = TypeVar("T")


def _mostly(common: st.SearchStrategy[T], rare: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """The common in five of six cases; one_of would give both the same weight."""
    return st.integers(0, 5).flatmap(lambda drawn: common if drawn else rare)


_EDGES: Final = (-(2**63), -(2**31), -1, 0, 1, 4, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63)
_INTEGERS: Final = st.one_of(st.integers(-3, 12), st.sampled_from(_EDGES), st.integers(-(2**70), 2**70))
_OFTEN_SET: Final = _mostly(_INTEGERS, st.none())
_RATIOS: Final = st.one_of(st.sampled_from((0.0, 0.1, 1.0)), st.floats())
_NAMES: Final = st.sampled_from(("web-0", "web-0", "web-1", "web-1", "ghost", "", "ü 💥"))
_RESOURCES: Final = st.sampled_from(("cpu", "cpu", "cpu", "memory", "hugepages-2Mi", ""))
_TEXTS: Final = st.sampled_from(("", "True", "False", "Unknown", "app", "a/b", "ü 💥\x00", "x" * 300))
_TRUTHS: Final = st.sampled_from(("True", "True", "True", "False", "Unknown", ""))
_SELECTOR_TEXTS: Final = st.one_of(
    st.sampled_from(("app=web", "", "a b", "!", "a in (", "x>1,y<2")), st.text(max_size=12)
)
_WALL_NS: Final = st.one_of(st.integers(-4000, 60).map(wall_ns), _INTEGERS)
_MONOTONIC_NS: Final = st.one_of(st.integers(-4000, 60).map(monotonic_ns), _INTEGERS)


_AMOUNTS: Final = st.one_of(
    st.builds(lambda amount: {"cpu": amount}, _INTEGERS), st.dictionaries(_RESOURCES, _INTEGERS, max_size=3)
)
_CONTAINERS: Final = st.lists(
    st.builds(observed.Container, name=_NAMES, requests_nano=_AMOUNTS, restartable=st.booleans()), max_size=2
).map(tuple)
_WILD_PODS: Final = st.lists(
    st.builds(
        Pod,
        name=_NAMES,
        labels=st.just({"app": "web"}),
        phase=st.sampled_from(("Running", "Running", "Running", "Pending", "Failed", "", "?")),
        requests=st.builds(
            observed.PodRequests,
            containers=_CONTAINERS,
            init_containers=_CONTAINERS,
            pod_level_nano=_AMOUNTS,
            overhead_nano=_AMOUNTS,
        ),
        deleted=st.sampled_from((False, False, False, True)),
        started_ns=_mostly(_WALL_NS, st.none()),
        ready=_mostly(st.builds(observed.Readiness, status=_TRUTHS, since_ns=_WALL_NS), st.none()),
    ),
    min_size=1,
    max_size=3,
).map(tuple)

_RESOURCE_READINGS: Final = st.builds(
    observed.ResourceReading,
    st.lists(
        st.builds(
            observed.PodUsage,
            pod=_NAMES,
            timestamp_ns=_WALL_NS,
            window_ns=_INTEGERS,
            containers=st.lists(st.builds(observed.ContainerUsage, name=_NAMES, usage_milli=_AMOUNTS), max_size=2).map(
                tuple
            ),
        ),
        max_size=3,
    ).map(tuple),
)
_PODS_READINGS: Final = st.builds(
    observed.PodsReading,
    st.dictionaries(_NAMES, st.builds(observed.Sample, _INTEGERS, _WALL_NS, _INTEGERS), max_size=3),
)
_OBJECT_READINGS: Final = st.builds(observed.ObjectReading, _INTEGERS)
_EXTERNAL_READINGS: Final = st.builds(observed.ExternalReading, st.lists(_INTEGERS, max_size=3).map(tuple))
_READINGS: Final[st.SearchStrategy[Reading]] = st.one_of(
    _RESOURCE_READINGS,
    _PODS_READINGS,
    _OBJECT_READINGS,
    _EXTERNAL_READINGS,
    st.builds(observed.ReadFailure, _TEXTS),
)

_LABEL_SELECTORS: Final = st.builds(
    LabelSelector,
    st.dictionaries(_TEXTS, _TEXTS, max_size=2).map(lambda labels: tuple(sorted(labels.items()))),
    st.lists(
        st.builds(
            LabelSelectorRequirement,
            key=_TEXTS,
            operator=st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt")),
            values=st.lists(_TEXTS, max_size=2).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
)
_IDENTIFIERS: Final = st.builds(spec.MetricIdentifier, _NAMES, _mostly(st.none(), _LABEL_SELECTORS))
_TARGETS: Final = st.builds(
    spec.Target,
    type=st.sampled_from(("Value", "AverageValue", "Utilization", "")),
    value_milli=_OFTEN_SET,
    average_value_milli=_OFTEN_SET,
    average_utilization=_OFTEN_SET,
)
_REFERENCES: Final = st.builds(spec.Reference, kind=_TEXTS, name=_TEXTS, api_version=_TEXTS)
_FITTING: Final[st.SearchStrategy[tuple[MetricSpec, Reading]]] = st.one_of(
    st.tuples(st.builds(spec.ResourceMetric, _RESOURCES, _TARGETS), _RESOURCE_READINGS),
    st.tuples(st.builds(spec.ContainerResourceMetric, _RESOURCES, _NAMES, _TARGETS), _RESOURCE_READINGS),
    st.tuples(st.builds(spec.PodsMetric, _IDENTIFIERS, _TARGETS), _PODS_READINGS),
    st.tuples(st.builds(spec.ObjectMetric, _IDENTIFIERS, _REFERENCES, _TARGETS), _OBJECT_READINGS),
    st.tuples(st.builds(spec.ExternalMetric, _IDENTIFIERS, _TARGETS), _EXTERNAL_READINGS),
)
_ASKED_AND_ANSWERED: Final = _mostly(_FITTING, st.tuples(st.builds(spec.UnknownMetric, _TEXTS), _READINGS))
_WILD_RULES: Final = st.builds(
    Rules,
    window_s=st.none() | _INTEGERS,
    policies=st.lists(
        st.builds(Policy, type=st.sampled_from(("Pods", "Percent", "")), value=_INTEGERS, period_s=_INTEGERS),
        max_size=3,
    ).map(tuple),
    select=st.sampled_from(("Max", "Min", "Disabled", "")),
    tolerance=st.none() | _RATIOS,
)
_GATES: Final = st.builds(Gates, st.booleans(), st.booleans(), st.booleans())
_SETTINGS: Final = st.builds(Settings, _RATIOS, _INTEGERS, _INTEGERS, _INTEGERS, _GATES)
_QUANTITIES: Final = st.builds(Quantity, _INTEGERS, st.integers(-9, 60), st.sampled_from(Format))
_STATUSES: Final = st.builds(
    Status,
    replicas_current=_INTEGERS,
    replicas_desired=_INTEGERS,
    last_scale_ns=st.none() | _WALL_NS,
    metrics=st.lists(
        st.builds(MetricStatus, type=_TEXTS, value=st.none() | _QUANTITIES, average_value=st.none() | _QUANTITIES),
        max_size=2,
    ).map(tuple),
    conditions=st.lists(
        st.builds(
            Condition,
            type=st.sampled_from(("AbleToScale", "ScalingActive", "ScalingLimited", "ScaledToZero", "Custom")),
            status=_TEXTS,
            reason=_TEXTS,
            message=_TEXTS,
            changed_ns=_WALL_NS,
        ),
        max_size=4,
    ).map(tuple),
    observed_generation=st.none() | _INTEGERS,
)
_WILD_EVENTS: Final = st.lists(st.builds(ScaleEvent, _INTEGERS, _MONOTONIC_NS, st.booleans()), max_size=3).map(tuple)
_WILD_HISTORIES: Final = st.builds(
    History,
    st.none() | st.lists(st.builds(Recommendation, _INTEGERS, _MONOTONIC_NS), max_size=4).map(tuple),
    _WILD_EVENTS,
    _WILD_EVENTS,
)

_ORDINARY_SCALES: Final = st.builds(Scale, st.integers(0, 9), st.integers(0, 9), st.just("app=web"))
_SCALES: Final[st.SearchStrategy[Scale | ScaleFailure]] = _mostly(
    _ORDINARY_SCALES,
    st.one_of(
        st.builds(Scale, st.integers(0, 9), _INTEGERS, _SELECTOR_TEXTS),
        st.builds(Scale, _INTEGERS, _INTEGERS, st.just("app=web")),
        st.builds(ScaleFailure, _TEXTS, st.sampled_from(("spec", "internal"))),
    ),
)
_BOUNDS: Final[st.SearchStrategy[tuple[int | None, int]]] = _mostly(
    st.sampled_from(((1, 10), (None, 2**31 - 1), (0, 12), (7, 3))), st.tuples(_INTEGERS, _INTEGERS)
)
_OVERLAPS: Final = _mostly(st.just(("default/web",)), st.sampled_from(((), ("default/web", "x"))))


@st.composite
def wild_worlds(draw: st.DrawFn) -> World:
    """Any spec, observation and history; most readings are of their metric's kind, some of another, or too few."""
    asked = draw(st.lists(_ASKED_AND_ANSWERED, min_size=draw(st.sampled_from((0, 1, 1, 1))), max_size=3))
    readings = tuple(reading for _, reading in asked)
    if draw(st.integers(0, 4)) == 0:
        readings = tuple(draw(st.lists(_READINGS, max_size=4)))
    replicas_min, replicas_max = draw(_BOUNDS)
    asked_for = spec.Spec(
        target=draw(_REFERENCES),
        replicas_max=replicas_max,
        replicas_min=replicas_min,
        metrics=tuple(metric for metric, _ in asked),
        behavior=draw(st.none() | st.builds(Behavior, _WILD_RULES, _WILD_RULES)),
    )
    observation = Observation(
        scale=draw(_SCALES),
        status=draw(_STATUSES),
        pods=draw(_WILD_PODS),
        readings=readings,
        overlapping=draw(_OVERLAPS),
    )
    autoscaler = Autoscaler(draw(_TEXTS), draw(_TEXTS), asked_for, draw(_SETTINGS))
    return World(autoscaler, observation, draw(_WILD_HISTORIES))


WRITES: Final[st.SearchStrategy[Write]] = st.one_of(st.just(Written()), st.builds(WriteFailed, _TEXTS))
"""What a scale write may come to."""
