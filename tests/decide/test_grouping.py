"""§8 and §25.3: how a pod counts, and why."""

import pytest

from controller.decide.observed import Pod, Sample
from controller.decide.pods import count_ready, group
from controller.decide.spec import Settings
from controller.decide.working import GROUPS, PodGroup, Verdict
from tests.builders import now, pod, pods, samples, settings
from tests.decide.syncs import UPSTREAM

MINUTE = 60


def sample(*, at_s: float = 0, window_s: float = 60) -> Sample:
    return samples(100, at_s=at_s, window_s=window_s).samples["web-0"]


def verdict(listed: Pod, read: Sample | None, resource: str = "cpu", under: Settings = UPSTREAM) -> Verdict:
    """One pod's verdict; that it is also in the group it says is checked on the way."""
    grouping = group((listed,), {} if read is None else {listed.name: read}, resource, under, now())
    found = grouping.verdicts[listed.name]
    names = {
        PodGroup.READY: grouping.ready,
        PodGroup.UNREADY: len(grouping.unready),
        PodGroup.MISSING: len(grouping.missing),
        PodGroup.IGNORED: len(grouping.ignored),
    }
    assert {pod_group for pod_group, count in names.items() if count} == {GROUPS[found]}
    return found


CASES = {
    "25.3.1 Succeeded, memory, no conditions": (
        pod(phase="Succeeded", ready=None, started_s=None),
        sample(),
        "memory",
        Verdict.READY,
    ),
    "25.3.2 no Ready condition": (pod(ready=None), sample(), "cpu", Verdict.NO_READY_CONDITION),
    "25.3.3 window since it is ready": (
        pod(started_s=-MINUTE, ready_since_s=-30),
        sample(window_s=30),
        "cpu",
        Verdict.READY,
    ),
    "25.3.3 window from before it was ready": (
        pod(started_s=-MINUTE, ready_since_s=-30),
        sample(window_s=60),
        "cpu",
        Verdict.SAMPLE_TOO_EARLY,
    ),
    "25.3.4 unready 6 s after its start": (
        pod(started_s=-10 * MINUTE, ready="False", ready_since_s=-10 * MINUTE + 6),
        sample(),
        "cpu",
        Verdict.NEVER_READY,
    ),
    "25.3.4 unready 10 s after its start": (
        pod(started_s=-10 * MINUTE, ready="False", ready_since_s=-10 * MINUTE + 10),
        sample(),
        "cpu",
        Verdict.READY,
    ),
    "25.3.4 unready 60 s after its start": (
        pod(started_s=-10 * MINUTE, ready="False", ready_since_s=-10 * MINUTE + 60),
        sample(),
        "cpu",
        Verdict.READY,
    ),
    "25.3.5 old sample after initialisation": (
        pod(started_s=-3 * MINUTE, ready_since_s=-3 * MINUTE),
        sample(at_s=-2 * MINUTE),
        "cpu",
        Verdict.READY,
    ),
    "25.3.6 neither sample nor condition": (pod(ready=None), None, "cpu", Verdict.NO_SAMPLE),
    "25.3.7 Pending without sample": (pod(phase="Pending"), None, "cpu", Verdict.PENDING),
    "25.3.7 Pending and deleted": (pod(phase="Pending", deleted=True), None, "cpu", Verdict.DELETED),
    "25.3.7 Failed with sample": (pod(phase="Failed"), sample(), "cpu", Verdict.FAILED),
}


@pytest.mark.parametrize(("listed", "read", "resource", "expected"), CASES.values(), ids=CASES)
def test_upstream_case(listed: Pod, read: Sample | None, resource: str, expected: Verdict) -> None:
    assert verdict(listed, read, resource) is expected


