"""The recording format `hpa-recording/2`: syncs of a running controller, one self-contained line each.

A line holds the values that a sync was decided on, exact, so that it can be decided again without the lines before it.
See docs/recording-format.md and docs/decisions/0012-recordings-of-live-runs.md.
"""

import sys
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from controller.decide.history import History
from controller.decide.instants import NANOSECONDS, Now, format_rfc3339_ms
from controller.decide.observed import Observation, Pod, PodRequests, Readiness, Reading, Scale, ScaleFailure
from controller.decide.result import Conclusion, Write
from controller.decide.spec import Rules, Settings, Spec
from controller.decide.status import Status
from controller.recording.format_v1 import Outcome
from controller.recording.lines import FORMAT_V2
from controller.wire.status import status_to


class Header(msgspec.Struct, omit_defaults=True, kw_only=True):
    """The first line of a file.

    Attributes:
        format: `hpa-recording/2`.
        program: name and version of what recorded.
        start: when recording began, for people (RFC 3339).
        began: the same instant on both clocks; `t` of the ticks is counted from its monotonic one.
        settings: what was decided under.
        sync_period_ns: how often every HPA is synced.
        run: the same in all files of one process.
        part: counts the files of a run from 1.
        hpa: `namespace/name` when the file holds one HPA only.
    """

    format: str
    program: str
    start: str
    began: Now
    settings: Settings
    sync_period_ns: int
    run: str
    part: int = 1
    hpa: str = ""


class SeenPod(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pod; its requests are `templates[template]` of the tick. Labels are left out: only matching pods are here."""

    name: str
    phase: str
    template: int = 0
    deleted: bool = False
    started_ns: int | None = None
    ready: Readiness | None = None


class Tick(msgspec.Struct, omit_defaults=True):
    """One sync; see Sync in controller/ports/syncs.py for the values. `t` is in seconds from the header's `began`.

    `withheld` is a label that says why nothing was written, empty where writing was allowed. `taken_up`: the history is
    what an earlier term of leadership had left, and does not go on from the tick before.
    """

    t: float
    time: str
    hpa: str
    now: Now
    concluded: Now
    spec: Spec
    scale: Scale | ScaleFailure
    status: Status
    history: History
    templates: tuple[PodRequests, ...] = ()
    pods: tuple[SeenPod, ...] = ()
    readings: tuple[Reading, ...] = ()
    overlapping: tuple[str, ...] = ()
    write: Write | None = None
    withheld: str = ""
    taken_up: bool = False
    scale_read_ns: int | None = None
    outcome: Outcome | None = None

    def observation(self) -> Observation:
        """What the sync saw.

        Raises:
            IndexError: a pod names a template that is not there.
        """
        pods = tuple(
            Pod(pod.name, {}, pod.phase, self.templates[pod.template], pod.deleted, pod.started_ns, pod.ready)
            for pod in self.pods
        )
        return Observation(self.scale, self.status, pods, self.readings, self.overlapping, self.scale_read_ns)


def header(
    *, program: str, began: Now, settings: Settings, sync_period_ns: int, run: str, part: int = 1, hpa: str = ""
) -> bytes:
    """A header's line; see Header."""
    start = _instant(began.wall_ns)
    tolerance = _finite(settings.tolerance)
    shown = replace(settings, tolerance=settings.tolerance if tolerance is None else tolerance)
    return _line(
        Header(
            format=FORMAT_V2,
            program=program,
            start=start,
            began=began,
            settings=shown,
            sync_period_ns=sync_period_ns,
            run=run,
            part=part,
            hpa=hpa,
        )
    )


def tick(
    *,
    key: str,
    spec: Spec,
    observation: Observation,
    history: History,
    now: Now,
    write: Write | None,
    conclusion: Conclusion,
    concluded: Now,
    began: Now,
    withheld: str = "",
    taken_up: bool = False,
) -> bytes:
    """A sync's line.

    Raises:
        ValueError: a text in it is not Unicode.
    """
    templates: dict[int, int] = {}
    requests: list[PodRequests] = []
    pods = []
    for pod in observation.pods:
        index = templates.setdefault(id(pod.requests), len(requests))
        if index == len(requests):
            requests.append(pod.requests)
        pods.append(SeenPod(pod.name, pod.phase, index, pod.deleted, pod.started_ns, pod.ready))
    scale = observation.scale
    return _line(
        Tick(
            t=round((now.monotonic_ns - began.monotonic_ns) / NANOSECONDS, 6),
            time=_instant(now.wall_ns),
            hpa=key,
            now=now,
            concluded=concluded,
            spec=_printable(spec),
            scale=Scale(scale.replicas, scale.status_replicas, scale.selector) if isinstance(scale, Scale) else scale,
            status=observation.status,
            history=history,
            templates=tuple(requests),
            pods=tuple(pods),
            readings=observation.readings,
            overlapping=observation.overlapping,
            write=write,
            withheld=withheld,
            taken_up=taken_up,
            scale_read_ns=observation.scale_read_ns,
            outcome=outcome_of(conclusion),
        )
    )


def outcome_of(conclusion: Conclusion) -> Outcome | None:
    """What a sync came to, as version 1 has it; None when a time of the status is beyond what can be printed."""
    status = told(conclusion.status)
    if status is None:
        return None
    events = (*conclusion.events, *conclusion.events_after_status)
    return Outcome(
        scaled_to=conclusion.scaled_to,
        status=status,
        status_writes=int(conclusion.status_changed),
        events=[(event.type, event.reason) for event in events],
    )


def told(status: Status) -> dict[str, Any] | None:
    """A status as an outcome holds it: JSON without the messages of conditions; None when a time has no date."""
    try:
        body = status_to(status)
    except ValueError:
        return None
    for condition in body.get("conditions", ()):
        condition.pop("message", None)
    return body


_ENCODER: Final = msgspec.json.Encoder()


def _line(value: Header | Tick) -> bytes:
    return _ENCODER.encode(value) + b"\n"


def _instant(wall_ns: int) -> str:
    """RFC 3339 with milliseconds, for people; empty where there is no such date."""
    try:
        return format_rfc3339_ms(wall_ns)
    except ValueError:
        return ""


def _printable(spec: Spec) -> Spec:
    """The spec with tolerances that JSON can hold."""
    behavior = spec.behavior
    if behavior is None or (_holds(behavior.scale_up) and _holds(behavior.scale_down)):
        return spec
    up = replace(behavior.scale_up, tolerance=_finite(behavior.scale_up.tolerance))
    down = replace(behavior.scale_down, tolerance=_finite(behavior.scale_down.tolerance))
    return replace(spec, behavior=replace(behavior, scale_up=up, scale_down=down))


def _holds(rules: Rules) -> bool:
    return rules.tolerance == _finite(rules.tolerance)


def _finite(number: float | None) -> float | None:
    """The number, or the largest of all for one without an end: no ratio is beyond either."""
    if number is None:
        return None
    return min(max(number, -sys.float_info.max), sys.float_info.max)
