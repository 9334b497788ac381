from typing import Any

import pytest

from controller.lab.behaviour.conditions import find_condition
from controller.lab.behaviour.deployments import HASH_LABEL, REVISION, template_hash
from tests.lab.world import DEPLOYMENTS, REPLICA_SETS, World, conditions, set_image, workload

NEVER_READY = {"lab.hpa-controller.io/trouble": "unready"}


def settled(world: World, name: str = "web") -> bool:
    """What `kubectl rollout status` waits for."""
    found = world.cluster.get(DEPLOYMENTS, name)
    status, desired = found["status"], found["spec"]["replicas"]
    counts = [status.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas")]
    return status.get("observedGeneration", 0) >= found["metadata"]["generation"] and counts == [desired] * 3


def sizes(world: World) -> dict[str, int]:
    """The sizes of replica sets by the image they run."""
    found = world.cluster.list(REPLICA_SETS, "default")
    return {item["spec"]["template"]["spec"]["containers"][0]["image"]: item["spec"]["replicas"] for item in found}


def test_a_deployment_gets_its_pods_by_way_of_a_replica_set() -> None:
    world = World()
    world.cluster.create(DEPLOYMENTS, workload())
    world.run_until(lambda: settled(world))
    [replica_set] = world.cluster.list(REPLICA_SETS, "default")
    name = replica_set["metadata"]["name"]
    digest = replica_set["metadata"]["labels"][HASH_LABEL]
    assert name == f"web-{digest}"
    assert all(pod.startswith(f"{name}-") for pod in world.names(app="web", **{HASH_LABEL: digest}))
    assert len(world.names(app="web")) == 3
    deployment = world.cluster.get(DEPLOYMENTS, "web")
    assert conditions(deployment) == {"Available": "True", "Progressing": "True"}
    assert deployment["metadata"]["annotations"][REVISION] == "1"
    assert "ScalingReplicaSet" in world.reasons("web")


def test_the_same_seed_gives_the_same_names_at_the_same_times() -> None:
    def run(seed: int) -> list[Any]:
        world = World(seed=seed)
        world.cluster.create(DEPLOYMENTS, workload())
        world.run(5)
        return [(pod["metadata"]["name"], pod["status"]["conditions"]) for pod in world.pods()]

    assert run(7) == run(7)
    assert run(7) != run(8)


@pytest.mark.parametrize(("surge", "unavailable"), [("25%", "25%"), (0, 2), (3, 0), ("100%", "50%")])
def test_a_rolling_update_stays_within_its_bounds(surge: int | str, unavailable: int | str) -> None:
    world = World()
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    world.cluster.create(DEPLOYMENTS, workload(replicas=6, strategy=strategy))
    world.run_until(lambda: settled(world))
    seen: list[tuple[int, int]] = []

    def look() -> None:
        status = world.status(DEPLOYMENTS, "web")
        seen.append((status.get("replicas", 0), status.get("availableReplicas", 0)))

    set_image(world, DEPLOYMENTS, "web", "app:2")
    world.run_until(lambda: settled(world), look)
    # With 100 % all new pods come at once, and as many old ones go at once as may be missing.
    most = {"25%": 6 + 2, 0: 6, 3: 9, "100%": 6 + 3}[surge]
    least = {"25%": 6 - 1, 2: 4, 0: 6, "50%": 3}[unavailable]
    assert max(total for total, _ in seen) == most
    assert min(available for _, available in seen) >= least
    assert sizes(world) == {"app:1": 0, "app:2": 6}
    world.run(5)
    assert {pod["spec"]["containers"][0]["image"] for pod in world.pods()} == {"app:2"}


def test_recreate_removes_everything_first() -> None:
    world = World()
    world.cluster.create(DEPLOYMENTS, workload(strategy={"type": "Recreate"}))
    world.run_until(lambda: settled(world))
    images: list[set[str]] = []

    def look() -> None:
        running = [pod for pod in world.pods() if "deletionTimestamp" not in pod["metadata"]]
        images.append({pod["spec"]["containers"][0]["image"] for pod in running})

    set_image(world, DEPLOYMENTS, "web", "app:2")
    world.run_until(lambda: settled(world), look)
    assert {"app:1", "app:2"} not in images
    assert images[-1] == {"app:2"}


def test_an_old_template_gets_its_old_replica_set_back() -> None:
    world = World()
    world.cluster.create(DEPLOYMENTS, workload())
    world.run_until(lambda: settled(world))
    for image in ("app:2", "app:1"):
        set_image(world, DEPLOYMENTS, "web", image)
        world.run_until(lambda: settled(world))
    assert len(sizes(world)) == 2
    assert world.cluster.get(DEPLOYMENTS, "web")["metadata"]["annotations"][REVISION] == "3"


def test_scaling_during_a_rollout_keeps_the_shares() -> None:
    world = World()
    world.cluster.create(DEPLOYMENTS, workload(replicas=10, strategy=rolling(3, 2)))
    world.run_until(lambda: settled(world))
    stuck(world)
    world.run_until(lambda: sizes(world) == {"app:1": 8, "app:2": 5})
    world.cluster.set_replicas(DEPLOYMENTS, "web", 15)
    world.run_until(lambda: sizes(world) == {"app:1": 11, "app:2": 7})


def test_a_rollout_that_goes_nowhere_is_called_failed_after_its_deadline() -> None:
    world = World()
    world.cluster.create(DEPLOYMENTS, workload(progressDeadlineSeconds=30))
    world.run_until(lambda: settled(world))
    stuck(world)

    def exceeded() -> bool:
        found = world.status(DEPLOYMENTS, "web")["conditions"]
        return "ProgressDeadlineExceeded" in [item["reason"] for item in found]

    # Times in conditions are whole seconds, rounded down.
    assert world.run_until(exceeded) >= 29
    assert conditions(world.cluster.get(DEPLOYMENTS, "web")) == {"Available": "True", "Progressing": "False"}
    healed: dict[str, str | None] = {"lab.hpa-controller.io/trouble": None}
    world.cluster.modify(DEPLOYMENTS, "web", lambda obj: annotate(obj, healed))
    world.run_until(lambda: settled(world))
    assert conditions(world.cluster.get(DEPLOYMENTS, "web"))["Progressing"] == "True"


def test_pods_count_as_available_only_after_min_ready_seconds() -> None:
    world = World()
    world.cluster.create(DEPLOYMENTS, workload(minReadySeconds=20))
    world.run_until(lambda: world.status(DEPLOYMENTS, "web").get("readyReplicas") == 3)
    assert "availableReplicas" not in world.status(DEPLOYMENTS, "web")
    # Ready times are whole seconds, so that the last one may seem to have come up to a second earlier.
    assert 19 <= world.run_until(lambda: settled(world)) <= 21


def test_a_paused_deployment_is_scaled_but_not_rolled() -> None:
    world = World()
    world.cluster.create(DEPLOYMENTS, workload())
    world.run_until(lambda: settled(world))
    world.cluster.modify(DEPLOYMENTS, "web", lambda obj: obj["spec"].update(paused=True))
    set_image(world, DEPLOYMENTS, "web", "app:2")
    world.cluster.set_replicas(DEPLOYMENTS, "web", 5)
    world.run(10)
    assert sizes(world) == {"app:1": 5}
    world.cluster.modify(DEPLOYMENTS, "web", lambda obj: obj["spec"].update(paused=False))
    world.run_until(lambda: settled(world))
    assert sizes(world) == {"app:1": 0, "app:2": 5}


def test_a_deployment_that_begins_paused_says_so() -> None:
    world = World()
    world.cluster.create(DEPLOYMENTS, workload(paused=True))
    world.run(1)
    progressing = find_condition(world.status(DEPLOYMENTS, "web"), "Progressing")
    assert progressing is not None
    assert (progressing["reason"], progressing["message"]) == ("DeploymentPaused", "web waits: the rollout is paused")
    world.cluster.modify(DEPLOYMENTS, "web", lambda obj: obj["spec"].update(paused=False))
    world.run_until(lambda: settled(world))
    assert conditions(world.cluster.get(DEPLOYMENTS, "web"))["Progressing"] == "True"


def test_old_replica_sets_are_forgotten_beyond_the_limit() -> None:
    world = World()
    world.cluster.create(DEPLOYMENTS, workload(revisionHistoryLimit=1))
    for number in range(2, 5):
        world.run_until(lambda: settled(world))
        set_image(world, DEPLOYMENTS, "web", f"app:{number}")
    world.run_until(lambda: settled(world))
    world.run(5)
    assert sizes(world) == {"app:3": 0, "app:4": 3}


def test_an_orphaned_replica_set_is_adopted_by_a_deployment_that_comes_again() -> None:
    world = World()
    world.cluster.create(DEPLOYMENTS, workload())
    world.run_until(lambda: settled(world))
    names = world.names()
    [replica_set] = world.cluster.list(REPLICA_SETS, "default")
    world.cluster.modify(
        REPLICA_SETS, replica_set["metadata"]["name"], lambda obj: obj["metadata"].update(ownerReferences=[])
    )
    world.cluster.delete(DEPLOYMENTS, "web")
    world.run(2)
    world.cluster.create(DEPLOYMENTS, workload())
    world.run_until(lambda: settled(world))
    assert world.names() == names


def test_the_hash_of_a_template_depends_on_all_of_it_and_on_nothing_else() -> None:
    template = {"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"containers": []}}
    same = {"spec": {"containers": []}, "metadata": {"labels": {"b": "2", "a": "1"}}}
    assert template_hash(template) == template_hash(same) != template_hash({**template, "spec": {}})
    assert template_hash(template) != template_hash(template, 1)


def rolling(surge: int, unavailable: int) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def annotate(obj: dict[str, Any], annotations: dict[str, str | None]) -> None:
    metadata = obj["spec"]["template"]["metadata"]
    merged = {**(metadata.get("annotations") or {}), **annotations}
    metadata["annotations"] = {key: text for key, text in merged.items() if text is not None}


def stuck(world: World) -> None:
    """Begin a rollout whose pods never get ready."""

    def change(obj: dict[str, Any]) -> None:
        obj["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
        annotate(obj, {**NEVER_READY})

    world.cluster.modify(DEPLOYMENTS, "web", change)
