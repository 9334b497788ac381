"""The whole lab in virtual time, with a rule of thumb in place of a controller."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from math import ceil
from pathlib import Path
from typing import Any, TypeVar

import looptime
import pytest
import yaml

from controller.lab.lab import BUILT_IN, Happening, Lab
from controller.lab.scenario_files import load_scenario
from controller.lab.serving.hpa_targets import targets
from controller.lab.snapshot import HPAS, HpaView, Tally
from tests.lab.objects import rollout_definition

LAB = "apiVersion: lab.hpa-controller.io/v1alpha1\nkind: "
T = TypeVar("T")


def in_virtual_time(story: Callable[[], Awaitable[T]]) -> T:
    """What a story comes to when time jumps from timer to timer, so that a busy machine changes nothing."""

    async def told() -> T:
        return await story()

    with asyncio.Runner(loop_factory=looptime.new_event_loop) as runner:
        return runner.run(told())


@contextlib.asynccontextmanager
async def moving(
    path: Path,
    folder: Path,
    *,
    faults: Sequence[str] = (),
    listener: Callable[[Happening], None] = lambda _: None,
) -> AsyncIterator[Lab]:
    """A lab that moves until the end of the block, without its server."""
    lab = Lab(load_scenario(path), folder, faults=faults, listener=listener)
    task = asyncio.create_task(lab.run())
    try:
        yield lab
        assert not task.done(), task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class RuleOfThumb:
    """Scales the built-in scenario by what its metrics APIs know, up at once and down by one after a while."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._calm: dict[str, int] = {}

    def sync(self) -> None:
        for view in self._lab.look():
            wanted = self._wanted(view)
            if wanted is None:
                continue
            wanted = min(max(wanted, view.replicas_min), view.replicas_max)
            self._calm[view.name] = self._calm.get(view.name, 0) + 1 if wanted < view.replicas else 0
            if wanted < view.replicas and self._calm[view.name] < 4:
                continue
            if wanted != view.replicas:
                name = view.target.partition("/")[2]
                self._lab.cluster.set_replicas("deployments.apps", name, wanted, view.namespace)

    def _wanted(self, view: HpaView) -> int | None:
        feed = self._lab.cluster.metrics
        match view.name:
            case "web":
                used = [
                    int(usage.containers["app"]["cpu"].removesuffix("n")) / 1e9
                    for (_, pod), usage in feed.pods.items()
                    if pod.startswith("web-")
                ]
                return ceil(sum(used) / 0.12) if used else None
            case "worker":
                [sample] = feed.external["shop", "queue_messages_ready"]
                return ceil(int(sample.value.removesuffix("m")) / 1000 / 30)
            case "api":
                samples = [sample for found in feed.custom["http_requests_per_second"].values() for sample in found]
                rates = [int(sample.value.removesuffix("m")) / 1000 for sample in samples]
                return ceil(sum(rates) / 10) if rates else None
            case _:
                return None


def test_the_built_in_scenario_moves_both_ways_within_two_minutes(tmp_path: Path) -> None:
    happened: list[Happening] = []

    async def story() -> tuple[Lab, list[list[HpaView]]]:
        looks = []
        async with moving(BUILT_IN, tmp_path, listener=happened.append) as lab:
            rule = RuleOfThumb(lab)
            while lab.passed_s < 120:
                rule.sync()
                looks.append(lab.look())
                await asyncio.sleep(3)
        return lab, looks

    lab, looks = in_virtual_time(story)
    for index, name in enumerate(("api", "legacy", "web", "worker")):
        counts = [views[index].replicas for views in looks]
        assert looks[0][index].name == name
        if name == "legacy":
            assert set(counts) == {2}
            continue
        peak = counts.index(max(counts))
        assert min(counts[:peak]) < counts[peak] > min(counts[peak:]), (name, counts)
        assert all(0 <= views[index].ready <= views[index].replicas_max + 3 for views in looks)
    worker = [views[3].replicas for views in looks]
    assert 0 in worker
    assert max(worker[worker.index(0) :]) > 0

    summary = lab.summary()
    assert summary.duration_s >= 120
    for view in looks[0]:
        tally, counts = (
            summary.tallies[view.key],
            [found.replicas for views in looks for found in views if found.key == view.key],
        )
        assert tally.seen_s == pytest.approx(summary.duration_s, abs=5)
        assert tally.least <= min(counts) <= tally.average <= max(counts) <= tally.most
        assert bool(tally.ups) == bool(tally.downs) == (view.name != "legacy")
        assert 0 <= tally.at_max_s <= tally.seen_s
        assert 0 <= tally.unserved_share < 0.5
    assert [item.message for item in happened if item.kind == "timeline"] == ["gets image shop/web:1.1"]
    assert sum(item.reason == "ScalingReplicaSet" for item in happened) == summary.events["ScalingReplicaSet"] > 0
    times = [item.at_s for item in happened]
    assert times == sorted(times)
    # The rollout that came in mid-load has ended, and nobody of the old version is left.
    images = {
        pod["spec"]["containers"][0]["image"] for pod in lab.cluster.list("pods", "shop", label_selector="app=web")
    }
    assert images == {"shop/web:1.1"}


