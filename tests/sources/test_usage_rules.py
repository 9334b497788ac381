"""Usage of pods put together of what two rules' queries give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from controller.decide.observed import ContainerUsage, PodUsage, ResourceReading
from controller.sources.prometheus.answers import Point, PrometheusError, Vector
from controller.sources.prometheus.mapper import Named, ResourceNames
from controller.sources.prometheus.rules import UsageRules, parse_rules
from controller.sources.prometheus.sample_times import Times
from controller.sources.prometheus.usage import usage_reading
from tests.builders import wall_ns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CPU, MEMORY = 4, 8
"""The lines of what is said of each."""
RULES = """
resourceRules:
  cpu:
    containerQuery: cpu{<<.LabelMatchers>>}[<<.GroupBy>>]
    resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}}}
    containerLabel: container
  memory:
    containerQuery: memory{<<.LabelMatchers>>}[<<.GroupBy>>]
    resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}}}
    containerLabel: container
  window: 2m
"""
WINDOW_NS = 120 * 10**9
NAMES = ResourceNames([Named("", "namespaces", "namespace"), Named("", "pods", "pod")])


def point(pod: str, container: str, value_milli: int | None, at_s: int = 0) -> Point:
    return Point({"pod": pod, "container": container}, value_milli, wall_ns(at_s))


class Answers:
    """What Prometheus says to a rule's query, and what it was asked."""

    def __init__(self, cpu: Sequence[Point] = (), memory: Sequence[Point] = (), times: Times | None = None) -> None:
        self._vectors = {"cpu": Vector(tuple(cpu)), "memory": Vector(tuple(memory))}
        self._times = times or Times()
        self.asked: list[tuple[str, int, tuple[str, ...]]] = []

    async def ask(self, query: str, line: int, labels: Sequence[str]) -> tuple[Vector, Times]:
        self.asked.append((query, line, tuple(labels)))
        return self._vectors[query.partition("{")[0]], self._times


def rules() -> UsageRules:
    usage = parse_rules(RULES, "rules.yaml").usage
    assert usage is not None
    return usage


async def read(answers: Answers, *pods: str) -> ResourceReading:
    return await usage_reading(rules(), NAMES, "shop", pods, answers.ask)


def item(pod: str, at_s: int, **containers: Mapping[str, int]) -> PodUsage:
    found = tuple(ContainerUsage(name, usage) for name, usage in containers.items())
    return PodUsage(pod, wall_ns(at_s), WINDOW_NS, found)


async def test_both_queries_name_the_namespace_the_pods_and_what_to_group_by() -> None:
    answers = Answers()
    assert await read(answers, "web-1", "web-2") == ResourceReading(())
    matchers = 'namespace="shop",pod=~"web-1|web-2"'
    assert sorted(answers.asked) == [
        (f"cpu{{{matchers}}}[pod,container]", CPU, ("pod", "container")),
        (f"memory{{{matchers}}}[pod,container]", MEMORY, ("pod", "container")),
    ]


async def test_pods_come_in_name_order_if_they_have_both_and_were_asked_for() -> None:
    cpu = [point(pod, "app", 100) for pod in ("web-3", "web-2", "web-1", "other")]
    memory = [point(pod, "app", 200) for pod in ("web-1", "web-3", "web-4", "other")]
    reading = await read(Answers(cpu, memory), "web-3", "web-2", "web-1", "web-4")
    usage = {"cpu": 100, "memory": 200}
    assert reading.items == (item("web-1", 0, app=usage), item("web-3", 0, app=usage))


async def test_a_container_without_one_of_both_uses_nothing_of_it_and_less_than_nothing_is_nothing() -> None:
    cpu = [point("web", "sidecar", 5), point("web", "app", -1)]
    memory = [point("web", "app", 200)]
    reading = await read(Answers(cpu, memory), "web")
    expected = item("web", 0, app={"cpu": 0, "memory": 200}, sidecar={"cpu": 5, "memory": 0})
    assert reading.items == (expected,)


async def test_what_is_no_number_is_left_out() -> None:
    reading = await read(Answers([point("web", "app", None)], [point("web", "app", 200)]), "web")
    assert reading.items == (item("web", 0, app={"memory": 200}),)


async def test_two_series_for_one_container_are_a_mistake_in_the_rule() -> None:
    twice = [point("web", "app", 1), point("web", "app", 2)]
    with pytest.raises(PrometheusError, match=f"the rule in line {MEMORY} gives two series or more") as caught:
        await read(Answers([point("web", "app", 1)], twice), "web")
    assert caught.value.cause == f"ambiguous {MEMORY}"


async def test_a_rule_that_leaves_out_whose_the_values_are_is_told() -> None:
    whole = [point("web", "app", 200)]
    with pytest.raises(PrometheusError, match=f"line {CPU} gives a series without the label pod; let its") as caught:
        await read(Answers([Point({}, 100, wall_ns(0))], whole), "web")
    assert caught.value.cause == f"unlabelled {CPU}"


async def test_a_rule_that_alone_of_both_gives_nothing_is_told() -> None:
    """The adapter answers with nothing, and nobody learns which of both it is."""
    some = [point("web", "app", 100)]
    for answers, line in ((Answers([], some), CPU), (Answers(some, []), MEMORY)):
        with pytest.raises(PrometheusError, match=f"the rule in line {line} gives nothing for any of the pods"):
            await read(answers, "web")
    assert await read(Answers([point("web-1", "app", 1)], [point("web-2", "app", 1)]), "web-1", "web-2") == (
        ResourceReading(())
    ), "each pod lacks one of both"


async def test_where_ages_are_not_known_the_earlier_answer_is_the_time_and_the_pod_is_undated() -> None:
    answers = Answers([point("web", "app", 1, at_s=30)], [point("web", "app", 2, at_s=20)])
    reading = await read(answers, "web")
    assert [one.timestamp_ns for one in reading.items] == [wall_ns(20)]
    assert reading.undated == ("web",)


async def test_a_pod_is_as_old_as_its_oldest_sample() -> None:
    labels = ("pod", "container")
    answers = Answers(
        [point("web", "app", 1, at_s=30), point("web", "sidecar", 1, at_s=31)],
        [point("web", "app", 2, at_s=20)],
        Times(labels, ()),
    )
    reading = await read(answers, "web")
    assert [one.timestamp_ns for one in reading.items] == [wall_ns(20)]
    assert reading.undated == ()


async def test_labels_that_name_nothing_that_is_served_are_the_rules_mistake() -> None:
    usage = parse_rules(RULES.replace("pod: {", "moon: {resource: moon}, pod: {", 1), "rules.yaml").usage
    assert usage is not None
    with pytest.raises(PrometheusError, match=f"the rule in line {CPU}: the API server serves no resource moon, "):
        await usage_reading(usage, NAMES, "shop", ["web"], Answers().ask)
