"""What an explanation consists of; the shape of `docs/explain-schema.json`."""

import msgspec

from controller.explain.alternatives import Alternative


class PodTold(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A pod whose sample does not count as it is: its group, why, and the usage that was assumed for it instead."""

    name: str
    group: str
    why: str
    assumed: str = ""


class MetricTold(msgspec.Struct, frozen=True, rename="camel"):
    """One metric of the spec.

    Attributes:
        name: in words; `type` as in the spec.
        current, target: the value and what it should be; empty when there is none. `assumed` is the value with what
            was assumed for pods that are missing or not ready, empty where that was not needed.
        ratio: of usage to target, None for a metric that failed or has no finite one.
        replicas: what it asks for, None for a metric that failed.
        binds: whether its count is the one that was gone on with.
        arithmetic: how the count comes about, line by line.
        error: why it failed, or empty.
        pods_used: how many pods count; None where the metric is not one of pods.
        pods: those that do not, or not as they are.
        ages_s: how old its data was, youngest and oldest in seconds; None where the answer did not tell.
        origin: the source that was asked, `annotation` for a query of the HPA's own; empty for the metrics API.
        remedy: what to do about one that failed; empty where nothing is known to help.
    """

    name: str
    type: str
    current: str = ""
    target: str = ""
    assumed: str = ""
    ratio: float | None = None
    replicas: int | None = None
    binds: bool = False
    arithmetic: tuple[str, ...] = ()
    error: str = ""
    pods_used: int | None = None
    pods: tuple[PodTold, ...] = ()
    ages_s: tuple[float, float] | None = None
    origin: str = ""
    remedy: str = ""


class Requests(msgspec.Struct, frozen=True, rename="camel"):
    """What a sync asked of API servers, at most: `metrics` questions may be shared with other HPAs."""

    metrics: int
    scale_writes: int
    status_writes: int
    events: int


class Explained(msgspec.Struct, frozen=True, rename="camel"):
    """One sync in words.

    Attributes:
        summary: what was decided and why, in one sentence.
        not_written: why nothing was written although something was to be; empty otherwise.
        alternatives: what would have to change for another outcome; each has been decided on.
        alternatives_complete: False when they were not looked for, or not all.
        metrics: each one's arithmetic and pods.
        windows: stabilization windows, policies and bounds, with the entries that bind.
        requests: what it cost; `notes` say what is not known.
    """

    summary: str
    not_written: str
    alternatives: tuple[Alternative, ...]
    alternatives_complete: bool
    metrics: tuple[MetricTold, ...]
    windows: tuple[str, ...]
    requests: Requests
    notes: tuple[str, ...] = ()