VERDICTS = {
    # The order of the tests (§8.1): each pod fulfils all later conditions, too.
    "deleted before failed": (pod(deleted=True, phase="Failed"), None, "cpu", Verdict.DELETED),
    "failed before missing": (pod(phase="Failed", ready=None), None, "cpu", Verdict.FAILED),
    "pending before missing": (pod(phase="Pending", ready=None), None, "cpu", Verdict.PENDING),
    "pending although it has a sample": (pod(phase="Pending"), sample(), "memory", Verdict.PENDING),
    "missing before the Ready condition": (pod(ready=None, started_s=None), None, "cpu", Verdict.NO_SAMPLE),
    "no condition before no start": (pod(ready=None, started_s=None), sample(), "cpu", Verdict.NO_READY_CONDITION),
    "no start": (pod(started_s=None), sample(), "cpu", Verdict.NOT_STARTED),
    "unready while it starts": (pod(started_s=-30, ready="False"), sample(), "cpu", Verdict.INITIALIZING_UNREADY),
    # Phases and statuses that are not named are ordinary (§8.1, §8.2).
    "phase Unknown": (pod(phase="Unknown"), sample(), "cpu", Verdict.READY),
    "phase Succeeded": (pod(phase="Succeeded"), sample(), "cpu", Verdict.READY),
    "no phase": (pod(phase=""), sample(), "cpu", Verdict.READY),
    "Ready Unknown after initialisation": (
        pod(ready="Unknown", ready_since_s=-3600),
        sample(),
        "cpu",
        Verdict.READY,
    ),
    "Ready Unknown while it starts, early sample": (
        pod(started_s=-30, ready="Unknown", ready_since_s=-20),
        sample(),
        "cpu",
        Verdict.SAMPLE_TOO_EARLY,
    ),
    "Ready Unknown while it starts, late sample": (
        pod(started_s=-30, ready="Unknown", ready_since_s=-20),
        sample(window_s=20),
        "cpu",
        Verdict.READY,
    ),
    # Readiness is for cpu alone (§8.1).
    "memory, never ready": (pod(ready="False"), sample(), "memory", Verdict.READY),
    "Pods metric, never ready": (pod(ready="False"), sample(), "", Verdict.READY),
    "Pods metric, no start": (pod(started_s=None, ready=None), sample(), "", Verdict.READY),
    "another resource, starting": (pod(started_s=0, ready="False"), sample(), "hugepages-2Mi", Verdict.READY),
    # Every edge of §8.2 is strict.
    "initialisation ends now": (pod(started_s=-300, ready="False"), sample(), "cpu", Verdict.NEVER_READY),
    "initialisation ends in a moment": (
        pod(started_s=-299.999, ready="False"),
        sample(),
        "cpu",
        Verdict.INITIALIZING_UNREADY,
    ),
    "window begins as it gets ready": (
        pod(started_s=-100, ready_since_s=-60),
        sample(),
        "cpu",
        Verdict.READY,
    ),
    "window begins a moment before it gets ready": (
        pod(started_s=-100, ready_since_s=-59.999),
        sample(),
        "cpu",
        Verdict.SAMPLE_TOO_EARLY,
    ),
    "unready as the delay ends": (
        pod(ready="False", ready_since_s=-3570),
        sample(),
        "cpu",
        Verdict.READY,
    ),
    "unready a moment before the delay ends": (
        pod(ready="False", ready_since_s=-3570.001),
        sample(),
        "cpu",
        Verdict.NEVER_READY,
    ),
    "early sample after initialisation": (
        pod(started_s=-400, ready_since_s=-1),
        sample(),
        "cpu",
        Verdict.READY,
    ),
}


@pytest.mark.parametrize(("listed", "read", "resource", "expected"), VERDICTS.values(), ids=VERDICTS)
def test_verdict(listed: Pod, read: Sample | None, resource: str, expected: Verdict) -> None:
    assert verdict(listed, read, resource, settings()) is expected


def test_every_verdict_is_in_a_table() -> None:
    assert {case[3] for case in (*CASES.values(), *VERDICTS.values())} == set(Verdict) == set(GROUPS)


def test_settings_move_the_edges() -> None:
    starting = pod(started_s=-299, ready="False", ready_since_s=-200)
    assert verdict(starting, sample(), under=settings()) is Verdict.INITIALIZING_UNREADY
    assert verdict(starting, sample(), under=settings(cpu_initialization_period_s=299)) is Verdict.READY
    longer = settings(cpu_initialization_period_s=0, initial_readiness_delay_s=100)
    assert verdict(starting, sample(), under=longer) is Verdict.NEVER_READY
    assert verdict(pod(started_s=0, ready="False"), sample(), under=settings(cpu_initialization_period_s=0)) is (
        Verdict.NEVER_READY
    )


def test_groups_keep_the_order_of_the_pods() -> None:
    listed = (*pods(2, phase="Pending"), *pods(2, first=2), *pods(2, first=4, deleted=True), *pods(2, first=6))
    grouping = group(listed, {"web-6": sample(), "ghost": sample()}, "cpu", settings(), now())
    assert grouping.unready == ("web-0", "web-1")
    assert grouping.missing == ("web-2", "web-3", "web-7")
    assert grouping.ignored == ("web-4", "web-5")
    assert grouping.ready == 1
    assert list(grouping.verdicts) == [listed_pod.name for listed_pod in listed]


@pytest.mark.parametrize(
    ("listed", "ready"),
    [
        ((), 0),
        (pods(3), 3),
        (pods(1, deleted=True), 1),
        (pods(1, phase="Pending"), 0),
        (pods(1, phase="Succeeded"), 0),
        (pods(1, ready="False"), 0),
        (pods(1, ready="Unknown"), 0),
        (pods(1, ready=None), 0),
        (pods(1, started_s=None), 1),
    ],
)
def test_pods_that_count_for_value_targets(listed: tuple[Pod, ...], ready: int) -> None:
    """§7.3: Running and Ready; those being deleted still count."""
    assert count_ready(listed) == ready
