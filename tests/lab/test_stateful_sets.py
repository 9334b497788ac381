"""StatefulSets: one after the other, up, down and through updates."""

from typing import Any

from controller.lab.behaviour.habits import TROUBLE
from tests.lab.world import World, set_image, workload

SETS = "statefulsets.apps"


def made(**changed: Any) -> World:
    world = World()
    world.cluster.create(SETS, workload("db", serviceName="db", **changed))
    return world


def ready(world: World) -> int:
    count: int = world.status(SETS, "db").get("readyReplicas", 0)
    return count


def images(world: World) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"] for pod in world.pods()}


def history(world: World, until: int) -> list[tuple[str, ...]]:
    """The names of the pods, as often as they change, until so many are there and ready."""
    seen: list[tuple[str, ...]] = []

    def look() -> None:
        names = tuple(world.names())
        if not seen or seen[-1] != names:
            seen.append(names)

    world.run_until(lambda: ready(world) == until == len(world.names()), look)
    return seen


def test_pods_are_made_one_after_the_other_with_names_that_last() -> None:
    world = made(replicas=3)
    names = ("db-0", "db-1", "db-2")
    assert history(world, 3) == [names[:1], names[:2], names]
    pod = world.cluster.get("pods", "db-1")
    assert pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "1"
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-1", "db")


def test_in_parallel_they_are_made_at_once() -> None:
    world = made(replicas=3, podManagementPolicy="Parallel")
    world.step()
    assert world.names() == ["db-0", "db-1", "db-2"]


def test_they_go_in_reverse_order() -> None:
    world = made(replicas=4)
    history(world, 4)
    world.cluster.set_replicas(SETS, "db", 1)
    seen = history(world, 1)
    assert [len(names) for names in seen if names != ("db-0", "db-1", "db-2", "db-3")] == [3, 2, 1]
    assert seen[-1] == ("db-0",)


def test_one_that_is_not_ready_holds_up_those_after_it() -> None:
    world = made(replicas=3, annotations={TROUBLE: "unready"})
    world.run(60)
    assert world.names() == ["db-0"]

    def heal(pod: dict[str, Any]) -> None:
        del pod["metadata"]["annotations"][TROUBLE]

    world.cluster.modify("pods", "db-0", heal)
    world.run(10)
    assert world.names() == ["db-0", "db-1"]


def test_a_deleted_pod_comes_back_under_its_name() -> None:
    world = made(replicas=2)
    history(world, 2)
    uid = world.cluster.get("pods", "db-0")["metadata"]["uid"]
    world.cluster.delete("pods", "db-0")
    world.run_until(lambda: world.cluster.find("pods", "db-0") is None or uid != _uid(world, "db-0"))
    world.run_until(lambda: ready(world) == 2)
    assert world.names() == ["db-0", "db-1"]
    assert _uid(world, "db-0") != uid


def _uid(world: World, name: str) -> str:
    uid: str = world.cluster.get("pods", name)["metadata"]["uid"]
    return uid


def test_an_update_goes_from_the_last_to_the_first_and_never_takes_two() -> None:
    world = made(replicas=3)
    history(world, 3)
    before = world.status(SETS, "db")["currentRevision"]
    set_image(world, SETS, "db", "app:2")
    order: list[str] = []
    least = 3

    def look() -> None:
        nonlocal least
        least = min(least, ready(world))
        order.extend(name for name, image in sorted(images(world).items()) if image == "app:2" and name not in order)

    world.run_until(lambda: len(order) == 3 and ready(world) == 3, look)
    assert order == ["db-2", "db-1", "db-0"]
    assert least == 2
    status = world.status(SETS, "db")
    assert status["currentRevision"] == status["updateRevision"] != before
    assert status["updatedReplicas"] == 3


def test_a_partition_keeps_the_pods_below_it_as_they_are() -> None:
    world = made(replicas=3, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}})
    history(world, 3)
    set_image(world, SETS, "db", "app:2")
    world.run(60)
    assert images(world) == {"db-0": "app:1", "db-1": "app:1", "db-2": "app:2"}
    assert world.status(SETS, "db")["updatedReplicas"] == 1


def test_on_delete_only_pods_that_are_made_anew_change() -> None:
    world = made(replicas=2, updateStrategy={"type": "OnDelete"})
    history(world, 2)
    set_image(world, SETS, "db", "app:2")
    world.run(60)
    assert set(images(world).values()) == {"app:1"}
    world.cluster.delete("pods", "db-1")
    world.run(30)
    assert images(world) == {"db-0": "app:1", "db-1": "app:2"}


def test_numbers_may_begin_later() -> None:
    world = made(replicas=2, ordinals={"start": 5})
    history(world, 2)
    assert world.names() == ["db-5", "db-6"]
