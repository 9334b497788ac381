"""The recording format `hpa-recording/1` (docs/recording-format.md)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from controller.recording.lines import FORMAT_V1, RecordingError, check_format, decoded, first_line, read_lines
from controller.wire.shapes import Int32


class Settings(msgspec.Struct, rename="camel"):
    """The header's `settings`; durations in seconds, the tolerance a ratio."""

    sync_period: int = 15
    tolerance: float = 0.1
    downscale_stabilization: int = 300
    cpu_initialization_period: int = 300
    initial_readiness_delay: int = 30
    feature_gates: dict[str, bool] | None = None


class Header(msgspec.Struct):
    """The first line. `hpa` is the HorizontalPodAutoscaler as JSON."""

    format: str
    name: str
    start: str
    hpa: dict[str, Any]
    about: str = ""
    settings: Settings = msgspec.field(default_factory=Settings)


class Scale(msgspec.Struct, rename="camel"):
    """A tick's scale: counts and selector, or `error`."""

    spec: Int32 = 0
    status: Int32 = 0
    selector: str = ""
    error: str | None = None
    update_errors: list[str] | None = None


class Ready(msgspec.Struct):
    """The Ready condition; `since` in seconds from the start."""

    status: str
    since: int


class Container(msgspec.Struct, rename="camel"):
    """A container of a pod."""

    name: str
    requests: dict[str, str] | None = None
    restart_policy: str | None = None


class Pod(msgspec.Struct, rename="camel"):
    """A pod; times in seconds from the start, None for not set."""

    phase: str = ""
    labels: dict[str, str] | None = None
    start: int | None = None
    ready: Ready | None = None
    deleted: int | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    pod_requests: dict[str, str] | None = None


class PodUsage(msgspec.Struct):
    """An item of metrics.k8s.io: end of the window and its length in seconds, usage by container and resource."""

    t: int
    window: int
    usage: dict[str, dict[str, str]]


class ResourceAnswer(msgspec.Struct):
    """The answer of metrics.k8s.io; None and no pods are an empty list."""

    error: str | None = None
    pods: dict[str, PodUsage] | None = None


class PodSample(msgspec.Struct):
    """A custom metric's sample of a pod."""

    t: int
    value: str
    window: int | None = None


class PodsAnswer(msgspec.Struct):
    """The answer of custom.metrics.k8s.io for pods."""

    error: str | None = None
    pods: dict[str, PodSample] | None = None


class ObjectAnswer(msgspec.Struct):
    """The answer of custom.metrics.k8s.io for one object."""

    t: int = 0
    value: str | None = None
    error: str | None = None


class ExternalAnswer(msgspec.Struct):
    """The answer of external.metrics.k8s.io."""

    t: int = 0
    values: list[str] | None = None
    error: str | None = None


class Metrics(msgspec.Struct):
    """Every answer available at a sync."""

    resource: ResourceAnswer | None = None
    pods: dict[str, PodsAnswer] | None = None
    object: dict[str, ObjectAnswer] | None = None
    external: dict[str, ExternalAnswer] | None = None


class Outcome(msgspec.Struct, rename="camel"):
    """What a sync decided: `status` as JSON without condition messages, `events` as [type, reason]."""

    scaled_to: int | None
    status: dict[str, Any]
    status_writes: int
    events: list[tuple[str, str]]


class Tick(msgspec.Struct, rename="camel"):
    """One sync, `t` seconds after the start."""

    t: int
    scale: Scale
    metrics: Metrics = msgspec.field(default_factory=Metrics)
    hpa_spec: dict[str, Any] | None = None
    pods: dict[str, Pod | None] | None = None
    outcome: Outcome | None = None


class Recording:
    """One file: its header, and its ticks read one at a time."""

    def __init__(self, path: Path) -> None:
        """Open the file and read the header.

        Raises:
            RecordingError: the file cannot be read, is empty, or its first line is no header of a format we know.
        """
        self.path = path
        self._lines = read_lines(path)
        first = first_line(path, self._lines)
        # Before anything else of it: another version may have other fields.
        check_format(path, *first, (FORMAT_V1,))
        self.header: Header = decoded(path, *first, _HEADER)

    def ticks(self) -> Iterator[tuple[int, Tick]]:
        """Line number and tick, once, in order.

        Raises:
            RecordingError: a line is malformed, cut off, or earlier than the one before.
        """
        previous: int | None = None
        for number, line in self._lines:
            tick = decoded(self.path, number, line, _TICK)
            if previous is not None and tick.t <= previous:
                raise RecordingError(
                    f"{self.path}:{number}: t is {tick.t}, after {previous} on the tick before; ticks must be in order"
                )
            previous = tick.t
            yield number, tick


_HEADER: Final = msgspec.json.Decoder(Header)
_TICK: Final = msgspec.json.Decoder(Tick)
