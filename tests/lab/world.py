"""A cluster in which things move, with time that a test moves."""

from collections.abc import Callable
from typing import Any

from controller.lab.behaviour.kubelet import Kubelet
from controller.lab.behaviour.recorder import Recorder
from controller.lab.behaviour.scheduler import make_node
from controller.lab.behaviour.workloads import Workloads
from controller.lab.clock import LabClock
from controller.lab.cluster import Cluster
from tests.lab.hands import Hands

STEP_S = 0.25
DEPLOYMENTS = "deployments.apps"
REPLICA_SETS = "replicasets.apps"

_STEPS_MAX = 60
_WAIT_MAX_S = 900


class World:
    """Controllers, scheduler and kubelet on three nodes; `history` has every state that was reached."""

    def __init__(self, *, nodes: int = 3, cpu: str = "32", seed: int = 1) -> None:
        self.hands = Hands()
        self.cluster = Cluster(LabClock(self.hands), seed=seed)
        recorder = Recorder(self.cluster)
        self.workloads = Workloads(self.cluster, recorder)
        self.kubelet = Kubelet(self.cluster, recorder, seed)
        for number in range(1, nodes + 1):
            self.cluster.create("nodes", make_node(number, cpu=cpu), with_status=True)

    def step(self) -> None:
        for _ in range(_STEPS_MAX):
            if not any([self.workloads.step(), self.kubelet.step()]):
                return
        raise AssertionError(f"still busy after {_STEPS_MAX} rounds without time passing")

    def run(self, seconds: float, look: Callable[[], None] = lambda: None) -> None:
        """Let time pass in small steps; `look` is called after each."""
        for _ in range(round(seconds / STEP_S)):
            self.hands.now_s += STEP_S
            self.step()
            look()

    def run_until(self, reached: Callable[[], bool], look: Callable[[], None] = lambda: None) -> float:
        """How many seconds passed until something was reached, which must happen."""
        begin = self.hands.now_s
        self.step()
        while not reached():
            assert self.hands.now_s - begin < _WAIT_MAX_S, "it is not reached"
            self.run(STEP_S, look)
        return self.hands.now_s - begin

    def pods(self, **labels: str) -> list[dict[str, Any]]:
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        return self.cluster.list("pods", "default", label_selector=selector)

    def names(self, **labels: str) -> list[str]:
        return [pod["metadata"]["name"] for pod in self.pods(**labels)]

    def status(self, resource: str, name: str) -> dict[str, Any]:
        status: dict[str, Any] = self.cluster.get(resource, name)["status"]
        return status

    def reasons(self, name: str) -> list[str]:
        """The reasons of the Events about an object."""
        found = self.cluster.list("events", "default", field_selector=f"involvedObject.name={name}")
        return [event["reason"] for event in found]


def workload(
    name: str = "web",
    *,
    replicas: int = 3,
    image: str = "app:1",
    annotations: dict[str, str] | None = None,
    cpu: str = "100m",
    **spec: Any,
) -> dict[str, Any]:
    container = {"name": "app", "image": image, "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}, "annotations": annotations or {}},
                "spec": {"containers": [container]},
            },
            **spec,
        },
    }


def set_image(world: World, resource: str, name: str, image: str) -> None:
    def change(obj: dict[str, Any]) -> None:
        obj["spec"]["template"]["spec"]["containers"][0]["image"] = image

    world.cluster.modify(resource, name, change)


def conditions(obj: dict[str, Any]) -> dict[str, str]:
    return {item["type"]: item["status"] for item in obj["status"].get("conditions") or ()}
