"""What a sync saw: the scale, the pods and the answers of the metrics APIs, as immutable values."""

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Final, Literal, assert_never

import msgspec

from controller.decide.instants import ZERO_TIME_NS
from controller.decide.status import Status


class Scale(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The scale subresource of the target (§19.4).

    `replicas` is the spec's count (R), `status_replicas` the status's (S). `uid` and `version` are the target's
    metadata.uid and resourceVersion, sent with every write.
    """

    replicas: int
    status_replicas: int
    selector: str
    uid: str = ""
    version: str = ""

    def decides_like(self, other: "Scale") -> bool:
        """Whether a decision made from the other scale holds for this one, too."""
        return (self.uid, self.replicas, self.status_replicas, self.selector) == (
            other.uid,
            other.replicas,
            other.status_replicas,
            other.selector,
        )


class ScaleFailure(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The scale could not be read (§4.4); `cause` is `spec` for an unparsable apiVersion, else `internal` (§17.3)."""

    message: str
    cause: Literal["spec", "internal"] = "internal"


class Container(msgspec.Struct, frozen=True, gc=False):
    """A container and its requests in nano-units by resource; a resource that is not listed has no request."""

    name: str
    requests_nano: Mapping[str, int]
    restartable: bool = False


class PodRequests(msgspec.Struct, frozen=True, gc=False):
    """What the pods of one template request, shared between them (§9).

    `init_containers` are in the order of the spec; those with `restartable` are sidecars. `pod_level_nano` and
    `overhead_nano` are empty when the pod has none.
    """

    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    pod_level_nano: Mapping[str, int] = {}
    overhead_nano: Mapping[str, int] = {}


class Readiness(msgspec.Struct, frozen=True, gc=False):
    """The Ready condition: its status (True, False, Unknown) and when that last changed."""

    status: str
    since_ns: int


class Pod(msgspec.Struct, frozen=True, gc=False):
    """What decisions need of a pod. `started_ns` (status.startTime) and `ready` are None when not set."""

    name: str
    labels: Mapping[str, str]
    phase: str
    requests: PodRequests
    deleted: bool = False
    started_ns: int | None = None
    ready: Readiness | None = None


class Sample(msgspec.Struct, frozen=True, gc=False):
    """A number read for a pod: milli-units over the window of `window_ns` that ended at `timestamp_ns`."""

    value_milli: int
    timestamp_ns: int
    window_ns: int


class ContainerUsage(msgspec.Struct, frozen=True, gc=False):
    """What one container used, in milli-units by resource."""

    name: str
    usage_milli: Mapping[str, int]


class PodUsage(msgspec.Struct, frozen=True, gc=False):
    """One item of metrics.k8s.io (§18.1)."""

    pod: str
    timestamp_ns: int
    window_ns: int
    containers: tuple[ContainerUsage, ...]


class ResourceReading(msgspec.Struct, frozen=True, tag=True, omit_defaults=True, gc=False):
    """The items metrics.k8s.io gave for the target's selector, in its order; empty is an empty list.

    The rest is for explanations only. `origin` says where the items came from if not from the metrics API. The
    timestamps of the pods in `undated` are those of the answer: how old their samples are is not known. `left_out` says
    why there are no samples of pods that would have some.
    """

    items: tuple[PodUsage, ...]
    origin: str = ""
    undated: tuple[str, ...] = ()
    left_out: Mapping[str, str] = {}


class PodsReading(msgspec.Struct, frozen=True, tag=True, omit_defaults=True, gc=False):
    """The samples custom.metrics.k8s.io gave, by pod name; empty is an empty list. The rest as in ResourceReading."""

    samples: Mapping[str, Sample]
    origin: str = ""
    undated: tuple[str, ...] = ()
    left_out: Mapping[str, str] = {}


class ObjectReading(msgspec.Struct, frozen=True, tag=True, omit_defaults=True, gc=False):
    """The one value custom.metrics.k8s.io gave for an object, in milli-units; `origin` as in ResourceReading."""

    value_milli: int
    timestamp_ns: int | None = None
    origin: str = ""


class ExternalReading(msgspec.Struct, frozen=True, tag=True, omit_defaults=True, gc=False):
    """The values of all series external.metrics.k8s.io gave, in milli-units; empty is an empty list.

    `origin` as in ResourceReading.
    """

    values_milli: tuple[int, ...]
    timestamp_ns: int | None = None
    origin: str = ""


class ReadFailure(msgspec.Struct, frozen=True, tag=True, omit_defaults=True, gc=False):
    """A metrics API did not answer the question; the message is its error text (§6.2).

    `origin` as in ResourceReading.
    """

    message: str
    origin: str = ""


Reading = ResourceReading | PodsReading | ObjectReading | ExternalReading | ReadFailure


def sample_times(reading: Reading) -> Iterator[tuple[str, int | None]]:
    """When each sample was taken, with its pod (empty for the one value of an object or of series).

    None where nobody knows: the API gave no timestamp, or the source has none.
    """
    match reading:
        case ResourceReading(items=items, undated=undated):
            unknown = frozenset(undated)
            for item in items:
                yield item.pod, _known(item.timestamp_ns) if item.pod not in unknown else None
        case PodsReading(samples=samples, undated=undated):
            unknown = frozenset(undated)
            for pod, sample in samples.items():
                yield pod, _known(sample.timestamp_ns) if pod not in unknown else None
        case ObjectReading(timestamp_ns=at_ns):
            yield "", _known(at_ns)
        case ExternalReading(values_milli=values, timestamp_ns=at_ns):
            if values:
                yield "", _known(at_ns)
        case ReadFailure():
            return
        case _:
            assert_never(reading)


_timestamp_ns: Final = attrgetter("timestamp_ns")


def dated(reading: Reading) -> tuple[list[int], int]:
    """When the samples were taken of which somebody knows, and of how many nobody does; see `sample_times`."""
    if isinstance(reading, ResourceReading) and not reading.undated:
        # Nearly every reading of every sync, and asked for several times: so without a pair for each of the pods.
        known = [*map(_timestamp_ns, reading.items)]
        if ZERO_TIME_NS in known:
            known = [at_ns for at_ns in known if at_ns != ZERO_TIME_NS]
        return known, len(reading.items) - len(known)
    times = [at_ns for _, at_ns in sample_times(reading)]
    known = [at_ns for at_ns in times if at_ns is not None]
    return known, len(times) - len(known)


def _known(at_ns: int | None) -> int | None:
    return None if at_ns == ZERO_TIME_NS else at_ns


class Observation(msgspec.Struct, frozen=True, gc=False):
    """Everything one sync saw.

    Attributes:
        scale: the target's scale, or why it could not be read.
        status: the HPA's status as cached at the start of the sync.
        pods: the pods that the scale's selector matches, in name order; empty where metrics are not needed.
        readings: one answer per metric of the spec, in its order; empty where metrics are not needed. A missing
            answer is a failure of that metric.
        overlapping: keys of all HPAs, this one included, whose selectors match any of the pods (§5.4), sorted.
        scale_read_ns: when the scale was read (monotonic), which is when the first recommendation is from (§4.5); None:
            at the moment of the sync, or there was one before.
    """

    scale: Scale | ScaleFailure
    status: Status = Status()
    pods: tuple[Pod, ...] = ()
    readings: tuple[Reading, ...] = ()
    overlapping: tuple[str, ...] = ()
    scale_read_ns: int | None = None
