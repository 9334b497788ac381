"""A metric's value as the number that people look at (percent, an average, a total), and that number made different."""

import msgspec

from controller.decide.result import Decision, Proposal
from controller.decide.spec import MetricSpec, Target
from controller.decide.working import PodsWorking
from controller.explain.changes import MetricReads, Moment, counted, with_total
from controller.explain.wording import amount, metric_name, resource_of

_PERCENT = 100


class Level(msgspec.Struct, frozen=True):
    """The present value of one metric of a sync, and how to get another one.

    Attributes:
        index: which metric of the spec.
        unit: what a level counts: `percent` of the requests, milli-units of an `average` over pods, or of a `total`.
        level: the present one; `target` what it should be.
        shares: the samples that count, of per-pod metrics.
        requested_milli: what the pods that count request, None unless the unit is percent.
    """

    index: int
    unit: str
    level: int
    target: int
    shares: dict[str, int]
    requested_milli: int | None = None

    def at(self, level: int) -> MetricReads:
        """The change that makes it that level: the smallest total that does."""
        if self.unit == "percent":
            # Percentages are truncated, so this is where one begins.
            return MetricReads(self.index, -(-level * (self.requested_milli or 0) // _PERCENT))
        if self.unit == "average":
            return MetricReads(self.index, level * len(self.shares))
        return MetricReads(self.index, level)

    def applied(self, moment: Moment, level: int) -> Moment:
        """The moment at that level: what `changed` makes of `at`, without deciding first."""
        change = self.at(level)
        return with_total(moment, self.index, change.total_milli, self.shares)


def level_of(moment: Moment, decision: Decision, index: int) -> Level | None:
    """The value of a metric; None where it gave no proposal."""
    if decision.evaluation is None:
        return None
    result, target = decision.evaluation.results[index], _target(moment.autoscaler.metrics[index])
    if not isinstance(result, Proposal) or target is None:
        return None
    working = result.working
    if isinstance(working, PodsWorking):
        shares, usage = counted(moment, decision, index), working.usage
        if usage.utilization is not None and usage.requested_milli is not None:
            wanted = target.average_utilization or 0
            return Level(index, "percent", usage.utilization, wanted, shares, usage.requested_milli)
        return Level(index, "average", usage.average_milli, target.average_value_milli or 0, shares)
    return Level(index, "total", working.usage_milli, working.target_milli * (working.replicas or 1), {})


def told(level: Level, metric: MetricSpec, value: int) -> str:
    """A value of that metric: `74 %`, `250m`, `33.001`."""
    return f"{value} %" if level.unit == "percent" else amount(value, resource_of(metric))


def named(level: Level, metric: MetricSpec) -> str:
    """What has that value: `average CPU`, `backlog (external)`."""
    name = metric_name(metric)
    return name if level.unit == "total" else f"average {name}"


def _target(metric: MetricSpec) -> Target | None:
    target = getattr(metric, "target", None)
    return target if isinstance(target, Target) else None