def test_a_fault_says_what_begins_and_that_it_ends(tmp_path: Path) -> None:
    told: list[tuple[str, str, str]] = []

    def listen(happening: Happening) -> None:
        if happening.kind == "fault":
            told.append((happening.subject, happening.reason, happening.message))

    async def story() -> None:
        async with moving(BUILT_IN, tmp_path, faults=("watch-drop",), listener=listen):
            await asyncio.sleep(45)

    in_virtual_time(story)
    assert told[:2] == [
        ("watch-drop", "begins", "all watches are cut"),
        ("watch-drop", "ends", "all is as before"),
    ]


def test_while_metrics_are_to_be_empty_nobody_sees_any(tmp_path: Path) -> None:
    async def story() -> tuple[list[bool], list[bool]]:
        quiet: list[bool] = []
        hit: list[bool] = []
        async with moving(BUILT_IN, tmp_path, faults=("metrics-empty",)) as lab:
            feed = lab.cluster.metrics
            while lab.passed_s < 45:
                known = bool(feed.pods or any(feed.external.values()) or any(feed.custom.values()))
                if lab.passed_s > 10:
                    (hit if lab.active_faults else quiet).append(known)
                await asyncio.sleep(0.25)
        return quiet, hit

    quiet, hit = in_virtual_time(story)
    assert len(hit) > 5
    assert not any(hit)
    assert any(quiet)


MINE = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: mine, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: mine}}
  template:
    metadata: {labels: {app: mine}}
    spec: {containers: [{name: app, image: "mine:1", resources: {requests: {cpu: 200m}}}]}
---
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: {name: mine, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: mine}
  minReplicas: 2
  maxReplicas: 9
  targetCPUUtilizationPercentage: 60
---
apiVersion: lab.hpa-controller.io/v1alpha1
kind: Lab
spec: {scrapeInterval: 10s}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text)
    return path


def test_a_users_file_of_an_older_version_gets_a_load_that_crosses_its_target_both_ways(tmp_path: Path) -> None:
    async def story() -> tuple[list[float], str]:
        ratios = []
        async with moving(write(tmp_path, MINE), tmp_path) as lab:
            assert lab.notes == []
            while lab.passed_s < 600:
                usages = [usage for (_, name), usage in lab.cluster.metrics.pods.items() if name.startswith("mine-")]
                if lab.passed_s > 45:
                    assert len(usages) == 3
                    total_s = sum(int(usage.containers["app"]["cpu"].removesuffix("n")) for usage in usages) / 1e9
                    ratios.append(total_s / 3 / 0.2 / 0.6)
                await asyncio.sleep(10)
            [view] = lab.look()
        return ratios, view.load

    ratios, load = in_virtual_time(story)
    peak = ratios.index(max(ratios))
    assert min(ratios[:peak]) < 0.9
    assert ratios[peak] > 1.5
    assert min(ratios[peak:]) < 0.9
    assert load.endswith(" pods' worth")


