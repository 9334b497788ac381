import asyncio
import random

import aiohttp
import pytest

from controller.lab.faults import (
    Cut,
    Delay,
    Drop,
    Duplicate,
    Expire,
    Faults,
    Garbage,
    Refuse,
    Reorder,
    Silence,
    Target,
    Truncate,
)
from controller.lab.server import LabServer
from controller.lab.serving.route import parse_route
from tests.lab.client import Client
from tests.lab.objects import CONFIG_MAP_PATH, DEPLOYMENT_PATH, HPA_PATH, HPAS, config_map, deployment, hpa


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (409, "Conflict"),
        (410, "Expired"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
    ],
)
async def test_requests_are_refused_and_not_carried_out(lab: LabServer, client: Client, code: int, reason: str) -> None:
    lab.faults.inject(Refuse(code, retry_after_s=7), times=1)
    answer = await client.request("POST", HPA_PATH, hpa())
    assert (answer.status, answer.body["reason"], answer.headers["Retry-After"]) == (code, reason, "7")
    assert lab.cluster.find(HPAS, "web") is None
    assert (await client.request("POST", HPA_PATH, hpa())).status == 201


async def test_a_refusal_without_a_time_sets_no_header(lab: LabServer, client: Client) -> None:
    lab.faults.inject(Refuse(500))
    assert "Retry-After" not in (await client.request("GET", HPA_PATH)).headers


async def test_a_dropped_connection_is_no_answer(lab: LabServer, client: Client) -> None:
    injection = lab.faults.inject(Drop(), Target(verb="create"))
    with pytest.raises(aiohttp.ClientError):
        await client.request("POST", HPA_PATH, hpa())
    assert lab.cluster.find(HPAS, "web") is None
    injection.remove()
    assert (await client.request("POST", HPA_PATH, hpa())).status == 201


async def test_garbage_replaces_the_answer_of_a_write_that_happened(lab: LabServer, client: Client) -> None:
    lab.faults.inject(Garbage(b"<html>"), times=1)
    async with client.session.post(lab.url + HPA_PATH, json=hpa()) as response:
        assert (response.status, await response.read()) == (200, b"<html>")
    assert lab.cluster.find(HPAS, "web") is not None


async def test_a_truncated_answer_ends_too_early(lab: LabServer, client: Client) -> None:
    lab.faults.inject(Truncate(10), times=1)
    with pytest.raises(aiohttp.ClientPayloadError):
        await client.request("POST", HPA_PATH, hpa())
    assert lab.cluster.find(HPAS, "web") is not None
    assert (await client.request("GET", HPA_PATH)).status == 200


async def test_a_delay_lets_others_pass(lab: LabServer, client: Client) -> None:
    lab.faults.inject(Delay(60), Target(name="slow"))
    slow = asyncio.create_task(client.request("GET", HPA_PATH + "/slow"))
    assert (await client.request("GET", HPA_PATH + "/fast")).status == 404
    assert not slow.done()
    slow.cancel()
    await asyncio.gather(slow, return_exceptions=True)


async def test_a_delay_combines_with_other_faults(lab: LabServer, client: Client) -> None:
    lab.faults.inject(Delay(0.01))
    lab.faults.inject(Refuse(503))
    assert (await client.request("GET", HPA_PATH)).status == 503


async def test_a_silent_watch_stays_open_and_says_nothing(lab: LabServer, client: Client) -> None:
    async with client.watch(CONFIG_MAP_PATH, timeoutSeconds=1) as half_open:
        lab.cluster.create("configmaps", config_map("a"))
        await half_open.next()
        lab.faults.inject(Silence(), times=1)
        lab.cluster.create("configmaps", config_map("b"))
        reading = asyncio.create_task(half_open.raw())
        async with client.watch(CONFIG_MAP_PATH, timeoutSeconds=1) as healthy:
            assert [event["type"] for event in await healthy.take(2)] == ["ADDED", "ADDED"]
            # The healthy watch, opened later, ends in time; the silent one does not even do that.
            assert await healthy.next() is None
        assert not reading.done()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def test_events_can_come_twice(lab: LabServer, client: Client) -> None:
    injection = lab.faults.inject(Duplicate(), Target(resource="configmaps"))
    async with client.watch(CONFIG_MAP_PATH) as events:
        lab.cluster.create("configmaps", config_map("a"))
        first, second = await events.take(2)
    assert first == second
    assert injection.hits == 1


async def test_neighbouring_events_can_change_places(lab: LabServer, client: Client) -> None:
    lab.faults.inject(Reorder())
    async with client.watch(CONFIG_MAP_PATH) as events:
        for name in ("a", "b", "c", "d"):
            lab.cluster.create("configmaps", config_map(name))
        names = [event["object"]["metadata"]["name"] for event in await events.take(4)]
    assert names == ["b", "a", "d", "c"]


