"""Watches beyond what the contract tests show: bookmarks in time, other forms, the lab's own settings."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest

from controller.lab.cluster import Cluster
from controller.lab.server import LabServer
from controller.lab.serving.service import WatchSettings
from tests.lab.client import WAIT_S, Client
from tests.lab.objects import (
    CONFIG_MAP_PATH,
    DEPLOYMENT_PATH,
    HPA_PATH,
    HPAS,
    POD_PATH,
    config_map,
    deployment,
    hpa,
    pod,
)


@pytest.fixture
async def impatient() -> AsyncIterator[tuple[LabServer, Client]]:
    """A server with bookmarks every few milliseconds and a short memory."""
    settings = WatchSettings(bookmark_interval_s=0.02, expired_as_status=True)
    async with (
        LabServer(Cluster(history_limit=5), watch=settings) as server,
        aiohttp.ClientSession() as session,
    ):
        yield server, Client(server.url, session)


async def test_bookmarks_come_again_and_again_with_the_newest_version(
    impatient: tuple[LabServer, Client],
) -> None:
    server, client = impatient
    async with client.watch(HPA_PATH, allowWatchBookmarks="true") as events:
        first = await events.next()
        server.cluster.create("configmaps", config_map("elsewhere"))
        second = await events.next()
        while second["object"]["metadata"]["resourceVersion"] == first["object"]["metadata"]["resourceVersion"]:
            second = await events.next()
    assert {first["type"], second["type"]} == {"BOOKMARK"}
    assert int(second["object"]["metadata"]["resourceVersion"]) == server.cluster.revision
    # As the API server writes it: a whole object in which everything is zero.
    assert second["object"]["kind"] == "HorizontalPodAutoscaler"
    assert second["object"]["spec"] == {"scaleTargetRef": {"kind": "", "name": ""}, "maxReplicas": 0}


async def test_no_bookmarks_unless_asked_for(impatient: tuple[LabServer, Client]) -> None:
    _, client = impatient
    async with client.watch(HPA_PATH, timeoutSeconds=1) as events:
        assert await events.next() is None


async def test_an_expired_version_as_a_status(impatient: tuple[LabServer, Client]) -> None:
    server, client = impatient
    for index in range(20):
        server.cluster.create("configmaps", config_map(f"item-{index}"))
    answer = await client.request("GET", CONFIG_MAP_PATH, parameters={"watch": "1", "resourceVersion": "2"})
    assert (answer.status, answer.body["reason"]) == (410, "Expired")


async def test_an_expired_version_as_an_event(lab: LabServer, client: Client) -> None:
    lab.cluster.create("configmaps", config_map("a"))
    lab.cluster.forget_history()
    async with client.watch(CONFIG_MAP_PATH, resourceVersion=2) as events:
        event = await events.next()
        assert await events.next() is None
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")


async def test_an_expired_page_offers_to_go_on(lab: LabServer, client: Client) -> None:
    for index in range(5):
        lab.cluster.create("configmaps", config_map(f"item-{index}"))
    first = await client.get(CONFIG_MAP_PATH, limit=2)
    lab.cluster.create("configmaps", config_map("item-3-late"))
    lab.cluster.forget_history()
    answer = await client.request(
        "GET", CONFIG_MAP_PATH, parameters={"limit": 2, "continue": first["metadata"]["continue"]}
    )
    assert (answer.status, answer.body["reason"]) == (410, "Expired")
    rest = await client.get(CONFIG_MAP_PATH, **{"continue": answer.body["metadata"]["continue"]})
    assert [item["metadata"]["name"] for item in rest["items"]] == [
        "item-2",
        "item-3",
        "item-3-late",
        "item-4",
    ]


@pytest.mark.parametrize("token", ["x", "e30", "bm9qc29u", "eyJydiI6IngiLCJzdGFydCI6MX0"])
async def test_a_broken_continue_token_is_a_bad_request(client: Client, token: str) -> None:
    answer = await client.request("GET", CONFIG_MAP_PATH, parameters={"continue": token})
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")


async def test_a_watch_that_falls_behind_ends_with_an_error(lab: LabServer, client: Client) -> None:
    lab.cluster.create("configmaps", config_map("a"))
    async with client.watch(CONFIG_MAP_PATH) as events:
        await events.next()
        # Both happen before the watch can run: what it has not read is gone.
        lab.cluster.create("configmaps", config_map("b"))
        lab.cluster.forget_history()
        event = await events.next()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


async def test_one_object_can_be_watched(lab: LabServer, client: Client) -> None:
    lab.cluster.create("configmaps", config_map("a"))
    lab.cluster.create("configmaps", config_map("b"))
    async with client.watch(CONFIG_MAP_PATH, fieldSelector="metadata.name=b") as events:
        assert (await events.next())["object"]["metadata"]["name"] == "b"


async def test_a_path_that_names_an_object_is_read_even_if_a_watch_is_asked_for(client: Client) -> None:
    await client.request("POST", DEPLOYMENT_PATH, deployment())
    for path, kind in ((DEPLOYMENT_PATH + "/web", "Deployment"), (DEPLOYMENT_PATH + "/web/scale", "Scale")):
        assert (await client.get(path, watch=1))["kind"] == kind


async def test_a_watch_of_all_namespaces_and_of_one(lab: LabServer, client: Client) -> None:
    lab.cluster.create("namespaces", {"metadata": {"name": "other"}})
    async with client.watch("/api/v1/pods") as everywhere, client.watch(POD_PATH) as here:
        lab.cluster.create("pods", pod("a", "other"))
        lab.cluster.create("pods", pod("b"))
        assert [event["object"]["metadata"]["name"] for event in await everywhere.take(2)] == ["a", "b"]
        assert (await here.next())["object"]["metadata"]["name"] == "b"


async def test_many_watchers_see_the_same_bytes(lab: LabServer, client: Client) -> None:
    async def first_line() -> bytes:
        async with client.watch(HPA_PATH) as events:
            opened.append(events)
            return await events.raw()

    opened: list[object] = []
    watchers = [asyncio.create_task(first_line()) for _ in range(20)]
    async with asyncio.timeout(WAIT_S):
        while len(opened) < len(watchers):  # noqa: ASYNC110 - the watches open on their own
            await asyncio.sleep(0)
    lab.cluster.create(HPAS, hpa())
    assert len(set(await asyncio.gather(*watchers))) == 1


async def test_a_watch_from_the_future_waits(lab: LabServer, client: Client) -> None:
    future = lab.cluster.revision + 2
    async with client.watch(CONFIG_MAP_PATH, resourceVersion=future) as events:
        for name in ("one", "two", "three"):
            lab.cluster.create("configmaps", config_map(name))
        assert (await events.next())["object"]["metadata"]["name"] == "three"


async def test_without_initial_events_a_watch_begins_now(lab: LabServer, client: Client) -> None:
    lab.cluster.create("configmaps", config_map("before"))
    async with client.watch(CONFIG_MAP_PATH, sendInitialEvents="false", resourceVersionMatch="NotOlderThan") as events:
        lab.cluster.create("configmaps", config_map("after"))
        assert (await events.next())["object"]["metadata"]["name"] == "after"


async def test_a_client_that_leaves_is_forgotten(lab: LabServer, client: Client) -> None:
    history = lab.cluster.world.store.history(lab.cluster.world.registry.preferred("configmaps").resource)
    async with client.watch(CONFIG_MAP_PATH) as events:
        lab.cluster.create("configmaps", config_map("a"))
        await events.next()
        assert len(history._waiting) == 1
    async with asyncio.timeout(WAIT_S):
        while history._waiting:  # noqa: ASYNC110 - the server notices when the connection closes
            await asyncio.sleep(0.01)
