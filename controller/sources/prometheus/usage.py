"""Usage of pods by `resourceRules`: cpu and memory queried at once, put together by container."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from controller.decide.observed import ContainerUsage, PodUsage, ResourceReading
from controller.sources.prometheus.answers import Point, PrometheusError, Vector
from controller.sources.prometheus.labels import NAMESPACES, PODS, LabelMapping
from controller.sources.prometheus.mapper import ResourceNames
from controller.sources.prometheus.matchers import Matchers, of_rule
from controller.sources.prometheus.rules import UsageRule, UsageRules
from controller.sources.prometheus.sample_times import Times, oldest

Ask = Callable[[str, int, Sequence[str]], Awaitable[tuple[Vector, Times]]]
"""A vector for a query and the line of its rule, and when the samples behind it were taken, by these labels."""

_Taken = tuple[Point, int | None]
"""A series, and when its oldest sample was taken; None where that is not known."""


async def usage_reading(
    rules: UsageRules, names: ResourceNames, namespace: str, pods: Sequence[str], ask: Ask
) -> ResourceReading:
    """The usage of the pods that have both cpu and memory, in name order.

    A container that has only one of both uses nothing of the other. What is below zero counts as zero; a container with
    NaN or infinity has no usage of that resource, so that its pod has no metric.

    Raises:
        PrometheusError: a query failed, leaves out whose the values are, or alone gives none.
        QueryError: what is named is no pod.
    """
    cpu, memory = await asyncio.gather(
        _points(rules.cpu, names, namespace, pods, ask), _points(rules.memory, names, namespace, pods, ask)
    )
    for rule, found, other in ((rules.cpu, cpu, memory), (rules.memory, memory, cpu)):
        if other and not found:
            raise PrometheusError(
                f"the rule in line {rule.line} gives nothing for any of the pods; usage needs both cpu and memory",
                f"empty {rule.line}",
            )
    measured = [pod for pod in sorted(pods) if pod in cpu and pod in memory]
    taken = {pod: oldest([*_taken(cpu[pod]), *_taken(memory[pod])]) for pod in measured}
    items = [_item(pod, {"cpu": cpu[pod], "memory": memory[pod]}, taken[pod], rules.window_ns) for pod in measured]
    return ResourceReading(tuple(items), undated=tuple(pod for pod in measured if taken[pod] is None))


async def _points(
    rule: UsageRule, names: ResourceNames, namespace: str, pods: Sequence[str], ask: Ask
) -> dict[str, dict[str, _Taken]]:
    """The series of each pod by container, and when their samples were taken."""
    matchers = Matchers()
    with of_rule(rule.line):
        mapping = LabelMapping(rule.mapping, names)
        matchers.add_equal(mapping.label_of(NAMESPACES), namespace)
        label = mapping.label_of(PODS)
    matchers.add_objects(label, pods)
    labels = (label, rule.container_label)
    with of_rule(rule.line):
        query = matchers.fill(rule.query, "", labels)
    vector, taken = await ask(query, rule.line, labels)
    found: dict[str, dict[str, _Taken]] = {}
    for point in vector.points:
        containers = found.setdefault(point.labels.get(label, ""), {})
        container = point.labels.get(rule.container_label, "")
        if container in containers:
            raise PrometheusError(
                f"the rule in line {rule.line} gives two series or more for one container; let its query aggregate",
                f"ambiguous {rule.line}",
            )
        containers[container] = point, taken.of(point.labels, point.at_ns)
    if found.keys() == {""}:
        raise PrometheusError(
            f"the rule in line {rule.line} gives a series without the label {label}; let its query "
            f"aggregate by {label}",
            f"unlabelled {rule.line}",
        )
    return found


def _taken(containers: dict[str, _Taken]) -> list[int | None]:
    return [at_ns for _, at_ns in containers.values()]


def _item(pod: str, found: dict[str, dict[str, _Taken]], taken_ns: int | None, window_ns: int) -> PodUsage:
    """`taken_ns` None: it is not known, and the time of the answer stands for it, as the adapter has it."""
    answered_ns = [point.at_ns for containers in found.values() for point, _ in containers.values()]
    names = sorted(set().union(*found.values()))
    containers = []
    for name in names:
        usage = {}
        for resource, points in found.items():
            if name not in points:
                usage[resource] = 0
            elif (value_milli := points[name][0].value_milli) is not None:
                usage[resource] = max(0, value_milli)
        containers.append(ContainerUsage(name, usage))
    return PodUsage(pod, min(answered_ns) if taken_ns is None else taken_ns, window_ns, tuple(containers))
