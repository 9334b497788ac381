"""What readings tell of pods, and readings as they might have been: with another total of the metric."""

from collections.abc import Mapping

from msgspec.structs import replace

from controller.decide.observed import (
    ContainerUsage,
    ExternalReading,
    ObjectReading,
    PodsReading,
    PodUsage,
    Reading,
    ResourceReading,
)
from controller.decide.spec import ContainerResourceMetric, MetricSpec, ResourceMetric


def with_reading_total(reading: Reading, metric: MetricSpec, total_milli: int, shares: Mapping[str, int]) -> Reading:
    """The reading with that total, spread over pods in proportion to `shares`; as it was where it has no numbers."""
    match reading:
        case ObjectReading():
            return replace(reading, value_milli=total_milli)
        case ExternalReading(values_milli=values) if values:
            return replace(reading, values_milli=(total_milli,))
        case PodsReading(samples=samples):
            spread = _spread(total_milli, shares)
            return PodsReading(
                {
                    pod: replace(sample, value_milli=spread.get(pod, sample.value_milli))
                    for pod, sample in samples.items()
                }
            )
        case ResourceReading(items=items) if isinstance(metric, ResourceMetric | ContainerResourceMetric):
            spread = _spread(total_milli, shares)
            container = metric.container if isinstance(metric, ContainerResourceMetric) else ""
            return ResourceReading(
                tuple(
                    _using(item, metric.name, container, spread[item.pod]) if item.pod in spread else item
                    for item in items
                )
            )
        case _:
            return reading


def pods_of(reading: Reading) -> set[str]:
    """The names of the pods that it tells anything about."""
    match reading:
        case ResourceReading(items=items):
            return {item.pod for item in items}
        case PodsReading(samples=samples):
            return set(samples)
        case _:
            return set()


def values_milli(reading: Reading, metric: MetricSpec) -> dict[str, int]:
    """Milli-units by pod, of pods that have all that the metric adds up."""
    match reading:
        case PodsReading(samples=samples):
            return {pod: sample.value_milli for pod, sample in samples.items()}
        case ResourceReading(items=items) if isinstance(metric, ResourceMetric | ContainerResourceMetric):
            container = metric.container if isinstance(metric, ContainerResourceMetric) else ""
            values: dict[str, int] = {}
            for item in items:
                used = [one for one in item.containers if not container or one.name == container]
                if used and all(metric.name in one.usage_milli for one in used):
                    values[item.pod] = sum(one.usage_milli[metric.name] for one in used)
            return values
        case _:
            return {}


def _spread(total_milli: int, shares: Mapping[str, int]) -> dict[str, int]:
    """Whole numbers that add up to the total."""
    if not shares:
        return {}
    whole = sum(shares.values())
    if whole <= 0 or min(shares.values()) < 0:
        shares, whole = dict.fromkeys(shares, 1), len(shares)
    spread = {pod: total_milli * share // whole for pod, share in shares.items()}
    rest = total_milli - sum(spread.values())
    for pod in list(spread)[:rest]:
        spread[pod] += 1
    return spread


def _using(item: PodUsage, resource: str, container: str, milli: int) -> PodUsage:
    """The pod's item with that usage: all of it in the first container that counts; those that count all have one."""
    containers: list[ContainerUsage] = []
    placed = False
    for used in item.containers:
        if container and used.name != container:
            containers.append(used)
            continue
        containers.append(replace(used, usage_milli={**used.usage_milli, resource: 0 if placed else milli}))
        placed = True
    return replace(item, containers=tuple(containers))
