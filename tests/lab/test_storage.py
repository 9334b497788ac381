import asyncio

import pytest

from controller.lab.clock import LabClock
from controller.lab.cluster import Cluster
from controller.lab.objects.errors import ApiError
from tests.lab.hands import Hands
from tests.lab.objects import config_map, pod


def test_every_write_has_a_higher_version(cluster: Cluster) -> None:
    first = cluster.create("configmaps", config_map("a"))
    second = cluster.create("pods", pod("b"))
    assert int(first["metadata"]["resourceVersion"]) < int(second["metadata"]["resourceVersion"])
    assert cluster.revision == int(second["metadata"]["resourceVersion"])


def test_what_comes_out_is_a_copy(cluster: Cluster) -> None:
    cluster.create("configmaps", config_map("a"))
    cluster.get("configmaps", "a")["data"]["key"] = "spoilt"
    assert cluster.get("configmaps", "a")["data"]["key"] == "value"


def test_the_past_can_be_read_as_it_was(cluster: Cluster) -> None:
    store, resource = cluster.world.store, cluster.world.registry.preferred("configmaps").resource
    states = {}
    for step in range(6):
        if step % 3 == 2:
            cluster.delete("configmaps", f"item-{step - 1}")
        else:
            cluster.create("configmaps", config_map(f"item-{step}"))
        cluster.modify("configmaps", "item-0", lambda obj, step=step: obj["data"].update(step=str(step)))  # type: ignore[misc]
        states[cluster.revision] = [(item["metadata"]["name"], item["data"]) for item in cluster.list("configmaps")]
    for revision, expected in states.items():
        snapshot = store.snapshot(resource, revision)
        assert [(stored.name, stored.value["data"]) for stored in snapshot] == expected


def test_a_bounded_memory_forgets_exactly_what_is_too_old(hands: Hands) -> None:
    cluster = Cluster(LabClock(hands), history_limit=5)
    for index in range(50):
        cluster.create("configmaps", config_map(f"item-{index}"))
    history = cluster.world.store.history(cluster.world.registry.preferred("configmaps").resource)
    known = history.after(cluster.revision - 5)
    assert [change.current.name for change in known] == [f"item-{index}" for index in range(45, 50)]
    with pytest.raises(ApiError) as caught:
        history.after(cluster.revision - 6)
    assert (caught.value.code, caught.value.reason) == (410, "Expired")


def test_forgetting_makes_earlier_versions_expire_and_later_ones_not(cluster: Cluster) -> None:
    resource = cluster.world.registry.preferred("configmaps").resource
    cluster.create("configmaps", config_map("a"))
    before = cluster.revision - 1
    cluster.forget_history()
    with pytest.raises(ApiError):
        cluster.world.store.history(resource).after(before)
    after = cluster.revision
    cluster.create("configmaps", config_map("b"))
    assert [change.current.name for change in cluster.world.store.history(resource).after(after)] == ["b"]
    never_used = cluster.world.registry.preferred("secrets").resource
    with pytest.raises(ApiError):
        cluster.world.store.history(never_used).after(before)


def test_a_resource_that_was_never_written_has_no_past_to_forget(cluster: Cluster) -> None:
    first = cluster.revision
    cluster.create("configmaps", config_map("a"))
    never_used = cluster.world.registry.preferred("secrets").resource
    assert cluster.world.store.history(never_used).after(first) == []


def test_listeners_hear_every_change_until_they_stop(cluster: Cluster) -> None:
    heard: list[tuple[str, str]] = []
    stop = cluster.subscribe("configmaps", lambda kind, obj: heard.append((kind, obj["metadata"]["name"])))
    cluster.create("configmaps", config_map("a"))
    cluster.modify("configmaps", "a", lambda obj: obj["data"].update(more="yes"))
    cluster.delete("configmaps", "a")
    stop()
    cluster.create("configmaps", config_map("b"))
    assert heard == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


def test_waiting_readers_are_woken(cluster: Cluster) -> None:
    history = cluster.world.store.history(cluster.world.registry.preferred("configmaps").resource)
    event = asyncio.Event()
    stop = history.wake_on_change(event)
    cluster.create("configmaps", config_map("a"))
    assert event.is_set()
    event.clear()
    stop()
    cluster.create("configmaps", config_map("b"))
    assert not event.is_set()


def test_a_reader_that_falls_behind_is_told(cluster: Cluster) -> None:
    history = cluster.world.store.history(cluster.world.registry.preferred("configmaps").resource)
    position = history.position_after(cluster.revision)
    cluster.create("configmaps", config_map("a"))
    cluster.forget_history("configmaps")
    with pytest.raises(ApiError, match="fell behind"):
        history.read(position)


def test_events_vanish_after_their_time(cluster: Cluster, hands: Hands) -> None:
    def event(name: str) -> dict[str, object]:
        about = {"kind": "Pod", "name": "x", "namespace": "default"}
        return {"metadata": {"name": name}, "involvedObject": about, "reason": "Told"}

    cluster.create("events", event("old"))
    cluster.create("events", event("renewed"))
    hands.now_s = 3000
    cluster.modify("events", "renewed", lambda obj: obj.update(count=2))
    heard: list[tuple[str, str]] = []
    cluster.subscribe("events", lambda kind, obj: heard.append((kind, obj["metadata"]["name"])))
    hands.now_s = 3601
    assert [item["metadata"]["name"] for item in cluster.list("events")] == ["renewed"]
    assert heard == [("DELETED", "old")]
    hands.now_s = 6601
    assert cluster.list("events") == []


def test_lists_are_ordered_by_path(cluster: Cluster) -> None:
    for namespace in ("a", "a-b"):
        cluster.create("namespaces", {"metadata": {"name": namespace}})
        cluster.create("pods", pod("z", namespace))
    names = [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in cluster.list("pods")]
    # As in etcd, where the key is the path: "a-b/z" comes before "a/z".
    assert names == [("a-b", "z"), ("a", "z")]
