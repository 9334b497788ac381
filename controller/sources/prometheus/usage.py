"""Usage of pods by `resourceRules`: cpu and memory queried at once, put together by container."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from controller.decide.observed import ContainerUsage, PodUsage, ResourceReading
from controller.sources.prometheus.answers import Point, PrometheusError, Vector
from controller.sources.prometheus.labels import NAMESPACES, PODS, LabelMapping
from controller.sources.prometheus.mapper import ResourceNames
from controller.sources.prometheus.matchers import Matchers
from controller.sources.prometheus.rules import UsageRule, UsageRules

Ask = Callable[[str, int], Awaitable[Vector]]
"""A vector for a query and the line of its rule."""


async def usage_reading(
    rules: UsageRules, names: ResourceNames, namespace: str, pods: Sequence[str], ask: Ask
) -> ResourceReading:
    """The usage of the pods that have both cpu and memory, in name order.

    A container that has only one of both uses nothing of the other. What is below zero counts as zero; a container with
    NaN or infinity has no usage of that resource, so that its pod has no metric.

    Raises:
        PrometheusError: a query failed.
        MappingError: labels and resources do not fit.
        QueryError: a query cannot be made.
    """
    cpu, memory = await asyncio.gather(
        _points(rules.cpu, names, namespace, pods, ask), _points(rules.memory, names, namespace, pods, ask)
    )
    items = [
        _item(pod, {"cpu": cpu[pod], "memory": memory[pod]}, rules.window_ns)
        for pod in sorted(pods)
        if pod in cpu and pod in memory
    ]
    return ResourceReading(tuple(items))


async def _points(
    rule: UsageRule, names: ResourceNames, namespace: str, pods: Sequence[str], ask: Ask
) -> dict[str, dict[str, Point]]:
    """The series of each pod by container."""
    mapping = LabelMapping(rule.mapping, names)
    matchers = Matchers()
    matchers.add_equal(mapping.label_of(NAMESPACES), namespace)
    label = mapping.label_of(PODS)
    matchers.add_objects(label, pods)
    vector = await ask(matchers.fill(rule.query, "", (label, rule.container_label)), rule.line)
    found: dict[str, dict[str, Point]] = {}
    for point in vector.points:
        containers = found.setdefault(point.labels.get(label, ""), {})
        container = point.labels.get(rule.container_label, "")
        if container in containers:
            raise PrometheusError(
                f"the rule in line {rule.line} gives two series or more for one container; let its query aggregate",
                f"ambiguous {rule.line}",
            )
        containers[container] = point
    return found


def _item(pod: str, found: dict[str, dict[str, Point]], window_ns: int) -> PodUsage:
    times = [point.at_ns for containers in found.values() for point in containers.values()]
    names = sorted(set().union(*found.values()))
    containers = []
    for name in names:
        usage = {}
        for resource, points in found.items():
            point = points.get(name)
            if point is None:
                usage[resource] = 0
            elif point.value_milli is not None:
                usage[resource] = max(0, point.value_milli)
        containers.append(ContainerUsage(name, usage))
    return PodUsage(pod, min(times), window_ns, tuple(containers))
