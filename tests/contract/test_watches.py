"""What a controller relies on when it watches."""

import asyncio
from typing import Any

from tests.contract.api_server import ANSWER_S, LAB_HISTORY_LIMIT, MERGE_PATCH, Api
from tests.contract.objects import config_map, config_maps, hpa, hpas


def _described(events: list[Any]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"]["name"]) for event in events]


async def test_a_watch_from_a_lists_version_misses_and_repeats_nothing(api: Api, namespace: str) -> None:
    await api.create(config_maps(namespace), config_map("before"))
    listed = await api.get(config_maps(namespace))
    await api.create(config_maps(namespace), config_map("between"))
    version = listed["metadata"]["resourceVersion"]
    async with api.watch(config_maps(namespace), resourceVersion=version) as events:
        await api.create(config_maps(namespace), config_map("during"))
        changed = {"data": {"key": "other"}}
        await api.request("PATCH", config_maps(namespace, "before"), changed, content_type=MERGE_PATCH)
        await api.request("DELETE", config_maps(namespace, "between"))
        seen = await events.take(4)
    assert _described(seen) == [
        ("ADDED", "between"),
        ("ADDED", "during"),
        ("MODIFIED", "before"),
        ("DELETED", "between"),
    ]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in seen]
    assert versions == sorted(set(versions))
    assert versions[0] > int(version)


async def test_a_watch_from_any_event_goes_on_after_it(api: Api, namespace: str) -> None:
    created = [await api.create(config_maps(namespace), config_map(f"item-{index}")) for index in range(4)]
    for index, item in enumerate(created):
        version = item["metadata"]["resourceVersion"]
        async with api.watch(config_maps(namespace), resourceVersion=version) as events:
            seen = await events.take(3 - index)
        assert _described(seen) == [("ADDED", f"item-{later}") for later in range(index + 1, 4)]


async def test_events_carry_whole_objects_with_their_kind(api: Api, namespace: str) -> None:
    version = (await api.get(hpas(namespace)))["metadata"]["resourceVersion"]
    async with api.watch(hpas(namespace), resourceVersion=version) as events:
        created = await api.create(hpas(namespace), hpa("web"))
        event = await events.next()
    assert event == {"type": "ADDED", "object": created}
    assert created["kind"] == "HorizontalPodAutoscaler"


async def test_a_watch_without_a_version_begins_with_the_present_state(api: Api, namespace: str) -> None:
    await api.create(config_maps(namespace), config_map("one"))
    await api.create(config_maps(namespace), config_map("two"))
    async with api.watch(config_maps(namespace)) as events:
        seen = await events.take(2)
    assert sorted(_described(seen)) == [("ADDED", "one"), ("ADDED", "two")]


async def test_initial_events_end_with_a_marked_bookmark(api: Api, namespace: str) -> None:
    for index in range(3):
        await api.create(hpas(namespace), hpa(f"item-{index}"))
    listed = await api.get(hpas(namespace))
    async with api.watch(
        hpas(namespace),
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
    ) as events:
        *initial, bookmark = await events.take(4)
        later = await api.create(hpas(namespace), hpa("later"))
        event = await events.next()
    assert sorted(_described(initial)) == [("ADDED", f"item-{index}") for index in range(3)]
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["kind"] == "HorizontalPodAutoscaler"
    metadata = bookmark["object"]["metadata"]
    assert metadata["annotations"]["k8s.io/initial-events-end"] == "true"
    assert int(metadata["resourceVersion"]) >= int(listed["metadata"]["resourceVersion"])
    assert event == {"type": "ADDED", "object": later}


async def test_the_version_of_the_marked_bookmark_resumes_the_watch(api: Api, namespace: str) -> None:
    await api.create(config_maps(namespace), config_map("before"))
    async with api.watch(
        config_maps(namespace),
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
    ) as events:
        _, bookmark = await events.take(2)
    await api.create(config_maps(namespace), config_map("after"))
    version = bookmark["object"]["metadata"]["resourceVersion"]
    async with api.watch(config_maps(namespace), resourceVersion=version) as events:
        assert _described(await events.take(1)) == [("ADDED", "after")]


