"""§25.1: CPU utilization, one line per case. Each pod has two containers; usage and requests (1000) are per container.

`utilization` and `raw` are what the status reports: the first computation, before anything is filled in (§6.4).
"""

from dataclasses import dataclass

import pytest

from controller.decide.observed import Pod, ResourceReading
from tests.builders import container, container_metric, cpu, pod, pods, requests, usage, usage_item
from tests.decide.syncs import DEFAULT_TOLERANCE, failure, proposal

BOTH = ("container1", "container2")


def requesting(*each_milli: int) -> tuple[Pod, ...]:
    """Ready pods of two containers each, by what each of the two requests."""
    return tuple(
        pod(f"web-{index}", requests=requests(*(container(name, {"cpu": milli}) for name in BOTH)))
        for index, milli in enumerate(each_milli)
    )


def used(*each_milli: int | None) -> ResourceReading:
    """Both containers of each pod use so much."""
    return usage(*each_milli, containers=BOTH)


def used_by_both(*each_milli: tuple[int, int] | tuple[int]) -> ResourceReading:
    """What the first and the second container of each pod use; one number: the second is not there."""
    items = [dict(zip(BOTH, milli, strict=False)) for milli in each_milli]
    return ResourceReading(
        tuple(
            usage_item(f"web-{index}", {name: {"cpu": milli} for name, milli in item.items()})
            for index, item in enumerate(items)
        )
    )


TWO = requests(*(container(name, {"cpu": 1000}) for name in BOTH))
LARGE = requests(*(container(name, {"cpu": 2000}) for name in BOTH))


def ready(count: int, first: int = 0) -> tuple[Pod, ...]:
    return pods(count, first=first, requests=TWO)


def unready(count: int, first: int = 0) -> tuple[Pod, ...]:
    """Not ready since their start, which is long ago."""
    return pods(count, first=first, requests=TWO, ready="False")


def just_started(count: int, first: int = 0) -> tuple[Pod, ...]:
    """Ready already, but the window of their samples began before they were."""
    return pods(count, first=first, requests=TWO, started_s=-30, ready_since_s=-20)


def pending(count: int, first: int = 0) -> tuple[Pod, ...]:
    return pods(count, first=first, requests=TWO, phase="Pending", ready="False")


def failed(count: int, first: int = 0) -> tuple[Pod, ...]:
    return pods(count, first=first, requests=TWO, phase="Failed", ready="False")


def deleted(count: int, first: int = 0) -> tuple[Pod, ...]:
    return pods(count, first=first, requests=TWO, deleted=True, ready="False")


@dataclass(frozen=True)
class Case:
    """R, the target in percent, the pods and what they use; then proposal, reported percent and average."""

    replicas: int
    target: int
    listed: tuple[Pod, ...]
    reading: ResourceReading
    proposed: int
    utilization: int
    raw: int
    named: str = ""
    tolerance: tuple[float, float] = DEFAULT_TOLERANCE


JITTERED = requesting(400, 200, 310, 290, 302, 298, 301, 299, 300, 300)
UNEVEN = requesting(900, 1000, 1100)

