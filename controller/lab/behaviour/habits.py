"""How pods behave, as annotations say.

They belong to the pod or to the template it comes from, and can be changed while it runs:
`lab.hpa-controller.io/start-up`, `…/ready-after`, `…/stop-after` (durations) and `…/trouble` (`pending`,
`crash` or `unready`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from controller.lab.chance import spread
from controller.lab.durations import parse_duration

if TYPE_CHECKING:
    from controller.lab.objects.resources import Object

PREFIX = "lab.hpa-controller.io/"
TROUBLE = PREFIX + "trouble"
TROUBLES = ("pending", "crash", "unready")

_JITTER = 0.2
_PROBE_DELAY_S = 1.0


class Habits(msgspec.Struct, frozen=True):
    """How a pod behaves, in seconds; `trouble` is empty or one of `TROUBLES`."""

    start_up_s: float
    ready_after_s: float
    stop_after_s: float
    trouble: str = ""


def habits(pod: Object, seed: int = 0) -> Habits:
    """How a pod behaves, or would if this is a template; raises ValueError that names a wrong annotation.

    Without annotations it starts after about two seconds, is ready as soon as its readiness probe may begin, and
    ends within a second. Start-up times differ a little from pod to pod.
    """
    annotations = pod["metadata"].get("annotations") or {}
    found = {"start-up": 2.0, "ready-after": _probe_delay_s(pod["spec"]), "stop-after": 1.0}
    for name in found:
        if PREFIX + name in annotations:
            try:
                found[name] = parse_duration(annotations[PREFIX + name])
            except ValueError as error:
                raise ValueError(f"annotation {PREFIX}{name}: {error}") from error
    trouble = annotations.get(TROUBLE, "")
    if trouble and trouble not in TROUBLES:
        raise ValueError(f"annotation {TROUBLE}: {trouble!r} is none of {', '.join(TROUBLES)}")
    start_up_s = spread(found["start-up"], _JITTER, seed, pod["metadata"].get("uid", ""))
    return Habits(start_up_s, found["ready-after"], found["stop-after"], trouble)


def _probe_delay_s(spec: Object) -> float:
    probes = [container.get("readinessProbe") for container in spec.get("containers") or ()]
    delays = [probe.get("initialDelaySeconds", 0) + _PROBE_DELAY_S for probe in probes if probe]
    return float(max(delays, default=0))


def without_habits(pod: Object) -> Object:
    """The pod without annotations of this kind, for when one of them is wrong."""
    annotations = pod["metadata"].get("annotations") or {}
    kept = {key: text for key, text in annotations.items() if not key.startswith(PREFIX)}
    return {**pod, "metadata": {**pod["metadata"], "annotations": kept}}
