"""The life of pods: placed, started, ready, in trouble, gone."""

import itertools
from typing import Any

import pytest

from controller.lab.behaviour.habits import PREFIX, TROUBLE
from controller.lab.objects.resources import Object
from controller.lab.operations.deletion import DeleteOptions
from tests.lab.world import World, conditions

NOMINAL_START_UP_S = 2.0


def make(world: World, name: str = "a", *, spec: dict[str, Any] | None = None, **annotations: str) -> Object:
    """Create a bare pod; annotations as `start_up="5s"`."""
    marks = {PREFIX + key.replace("_", "-"): text for key, text in annotations.items()}
    container: dict[str, Any] = {"name": "app", "image": "app:1"}
    body = {"metadata": {"name": name, "annotations": marks}, "spec": {"containers": [container], **(spec or {})}}
    return world.cluster.create("pods", body)


def mark(world: World, name: str, trouble: str | None) -> None:
    def change(pod: Object) -> None:
        marks = pod["metadata"].setdefault("annotations", {})
        if trouble is None:
            marks.pop(TROUBLE, None)
        else:
            marks[TROUBLE] = trouble

    world.cluster.modify("pods", name, change)


def ready(world: World, name: str = "a") -> bool:
    return conditions(world.cluster.get("pods", name)).get("Ready") == "True"


def restarts(world: World, name: str = "a") -> int:
    count: int = world.status("pods", name)["containerStatuses"][0]["restartCount"]
    return count


def test_a_pod_starts_and_gets_ready_at_once_without_a_probe() -> None:
    world = World()
    make(world)
    world.step()
    placed = world.status("pods", "a")
    assert placed["phase"] == "Pending"
    assert placed["startTime"] == world.cluster.clock.timestamp()
    assert conditions(world.cluster.get("pods", "a"))["PodScheduled"] == "True"
    assert "podIP" not in placed
    passed_s = world.run_until(lambda: ready(world))
    assert 0.8 * NOMINAL_START_UP_S <= passed_s <= 1.2 * NOMINAL_START_UP_S + 0.25
    running = world.status("pods", "a")
    assert (running["phase"], running["startTime"]) == ("Running", placed["startTime"])
    assert running["containerStatuses"][0]["state"]["running"]["startedAt"] == world.cluster.clock.timestamp()
    assert set(world.reasons("a")) == {"Scheduled", "Started"}


def test_a_readiness_probe_makes_a_pod_run_before_it_is_ready() -> None:
    world = World()
    probed = {"name": "app", "image": "app:1", "readinessProbe": {"initialDelaySeconds": 5, "exec": {"command": ["a"]}}}
    make(world, spec={"containers": [probed]})
    world.run_until(lambda: world.status("pods", "a")["phase"] == "Running")
    assert not ready(world)
    turned = world.cluster.get("pods", "a")["status"]["conditions"]
    passed_s = world.run_until(lambda: ready(world))
    assert 5 <= passed_s <= 7
    before = {item["type"]: item["lastTransitionTime"] for item in turned}
    after = {item["type"]: item["lastTransitionTime"] for item in world.status("pods", "a")["conditions"]}
    assert after["Ready"] > before["Ready"]
    assert after["PodScheduled"] == before["PodScheduled"]


def test_start_up_times_differ_from_pod_to_pod_and_repeat_with_the_seed() -> None:
    def times(seed: int) -> list[float]:
        world = World(seed=seed)
        names = [f"pod-{number}" for number in range(8)]
        for name in names:
            make(world, name, start_up="20s")
        begun: dict[str, float] = {}

        def look() -> None:
            for name in names:
                if ready(world, name):
                    begun.setdefault(name, world.hands.now_s)

        world.run_until(lambda: len(begun) == len(names), look)
        return [begun[name] for name in names]

    first = times(1)
    assert first == times(1)
    assert first != times(2)
    assert all(16 <= at_s <= 24.25 for at_s in first)
    assert len(set(first)) > 2


def test_a_pod_that_never_gets_ready_runs_until_it_is_healed() -> None:
    world = World()
    make(world, trouble="unready")
    world.run(60)
    assert world.status("pods", "a")["phase"] == "Running"
    assert not ready(world)
    mark(world, "a", None)
    assert world.run_until(lambda: ready(world)) < 1
    mark(world, "a", "unready")
    world.run(1)
    assert not ready(world)
    assert "Unhealthy" in world.reasons("a")