async def test_a_forgotten_version_is_answered_with_410_and_never_with_a_gap(api: Api, namespace: str) -> None:
    # Relied on: from a version the server no longer knows, it says 410 Expired (as a status or as an ERROR
    # event); as long as it still knows it, every change since then arrives. Which of the two depends on the
    # server's memory.
    names = [f"item-{index:03}" for index in range(LAB_HISTORY_LIMIT * 2)]
    for name in names:
        await api.create(config_maps(namespace), config_map(name))
    async with api.watch(config_maps(namespace), resourceVersion="1") as events:
        first = await events.next()
        if first["type"] == "ERROR":
            assert (first["object"]["code"], first["object"]["reason"]) == (410, "Expired")
            assert first["object"]["kind"] == "Status"
            assert await events.next() is None
        else:
            seen = [first, *await events.take(len(names) - 1)]
            assert _described(seen) == [("ADDED", name) for name in names]


async def test_a_watch_ends_when_its_time_is_over(api: Api, namespace: str) -> None:
    async with asyncio.timeout(ANSWER_S), api.watch(config_maps(namespace), timeoutSeconds=1) as events:
        assert await events.next() is None


async def test_an_object_that_leaves_the_selection_is_deleted_for_the_watcher(api: Api, namespace: str) -> None:
    version = (await api.get(config_maps(namespace)))["metadata"]["resourceVersion"]
    item = config_maps(namespace, "item")

    async def label(value: str) -> Any:
        patch = {"metadata": {"labels": {"tier": value}}}
        return (await api.request("PATCH", item, patch, content_type=MERGE_PATCH)).body

    async with api.watch(config_maps(namespace), resourceVersion=version, labelSelector="tier=web") as events:
        await api.create(config_maps(namespace), config_map("item", tier="db"))
        entered = await label("web")
        left = await label("db")
        entered_again = await label("web")
        await api.request("DELETE", item)
        seen = await events.take(4)
    assert _described(seen) == [
        ("ADDED", "item"),
        ("DELETED", "item"),
        ("ADDED", "item"),
        ("DELETED", "item"),
    ]
    assert seen[0]["object"] == entered
    assert seen[2]["object"] == entered_again
    gone = seen[1]["object"]["metadata"]
    # The state is the last one that was selected, the version that of the write which ended it.
    assert gone["labels"] == {"tier": "web"}
    assert gone["resourceVersion"] == left["metadata"]["resourceVersion"]


async def test_the_event_of_a_deletion_carries_the_last_state_and_a_new_version(api: Api, namespace: str) -> None:
    created = await api.create(config_maps(namespace), config_map("item"))
    version = created["metadata"]["resourceVersion"]
    async with api.watch(config_maps(namespace), resourceVersion=version) as events:
        await api.request("DELETE", config_maps(namespace, "item"))
        event = await events.next()
    assert event["type"] == "DELETED"
    assert event["object"]["data"] == created["data"]
    assert int(event["object"]["metadata"]["resourceVersion"]) > int(version)


async def test_a_write_that_changes_nothing_is_no_event(api: Api, namespace: str) -> None:
    created = await api.create(config_maps(namespace), config_map("item"))
    version = created["metadata"]["resourceVersion"]
    same = await api.put(config_maps(namespace, "item"), config_map("item"))
    assert same["metadata"]["resourceVersion"] == version
    async with api.watch(config_maps(namespace), resourceVersion=version) as events:
        await api.create(config_maps(namespace), config_map("other"))
        assert _described(await events.take(1)) == [("ADDED", "other")]


async def test_a_field_selector_restricts_a_watch(api: Api, namespace: str) -> None:
    version = (await api.get(config_maps(namespace)))["metadata"]["resourceVersion"]
    selector = "metadata.name=wanted"
    async with api.watch(config_maps(namespace), resourceVersion=version, fieldSelector=selector) as events:
        await api.create(config_maps(namespace), config_map("other"))
        await api.create(config_maps(namespace), config_map("wanted"))
        assert _described(await events.take(1)) == [("ADDED", "wanted")]


async def test_contradictory_options_are_invalid(api: Api, namespace: str) -> None:
    for parameters in (
        {"sendInitialEvents": "true"},
        {"resourceVersionMatch": "Exact", "resourceVersion": "5"},
    ):
        async with api.watch(config_maps(namespace), **parameters) as events:
            event = await events.next()
        assert (event["object"]["code"], event["object"]["reason"]) == (422, "Invalid")
