"""What a time line makes happen, when, where, and what is said when it cannot."""

from typing import Any

import msgspec
import pytest

from controller.lab.load.traffic import Traffic
from controller.lab.scenario import Timeline, TimelineSpec
from controller.lab.timeline import Steps
from tests.lab.world import DEPLOYMENTS, World, workload

WEB = {"kind": "Deployment", "name": "web"}


class Told:
    """A world with a time line in it; `said` has what was announced and when."""

    def __init__(self, *steps: dict[str, Any], repeat_every: str = "", namespace: str = "") -> None:
        self.world = World()
        self.world.cluster.create("namespaces", {"metadata": {"name": "shop"}})
        for place in ("default", "shop"):
            body = workload()
            body["metadata"]["namespace"] = place
            self.world.cluster.create(DEPLOYMENTS, body)
        self.world.run(20)
        self.begin_s = self.world.hands.now_s
        self.said: list[tuple[float, str, str]] = []
        spec = msgspec.convert({"steps": steps, "repeatEvery": repeat_every}, TimelineSpec)
        traffic = Traffic(self.world.cluster, (), 15.0)
        self.steps = Steps(self.world.cluster, traffic, [Timeline(namespace, spec)], "default", self.announce)

    def announce(self, subject: str, text: str) -> None:
        self.said.append((self.world.hands.now_s - self.begin_s, subject, text))

    def run(self, seconds: float) -> list[tuple[float, str, str]]:
        self.world.run(seconds, self.steps.step)
        return self.said

    def image(self, namespace: str = "default") -> str:
        spec = self.world.cluster.get(DEPLOYMENTS, "web", namespace)["spec"]
        image: str = spec["template"]["spec"]["containers"][0]["image"]
        return image


def test_steps_happen_at_their_times_in_their_order() -> None:
    told = Told(
        {"at": "9s", "setReplicas": {"target": WEB, "replicas": 1}},
        {"at": "2s", "setImage": {"target": WEB, "image": "app:2"}},
        {"at": "5s", "deletePods": {"target": WEB, "count": 2}},
    )
    assert told.run(1.5) == []
    assert told.image() == "app:1"
    assert told.run(1) == [(2, "Deployment web", "gets image app:2")]
    assert told.image() == "app:2"
    assert told.run(10)[1:] == [
        (5, "Deployment web", "loses 2 pods"),
        (9, "Deployment web", "is scaled by hand to 1"),
    ]
    told.run(60)
    assert len(told.world.names()) == 1
    assert len(told.said) == 3


def test_the_oldest_pods_go_and_none_twice() -> None:
    told = Told(
        {"at": "1s", "deletePods": {"target": WEB}},
        {"at": "1250ms", "deletePods": {"target": WEB, "count": 9}},
        {"at": "1250ms", "deletePods": {"target": WEB, "count": 9}},
    )
    before = told.world.names()
    told.run(1)
    leaving = [pod for pod in told.world.pods() if "deletionTimestamp" in pod["metadata"]]
    assert [pod["metadata"]["name"] for pod in leaving] == before[:1]
    told.run(0.25)
    # The two that are left and the one that came for the first; then nobody is left to go.
    assert [text for _, _, text in told.said] == ["loses one pod", "loses 3 pods", "loses 0 pods"]
    told.run(30)
    assert len(told.world.names()) == 3
    assert set(told.world.names()).isdisjoint(before)


def test_a_time_line_repeats_from_its_beginning() -> None:
    off = {"at": "2s", "metrics": {"group": "metrics.k8s.io", "available": False}}
    on = {"at": "4s", "metrics": {"group": "metrics.k8s.io", "available": True}}
    told = Told(off, on, repeat_every="10s")
    assert [(at_s, text) for at_s, _, text in told.run(25)] == [
        (2, "answers no more"),
        (4, "answers again"),
        (12, "answers no more"),
        (14, "answers again"),
        (22, "answers no more"),
        (24, "answers again"),
    ]
    told.run(7.5)
    assert told.world.cluster.metrics.unavailable == {"metrics.k8s.io"}


def test_repeating_does_not_add_up_delays() -> None:
    told = Told({"at": "2100ms", "deletePods": {"target": WEB}}, repeat_every="10100ms")
    assert [at_s for at_s, _, _ in told.run(40)] == [2.25, 12.25, 22.5, 32.5]


def test_steps_that_are_late_together_keep_their_order() -> None:
    told = Told(
        {"at": "4s", "setImage": {"target": WEB, "image": "app:4"}},
        {"at": "3s", "setImage": {"target": WEB, "image": "app:3"}},
    )
    told.world.hands.now_s += 100
    told.steps.step()
    assert told.image() == "app:4"


@pytest.mark.parametrize(("namespace", "images"), [("", ("app:2", "app:1")), ("shop", ("app:1", "app:2"))])
def test_a_time_line_acts_in_its_namespace(namespace: str, images: tuple[str, str]) -> None:
    told = Told({"at": "1s", "setImage": {"target": WEB, "image": "app:2"}}, namespace=namespace)
    told.run(2)
    assert (told.image("default"), told.image("shop")) == images


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (
            {"setImage": {"target": {"kind": "Deployment", "name": "gone"}, "image": "a"}},
            'deployments.apps "gone" not found',
        ),
        ({"setReplicas": {"target": {"kind": "Gadget", "name": "web"}, "replicas": 1}}, "the lab has no kind Gadget"),
        (
            {"deletePods": {"target": {"kind": "Deployment", "name": "gone"}}},
            "there is no Deployment gone in namespace default",
        ),
        (
            {"setImage": {"target": {"kind": "ConfigMap", "name": "plain"}, "image": "a"}},
            "ConfigMap plain has no template",
        ),
        ({"deletePods": {"target": {"kind": "ConfigMap", "name": "plain"}}}, "a ConfigMap has no scale"),
        ({"setReplicas": {"target": {"kind": "ConfigMap", "name": "plain"}, "replicas": 1}}, '"plain" not found'),
    ],
)
def test_a_step_that_cannot_be_done_is_said_and_the_next_is_done(step: dict[str, Any], why: str) -> None:
    told = Told({"at": "1s", **step}, {"at": "2s", "setReplicas": {"target": WEB, "replicas": 5}})
    told.world.cluster.create("configmaps", {"metadata": {"name": "plain"}})
    [(_, subject, text), (_, _, later)] = told.run(3)
    assert (subject, text[: len("the step at 1s failed: ")]) == ("timeline", "the step at 1s failed: ")
    assert why in text
    assert later == "is scaled by hand to 5"