def test_a_pod_that_is_held_back_is_placed_when_it_is_let_go() -> None:
    world = World()
    make(world, trouble="pending")
    world.run(30)
    assert conditions(world.cluster.get("pods", "a")) == {"PodScheduled": "False"}
    assert "startTime" not in world.status("pods", "a")
    assert world.reasons("a") == ["FailedScheduling"]
    mark(world, "a", None)
    world.run_until(lambda: ready(world))


def test_a_pod_that_no_node_takes_waits_for_room() -> None:
    world = World(nodes=1, cpu="1")
    big = {"containers": [{"name": "app", "image": "app:1", "resources": {"requests": {"cpu": "700m"}}}]}
    make(world, "first", spec=big)
    make(world, "second", spec=big)
    world.run_until(lambda: ready(world, "first"))
    world.run(30)
    [problem] = [item for item in world.status("pods", "second")["conditions"] if item["type"] == "PodScheduled"]
    assert (problem["status"], problem["reason"]) == ("False", "Unschedulable")
    assert problem["message"] == "0/1 nodes are available: 1 with too little cpu"
    world.cluster.delete("pods", "first")
    assert world.run_until(lambda: ready(world, "second")) < 10


def test_a_crashing_pod_restarts_after_pauses_that_grow() -> None:
    world = World()
    make(world, trouble="crash")
    ends: list[float] = []
    seen = 0

    def look() -> None:
        nonlocal seen
        status = world.status("pods", "a")["containerStatuses"][0]
        if status["restartCount"] > seen:
            seen = status["restartCount"]
            ends.append(world.hands.now_s)

    world.run_until(lambda: seen == 5, look)
    pauses = [later - earlier for earlier, later in itertools.pairwise(ends)]
    # Each start is followed by three seconds of running, then 10, 20, 40 and 80 seconds of waiting.
    assert pauses == pytest.approx([13, 23, 43, 83], abs=0.5)
    status = world.status("pods", "a")
    assert status["phase"] == "Running"
    assert status["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 1
    assert "BackOff" in world.reasons("a")
    mark(world, "a", None)
    world.run_until(lambda: ready(world))
    known = restarts(world)
    world.run(120)
    assert restarts(world) == known


def test_one_crash_is_followed_by_one_restart() -> None:
    world = World()
    make(world)
    assert not world.kubelet.crash("default", "a")
    world.run_until(lambda: ready(world))
    assert world.kubelet.crash("default", "a")
    assert not ready(world)
    assert world.run_until(lambda: ready(world)) < 2
    assert restarts(world) == 1
    assert not world.kubelet.crash("default", "gone")


@pytest.mark.parametrize(("stop_after", "grace_s", "stays_s"), [("4s", 30, 4), ("90s", 7, 7), ("0s", 30, 0)])
def test_a_deleted_pod_stays_until_it_has_ended_or_its_grace_is_over(
    stop_after: str, grace_s: int, stays_s: float
) -> None:
    world = World()
    make(world, spec={"terminationGracePeriodSeconds": grace_s}, stop_after=stop_after)
    world.run_until(lambda: ready(world))
    world.cluster.delete("pods", "a")
    if stays_s:
        world.step()
        assert "deletionTimestamp" in world.cluster.get("pods", "a")["metadata"]
    assert world.run_until(lambda: world.names() == []) == pytest.approx(stays_s, abs=0.3)


def test_a_pod_that_is_deleted_by_force_is_gone_at_once() -> None:
    world = World()
    make(world, stop_after="60s")
    world.run_until(lambda: ready(world))
    world.cluster.delete("pods", "a", options=DeleteOptions(grace_period_s=0))
    world.step()
    assert world.names() == []


def test_an_annotation_that_means_nothing_is_said_and_ignored() -> None:
    world = World()
    make(world, start_up="soon")
    world.run_until(lambda: ready(world))
    [event] = world.cluster.list("events", "default", field_selector="reason=InvalidAnnotation")
    assert event["type"] == "Warning"
    assert PREFIX + "start-up" in event["message"]
    assert "'soon'" in event["message"]
