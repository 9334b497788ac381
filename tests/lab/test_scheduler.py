"""Which node takes a pod, and what is said when none does."""

from typing import Any

import pytest

from controller.lab.behaviour.scheduler import Refusal, Scheduler, make_node
from controller.lab.clock import LabClock
from controller.lab.cluster import Cluster
from tests.lab.hands import Hands


def cluster_of(*nodes: dict[str, Any]) -> Cluster:
    cluster = Cluster(LabClock(Hands()))
    for node in nodes:
        cluster.create("nodes", node, with_status=True)
    return cluster


def pod(name: str = "a", cpu: str = "0", memory: str = "0", **spec: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": cpu, "memory": memory}}
    return {
        "metadata": {"name": name, "uid": name},
        "spec": {"containers": [{"name": "c", "resources": resources}], **spec},
    }


def test_pods_go_where_most_room_is_left() -> None:
    scheduler = Scheduler(cluster_of(make_node(1, cpu="4"), make_node(2, cpu="8"), make_node(3, cpu="2")))
    chosen = []
    for number in range(6):
        item = pod(str(number), cpu="1")
        node = scheduler.choose(item)
        assert isinstance(node, str)
        scheduler.occupy(item, node)
        chosen.append(node)
    assert {node: chosen.count(node) for node in set(chosen)} == {"node-1": 2, "node-2": 4}


def test_room_counts_exactly_and_comes_back() -> None:
    scheduler = Scheduler(cluster_of(make_node(1, cpu="1")))
    for number in range(10):
        item = pod(str(number), cpu="100m")
        assert scheduler.choose(item) == "node-1"
        scheduler.occupy(item, "node-1")
    assert isinstance(scheduler.choose(pod("late", cpu="1m")), Refusal)
    scheduler.release("3")
    scheduler.release("3")
    scheduler.release("never seen")
    assert scheduler.choose(pod("late", cpu="100m")) == "node-1"
    assert isinstance(scheduler.choose(pod("late", cpu="101m")), Refusal)


def test_the_same_pod_counts_once() -> None:
    scheduler = Scheduler(cluster_of(make_node(1, cpu="1")))
    for _ in range(5):
        scheduler.occupy(pod("a", cpu="600m"), "node-1")
    assert scheduler.choose(pod("b", cpu="400m")) == "node-1"


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (pod(cpu="3"), "0/3 nodes are available: 1 cordoned, 2 with too little cpu"),
        (pod(memory="3Gi"), "0/3 nodes are available: 1 cordoned, 2 with too little memory"),
        (
            pod(nodeSelector={"disk": "fast"}, cpu="3"),
            "0/3 nodes are available: 1 cordoned, 1 with too little cpu, 1 without the labels of the node selector",
        ),
    ],
)
def test_a_refusal_counts_the_nodes_by_what_is_in_the_way(item: dict[str, Any], message: str) -> None:
    fast = make_node(1, cpu="2", memory="2Gi")
    fast["metadata"]["labels"]["disk"] = "fast"
    cordoned = make_node(3, cpu="64")
    cordoned["spec"] = {"unschedulable": True}
    scheduler = Scheduler(cluster_of(fast, make_node(2, cpu="2", memory="2Gi"), cordoned))
    assert scheduler.choose(item) == Refusal(message)


def test_the_number_of_pods_is_limited_too() -> None:
    scheduler = Scheduler(cluster_of(make_node(1, pods="1")))
    scheduler.occupy(pod("a"), "node-1")
    assert scheduler.choose(pod("b")) == Refusal("0/1 nodes are available: 1 full of pods")
    assert Scheduler(cluster_of()).choose(pod()) == Refusal("there are no nodes")