async def test_the_view_of_an_hpa_is_what_its_objects_say(tmp_path: Path) -> None:
    lab = Lab(load_scenario(write(tmp_path, MINE)), tmp_path)
    [before] = lab.look()
    assert (before.key, before.target) == ("shop/mine", "Deployment/mine")
    assert (before.replicas, before.ready, before.desired) == (3, 0, 0)
    assert (before.replicas_min, before.replicas_max) == (2, 9)
    assert (before.conditions, before.last_scale, before.targets) == ({}, "", "cpu: <unknown>/60%")
    hpa = lab.cluster.get(HPAS, "mine", "shop")
    current = {
        "type": "Resource",
        "resource": {"name": "cpu", "current": {"averageUtilization": 75, "averageValue": "150m"}},
    }
    condition = {
        "type": "ScalingActive",
        "status": "True",
        "reason": "ValidMetricFound",
        "message": "computed",
        "lastTransitionTime": "2026-01-01T00:00:05Z",
    }
    hpa["status"] = {
        "currentReplicas": 3,
        "desiredReplicas": 4,
        "lastScaleTime": "2026-01-01T00:00:09Z",
        "currentMetrics": [current],
        "conditions": [condition],
    }
    lab.cluster.update_status(HPAS, hpa)
    lab.cluster.set_replicas("deployments.apps", "mine", 4, "shop")
    for name, is_ready in (("a", "True"), ("b", "False")):
        pod = {
            "metadata": {"name": name, "namespace": "shop", "labels": {"app": "mine"}},
            "spec": {"containers": [{"name": "app", "image": "mine:1"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": is_ready}]},
        }
        lab.cluster.create("pods", pod, with_status=True)
    [after] = lab.look()
    assert (after.replicas, after.desired, after.last_scale) == (4, 4, "2026-01-01T00:00:09Z")
    assert after.targets == targets(hpa["spec"]["metrics"], [current]) == "cpu: 75%/60%"
    assert after.ready == 1
    found = after.conditions["ScalingActive"]
    assert (found.status, found.reason, found.message) == ("True", "ValidMetricFound", "computed")
    lab.cluster.delete("deployments.apps", "mine", "shop")
    [gone] = lab.look()
    assert (gone.replicas, gone.ready, gone.desired) == (0, 0, 4)


def view(replicas: int, most: int = 5) -> HpaView:
    return HpaView("default", "a", "Deployment/a", "", replicas, replicas, replicas, 1, most, "", {}, "")


def test_a_tally_weighs_by_time() -> None:
    tally = Tally()
    assert tally.average == 0
    for replicas, step_s in ((1, 10), (1, 10), (5, 5), (5, 5), (2, 10)):
        tally.note(view(replicas), step_s)
    assert (tally.seen_s, tally.at_max_s, tally.average) == (40, 10, 2.25)
    assert (tally.least, tally.most, tally.ups, tally.downs, tally.last) == (1, 5, 1, 1, 2)


async def test_a_load_can_be_held_and_let_go(tmp_path: Path) -> None:
    lab = Lab(load_scenario(BUILT_IN), tmp_path)
    lab.hold("shop", "web", 500)
    lab._traffic.step()
    assert {found.name: found.load for found in lab.look()}["web"] == "500 req/s"
    lab.hold("shop", "web", None)
    lab._traffic.step()
    assert {found.name: found.load for found in lab.look()}["web"] != "500 req/s"


async def test_started_within_a_block_it_serves_and_names_its_kubeconfig(tmp_path: Path) -> None:
    async with Lab(load_scenario(BUILT_IN), tmp_path) as lab:
        document = yaml.safe_load(lab.kubeconfig.read_text())
        address = document["clusters"][0]["cluster"]["server"].removeprefix("http://")
        host, _, port = address.partition(":")
        assert document["contexts"][0]["context"]["namespace"] == "shop"
        _, writer = await asyncio.open_connection(host, int(port))
        writer.close()
        await writer.wait_closed()
    with pytest.raises(OSError):  # noqa: PT011 - which one is the system's choice
        await asyncio.open_connection(host, int(port))


async def test_a_load_without_its_target_is_noted(tmp_path: Path) -> None:
    curve = "points: [{at: 0s, value: 1}]"
    text = LAB + "Load\nmetadata: {name: a}\nspec: {target: {kind: %s, name: b}, equivalent: {pods: {" + curve + "}}}"
    said = {
        "Deployment": "there is no Deployment b in namespace default",
        "Gadget": "the lab has no kind Gadget",
        "ConfigMap": "a ConfigMap has no scale",
    }
    for kind, why in said.items():
        lab = Lab(load_scenario(write(tmp_path, text % kind)), tmp_path)
        assert [note for note in lab.notes if note.endswith(f": Load a acts on nothing: {why}")]


@pytest.mark.parametrize(
    "spec", [{}, {"replicas": 2}, {"replicas": "two", "pods": "a=b"}, {"replicas": 2, "pods": "((("}]
)
def test_a_target_without_sense_moves_nothing_and_stops_nothing(tmp_path: Path, spec: dict[str, Any]) -> None:
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    definition = {**kind, **rollout_definition(labelSelectorPath=".spec.pods")}
    reference = {"apiVersion": "example.com/v1", "kind": "Rollout", "name": "odd"}
    odd = {
        "apiVersion": "example.com/v1",
        "kind": "Rollout",
        "metadata": {"name": "odd", "namespace": "shop"},
        "spec": spec,
    }
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
    }
    hpa = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "odd", "namespace": "shop"},
        "spec": {"scaleTargetRef": reference, "maxReplicas": 3, "metrics": [metric]},
    }
    path = write(tmp_path, yaml.safe_dump_all([odd, hpa, definition]) + "---\n" + MINE)

    async def story() -> list[HpaView]:
        async with moving(path, tmp_path) as lab:
            await asyncio.sleep(20)
            return lab.look()

    mine, odd_view = in_virtual_time(story)
    assert (odd_view.name, odd_view.ready) == ("odd", 0)
    assert (mine.name, mine.ready) == ("mine", 3)


def test_a_server_that_cannot_come_back_ends_the_lab(tmp_path: Path) -> None:
    async def restarted() -> None:
        with socket.create_server(("127.0.0.1", 0)) as holder:
            lab = Lab(load_scenario(BUILT_IN), tmp_path, faults=("api-restart",), port=holder.getsockname()[1])
            await asyncio.wait_for(lab.run(), 120)

    with pytest.raises(OSError, match=r"(?i)address already in use"):
        in_virtual_time(restarted)
