"""One HPA in one row: what is kept of its last sync, and what of that is shown."""

import math
from typing import Final, Literal

import msgspec

from controller.decide.instants import NANOSECONDS, Now, format_rfc3339
from controller.decide.observed import Observation
from controller.decide.result import Decision, Path, Proposal
from controller.decide.spec import Gates, MetricSpec
from controller.decide.working import PodsWorking
from controller.explain.metrics import ages_s, binding_index
from controller.explain.wording import amount, metric_name, resource_of

PATH: Final = "/top"
TWIN_REMEDY: Final = (
    "find it with `kubectl get pods -A -l app.kubernetes.io/part-of=hpa-controller` and `kubectl get leases -A`; "
    "uninstall one, or have one look on with --shadow"
)
"""What to do about another hpa-controller that scales the same HPAs."""

Limit = Literal["", "max", "min", "rate", "window", "paused", "failed", "error"]
"""What the count was stopped by: a bound, a rate limit, a window; or why none was decided."""

_LIMITS: Final[dict[str, Limit]] = {
    "TooManyReplicas": "max",
    "TooFewReplicas": "min",
    "ScaleUpLimit": "rate",
    "ScaleDownLimit": "rate",
}
_PATHS: Final[dict[Path, Limit]] = {
    Path.SCALE_UNREADABLE: "error",
    Path.SELECTOR_REFUSED: "error",
    Path.PAUSED: "paused",
    Path.ABOVE_MAX: "max",
    Path.BELOW_MIN: "min",
    Path.UNDECIDED: "failed",
}


class Summary(msgspec.Struct, frozen=True, gc=False):
    """What is kept of a sync: numbers, and values that live anyway.

    `current` and `target` of the binding metric are percent if `percent`, else milli-units; `metric` is None when none
    binds. `gap_s` is the time since the sync before, 0 after the first one. `data_age_s` is that of the oldest sample.
    """

    at_ns: int
    gap_s: float
    replicas: int | None
    desired: int | None
    metric: MetricSpec | None
    current: int
    target: int
    percent: bool
    ratio: float
    limited_by: Limit
    last_scale_ns: int | None
    data_age_s: float | None
    error: str
    not_written: str


class Row(msgspec.Struct, frozen=True, rename="camel"):
    """One HPA. Fields are None or empty where nothing is known, as for one that was not synced yet.

    `twin`: another hpa-controller scales it, too.
    """

    namespace: str
    name: str
    replicas: int | None = None
    desired: int | None = None
    metric: str = ""
    current: str = ""
    target: str = ""
    ratio: float | None = None
    limited_by: Limit = ""
    last_scale: str | None = None
    last_scale_s: float | None = None
    synced_s: float | None = None
    data_age_s: float | None = None
    lag_s: float | None = None
    error: str = ""
    not_written: str = ""
    twin: bool = False


class Rows(msgspec.Struct, frozen=True, rename="camel"):
    """The answer of `/top`; `partial` says what is missing, empty if nothing is.

    `gates` are those decided under. `from_apis`: the families of metrics that are read from their APIs, be it among
    other sources; None from a controller that is older than that.
    """

    rows: tuple[Row, ...]
    version: str = ""
    partial: str = ""
    gates: Gates | None = None
    from_apis: tuple[str, ...] | None = None


def summarised(
    observation: Observation,
    metrics: tuple[MetricSpec, ...],
    decision: Decision,
    now: Now,
    *,
    gap_s: float,
    last_scale_ns: int | None,
    not_written: str,
) -> Summary:
    """What is kept of a sync."""
    index = binding_index(decision)
    metric, current, target, percent, ratio, age_s = None, 0, 0, False, 0.0, None
    if index is not None and decision.evaluation is not None:
        metric, result = metrics[index], decision.evaluation.results[index]
        assert isinstance(result, Proposal)  # noqa: S101 - only a proposal binds
        working = result.working
        if isinstance(working, PodsWorking):
            usage = working.usage
            asked = getattr(metric, "target", None)
            percent = usage.utilization is not None
            current = usage.utilization if usage.utilization is not None else usage.average_milli
            target = (asked.average_utilization if percent else asked.average_value_milli) or 0 if asked else 0
            ratio = (working.refilled or usage).ratio
        else:
            # For each replica, as kubectl shows it; without any there is only the total.
            current = -(-working.usage_milli // (working.replicas or 1))
            target, ratio = working.target_milli, working.ratio
        ages = ages_s(observation.readings[index], now.wall_ns)
        age_s = ages[1] if ages is not None else None
    return Summary(
        at_ns=now.wall_ns,
        gap_s=gap_s,
        replicas=decision.replicas,
        desired=decision.desired,
        metric=metric,
        current=current,
        target=target,
        percent=percent,
        ratio=ratio,
        limited_by=limited_by(decision),
        last_scale_ns=last_scale_ns,
        data_age_s=age_s,
        error=decision.error or "",
        not_written=not_written,
    )


def limited_by(decision: Decision) -> Limit:
    """What stopped the count, the last one if several did."""
    if decision.path is not Path.METRICS:
        return _PATHS[decision.path]
    limit, stabilization = decision.limit, decision.stabilization
    if limit is not None and limit.reason in _LIMITS:
        return _LIMITS[limit.reason]
    if stabilization is not None and stabilization.stabilized != stabilization.desired:
        return "window"
    return ""


def row(namespace: str, name: str, summary: Summary | None, wall_ns: int, period_s: float) -> Row:
    """What is shown of it at that wall time; ages grow until the next sync."""
    if summary is None:
        return Row(namespace, name)
    metric, since_s = summary.metric, (wall_ns - summary.at_ns) / NANOSECONDS
    last_ns = summary.last_scale_ns
    return Row(
        namespace=namespace,
        name=name,
        replicas=summary.replicas,
        desired=summary.desired,
        metric=metric_name(metric) if metric is not None else "",
        current=_value(summary, metric, summary.current),
        target=_value(summary, metric, summary.target),
        ratio=round(summary.ratio, 4) if metric is not None and math.isfinite(summary.ratio) else None,
        limited_by=summary.limited_by,
        last_scale=_time(last_ns),
        last_scale_s=None if last_ns is None else round((wall_ns - last_ns) / NANOSECONDS, 1),
        synced_s=round(since_s, 1),
        data_age_s=None if summary.data_age_s is None else round(summary.data_age_s + since_s, 1),
        lag_s=round(max(summary.gap_s, since_s, period_s) - period_s, 1),
        error=summary.error,
        not_written=summary.not_written,
    )


def _value(summary: Summary, metric: MetricSpec | None, value: int) -> str:
    if metric is None:
        return ""
    return f"{value}%" if summary.percent else amount(value, resource_of(metric))


def _time(wall_ns: int | None) -> str | None:
    try:
        return None if wall_ns is None else format_rfc3339(wall_ns)
    except ValueError:
        return None
