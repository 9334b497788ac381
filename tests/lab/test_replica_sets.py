"""A number of equal pods: which go first, and what else counts as one."""

from typing import Any

import pytest

from controller.lab.behaviour.habits import TROUBLE
from controller.lab.behaviour.replica_sets import DELETION_COST, deletion_order
from tests.lab.objects import rollout_definition
from tests.lab.world import REPLICA_SETS, World, workload

CONTROLLERS = "replicationcontrollers"
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
ROLLOUTS = "rollouts.example.com"
DEFINITION = rollout_definition(labelSelectorPath=".status.selector")


def ready(world: World, resource: str, name: str = "web") -> int:
    count: int = world.status(resource, name).get("readyReplicas", 0)
    return count


def pod(
    name: str,
    *,
    node: str = "node-1",
    phase: str = "Running",
    is_ready: bool = True,
    cost: str | None = None,
    restarts: int = 0,
    created: str = "2026-01-01T00:00:00Z",
) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "creationTimestamp": created,
            "annotations": {} if cost is None else {DELETION_COST: cost},
        },
        "spec": {"nodeName": node},
        "status": {
            "phase": phase,
            "conditions": [{"type": "Ready", "status": "True" if is_ready else "False"}],
            "containerStatuses": [{"restartCount": restarts}],
        },
    }


@pytest.mark.parametrize(
    ("first", "later"),
    [
        (pod("a", node=""), pod("b", phase="Pending", is_ready=False)),
        (pod("a", phase="Pending", is_ready=False), pod("b", is_ready=False)),
        (pod("a", is_ready=False, cost="9"), pod("b", cost="-9")),
        (pod("a", cost="-10"), pod("b")),
        (pod("a"), pod("b", cost="1")),
        (pod("a", restarts=3), pod("b", restarts=2)),
        (pod("a", created="2026-01-01T00:00:09Z"), pod("b")),
        (pod("a", cost="-1"), pod("b", cost="cheap")),
    ],
)
def test_those_that_are_missed_least_go_first(first: dict[str, Any], later: dict[str, Any]) -> None:
    assert deletion_order([first, later])[0] is first
    assert deletion_order([later, first])[0] is first


@pytest.mark.parametrize("resource", [REPLICA_SETS, CONTROLLERS])
def test_it_grows_shrinks_and_goes_to_zero(resource: str) -> None:
    world = World()
    body = workload()
    if resource == CONTROLLERS:
        body["spec"]["selector"] = body["spec"]["selector"]["matchLabels"]
    world.cluster.create(resource, body)
    for wanted in (3, 7, 2, 0, 1):
        world.cluster.set_replicas(resource, "web", wanted)
        world.run_until(lambda: ready(world, resource) == len(world.names()) == wanted)  # noqa: B023 - used at once
        assert world.status(resource, "web")["replicas"] == wanted
        assert world.cluster.scale(resource, "web")["status"].get("selector") == "app=web"


def test_a_pod_that_is_lost_is_replaced_and_one_in_trouble_goes_first() -> None:
    world = World()
    world.cluster.create(REPLICA_SETS, workload())
    world.run_until(lambda: ready(world, REPLICA_SETS) == 3)
    lost, sick, well = world.names()
    world.cluster.delete("pods", lost)
    world.run_until(lambda: ready(world, REPLICA_SETS) == 3 and lost not in world.names())
    world.cluster.modify("pods", sick, lambda obj: obj["metadata"].update(annotations={TROUBLE: "unready"}))
    world.run(1)
    world.cluster.set_replicas(REPLICA_SETS, "web", 2)
    world.run(5)
    assert sick not in world.names()
    assert well in world.names()


def test_an_orphan_that_matches_is_counted_in() -> None:
    world = World()
    labels = {"labels": {"app": "web"}}
    world.cluster.create(
        "pods", {"metadata": {"name": "mine", **labels}, "spec": workload()["spec"]["template"]["spec"]}
    )
    world.cluster.create(REPLICA_SETS, workload(replicas=2))
    world.run_until(lambda: ready(world, REPLICA_SETS) == 2)
    assert len(world.names()) == 2
    assert "mine" in world.names()


def rollout(name: str = "web", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Rollout", "metadata": {"name": name}, "spec": spec}


def test_a_custom_resource_with_a_template_and_a_scale_gets_pods() -> None:
    world = World()
    world.cluster.create(DEFINITIONS, DEFINITION)
    spec = workload()["spec"]
    world.cluster.create(ROLLOUTS, rollout(replicas=2, selector=spec["selector"], template=spec["template"]))
    world.run_until(lambda: len(world.names()) == 2 and ready(world, ROLLOUTS) == 2)
    world.cluster.set_replicas(ROLLOUTS, "web", 4)
    world.run_until(lambda: ready(world, ROLLOUTS) == 4)
    scale = world.cluster.scale(ROLLOUTS, "web")
    assert scale["status"] == {"replicas": 4, "selector": "app=web"}


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"replicas": 2},
        {"replicas": 2, "template": 5},
        {"replicas": 2, "template": {"metadata": 5, "spec": {}}},
        {"replicas": 2, "template": {"metadata": {"labels": {"app": "web"}}, "spec": 7}},
        {"replicas": "two", "template": workload()["spec"]["template"]},
        {"replicas": 2, "template": workload()["spec"]["template"], "minReadySeconds": "soon"},
    ],
)
def test_a_custom_resource_that_is_something_else_is_left_alone(spec: dict[str, Any]) -> None:
    world = World()
    world.cluster.create(DEFINITIONS, DEFINITION)
    world.cluster.create(ROLLOUTS, rollout(**spec))
    world.cluster.create(REPLICA_SETS, workload("other", replicas=1))
    world.run_until(lambda: ready(world, REPLICA_SETS, "other") == 1)
    assert world.names(app="web") == []
    assert "status" not in world.cluster.get(ROLLOUTS, "web")