async def test_an_odd_event_waits_for_its_neighbour(lab: LabServer, client: Client) -> None:
    lab.faults.inject(Reorder())
    async with client.watch(CONFIG_MAP_PATH) as events:
        for name in ("a", "b", "c"):
            lab.cluster.create("configmaps", config_map(name))
        await events.take(2)
        lab.cluster.create("configmaps", config_map("d"))
        names = [event["object"]["metadata"]["name"] for event in await events.take(2)]
    assert names == ["d", "c"]


async def test_an_open_watch_can_expire(lab: LabServer, client: Client) -> None:
    async with client.watch(CONFIG_MAP_PATH) as events:
        lab.faults.inject(Expire(), times=1)
        event = await events.next()
        assert await events.next() is None
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


async def test_an_open_watch_can_be_cut(lab: LabServer, client: Client) -> None:
    async with client.watch(CONFIG_MAP_PATH) as events:
        lab.faults.inject(Cut(), times=1)
        with pytest.raises(aiohttp.ClientError):
            await events.next()


async def test_a_watch_can_begin_with_garbage_or_in_the_middle(lab: LabServer, client: Client) -> None:
    lab.cluster.create("configmaps", config_map("a"))
    lab.faults.inject(Garbage(b"not json\n"), Target(verb="watch"), times=1)
    async with client.watch(CONFIG_MAP_PATH) as events:
        assert await events.raw() == b"not json\n"
        assert (await events.next())["type"] == "ADDED"
    lab.faults.inject(Truncate(15), Target(verb="watch"), times=1)
    async with client.watch(CONFIG_MAP_PATH) as events:
        with pytest.raises(aiohttp.ClientPayloadError):
            await events.raw()


async def test_faults_hit_only_what_they_target(lab: LabServer, client: Client) -> None:
    lab.cluster.create("deployments.apps", deployment())
    lab.faults.inject(Refuse(500), Target(verb="update", resource="deployments.apps", subresource="scale", name="web"))
    scale = await client.get(DEPLOYMENT_PATH + "/web/scale")
    assert (await client.request("PUT", DEPLOYMENT_PATH + "/web/scale", scale)).status == 500
    assert (await client.request("PUT", DEPLOYMENT_PATH + "/web", deployment())).status == 200


@pytest.mark.parametrize(
    ("target", "hit"),
    [
        (Target(), True),
        (Target(verb="list"), True),
        (Target(verb="get"), False),
        (Target(resource="pods", namespace="default"), True),
        (Target(resource="pods", namespace="other"), False),
        (Target(subresource="-"), True),
        (Target(subresource="status"), False),
        (Target(path_prefix="/api/v1"), True),
        (Target(path_prefix="/apis"), False),
    ],
)
def test_targets(target: Target, hit: bool) -> None:  # noqa: FBT001 - a table
    assert target.hits(parse_route("GET", "/api/v1/namespaces/default/pods", {})) is hit


async def test_documents_can_fail_too(lab: LabServer, client: Client) -> None:
    lab.faults.inject(Refuse(503), Target(path_prefix="/apis/custom.metrics.k8s.io"))
    assert (await client.request("GET", "/apis/custom.metrics.k8s.io/v1beta1")).status == 503
    assert (await client.request("GET", "/apis/apps/v1")).status == 200


def test_faults_are_counted_and_end_by_themselves() -> None:
    faults = Faults(random.Random(1))  # noqa: S311 - repeatable on purpose
    route = parse_route("GET", "/api/v1/pods", {})
    injection = faults.inject(Refuse(500), times=2)
    assert [len(faults.of_request(route)) for _ in range(3)] == [1, 1, 0]
    assert injection.hits == 2


def test_a_probability_hits_a_share_of_requests_the_same_in_every_run() -> None:
    def hits() -> list[int]:
        faults = Faults(random.Random(1))  # noqa: S311 - repeatable on purpose
        faults.inject(Refuse(500), probability=0.3)
        route = parse_route("GET", "/api/v1/pods", {})
        return [len(faults.of_request(route)) for _ in range(200)]

    assert hits() == hits()
    assert 30 < sum(hits()) < 90


def test_everything_can_be_switched_off() -> None:
    faults = Faults(random.Random(1))  # noqa: S311 - repeatable on purpose
    route = parse_route("GET", "/api/v1/pods", {})
    injection = faults.inject(Refuse(500))
    faults.clear()
    injection.remove()
    assert faults.of_request(route) == []