CASES = {
    "25.1.2 scale up": Case(3, 30, ready(3), used(300, 500, 700), 5, 50, 1000),
    "25.1.3 one container": Case(
        3, 30, ready(3), used_by_both((1000, 300), (1000, 500), (1000, 700)), 5, 50, 500, named="container2"
    ),
    "25.1.4 one pod unready": Case(3, 30, (*unready(1), *ready(2, 1)), used(300, 500, 700), 4, 60, 1200),
    "25.1.5 refill flips the direction": Case(3, 30, (*ready(1), *unready(2, 1)), used(400, 500, 700), 3, 40, 800),
    "25.1.6 one pod just started": Case(3, 30, (*just_started(1), *ready(2, 1)), used(300, 500, 700), 4, 60, 1200),
    "25.1.7 failed pods": Case(2, 30, (*ready(2), *failed(2, 2)), used(500, 700), 4, 60, 1200),
    "25.1.8 pods being deleted": Case(2, 30, (*ready(2), *deleted(2, 2)), used(500, 700), 4, 60, 1200),
    "25.1.9 failed pods lack the container": Case(
        2,
        30,
        (*ready(2), *failed(2, 2)),
        used_by_both((1000, 500), (9000, 700), (1000,), (9000,)),
        4,
        60,
        600,
        named="container2",
    ),
    "25.1.10 unready pods with samples": Case(
        5, 50, (*ready(3), *unready(2, 3)), used(100, 300, 500, 250, 250), 2, 30, 600
    ),
    "25.1.11 pending pods": Case(5, 50, (*ready(1), *pending(4, 1)), used(100), 1, 10, 200),
    "25.1.11 pending pods with samples": Case(
        5, 50, (*ready(1), *pending(4, 1)), used(100, 300, 500, 250, 250), 1, 10, 200
    ),
    "25.1.12 failed pods beside": Case(5, 50, (*ready(5), *failed(2, 5)), used(100, 300, 500, 250, 250), 3, 28, 560),
    "25.1.12 deleted pods beside": Case(5, 50, (*ready(5), *deleted(2, 5)), used(100, 300, 500, 250, 250), 3, 28, 560),
    "25.1.13 within tolerance": Case(3, 100, UNEVEN, used(1010, 1030, 1020), 3, 102, 2040),
    "25.1.14 tolerance 0": Case(3, 100, UNEVEN, used(909, 1010, 1111), 4, 101, 2020, tolerance=(0.0, 0.0)),
    "25.1.14 up 2.0": Case(3, 100, UNEVEN, used(1890, 1910, 1900), 3, 190, 3800, tolerance=(0.1, 2.0)),
    "25.1.14 up 0.08": Case(3, 100, UNEVEN, used(1100, 1080, 1090), 4, 109, 2180, tolerance=(2.0, 0.08)),
    "25.1.14 down 0.36": Case(3, 100, UNEVEN, used(660, 640, 650), 3, 65, 1300, tolerance=(0.36, 0.1)),
    "25.1.14 down 0.34": Case(3, 100, UNEVEN, used(660, 640, 650), 2, 65, 1300, tolerance=(0.34, 0.1)),
    "25.1.15 samples of unknown pods": Case(4, 100, ready(4), used(4000, 9500, 3000, 7000, 3200, 2000), 24, 587, 11750),
    "25.1.16 missing samples": Case(4, 100, ready(4), used(400, 95), 3, 24, 495),
    "25.1.18 missing sample at target": Case(2, 100, ready(2), used(1000), 2, 100, 2000),
    "25.1.18 missing sample above target": Case(2, 100, ready(2), used(1900), 2, 190, 3800),
    "25.1.18 missing sample below target": Case(2, 100, ready(2), used(600), 2, 60, 1200),
    "25.1.19 unready and missing": Case(3, 50, (*unready(1), *ready(2, 1)), used(100, 450), 3, 45, 900),
    "25.1.20 unready and missing, up": Case(3, 50, (*unready(1), *ready(2, 1)), used(100, 2000), 4, 200, 4000),
    "25.1.21 unready and missing, down": Case(4, 50, (*unready(1), *ready(3, 1)), used(100, 100, 100), 3, 10, 200),
    "25.1.22 target above 100": Case(
        4,
        300,
        (*unready(1), *ready(1, 1), *pods(2, first=2, requests=LARGE)),
        used(200, 100, 100),
        2,
        6,
        200,
    ),
    "25.1.23 surge": Case(2, 50, ready(3), used(100, 100), 2, 10, 200),
    "25.1.24 just outside tolerance": Case(10, 56, JITTERED, used(*[150] * 10), 9, 50, 300),
    "25.1.24 just inside tolerance": Case(10, 55, JITTERED, used(*[150] * 10), 10, 50, 300),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_cpu_utilization(case: Case) -> None:
    metric = container_metric(case.named, case.target) if case.named else cpu(case.target)
    result = proposal(metric, case.reading, replicas=case.replicas, listed=case.listed, tolerance=case.tolerance)
    assert result.replicas == case.proposed
    assert result.status.average_utilization == case.utilization
    assert result.status.average_value is not None
    assert result.status.average_value.milli() == case.raw


FAILURES = {
    "25.1.1 the only sample is an unknown pod's": (
        ready(1),
        usage(others={"unknown": 100}),
        "no metrics returned matched known pods",
    ),
    "25.1.17 no samples": (ready(4), usage(), "no metrics returned from resource metrics API"),
    "25.1.17 no request": (pods(1, requests=requests(container("app", {}))), usage(200), "missing request for cpu"),
}


@pytest.mark.parametrize(("listed", "reading", "text"), FAILURES.values(), ids=FAILURES)
def test_cpu_utilization_fails(listed: tuple[Pod, ...], reading: ResourceReading, text: str) -> None:
    result = failure(cpu(100), reading, replicas=len(listed), listed=listed)
    assert result.reason == "FailedGetResourceMetric"
    assert text in result.error
