"""Names of resources while an API group is slow or broken."""

import asyncio
from typing import Any

import msgspec
import structlog

from controller.sources.prometheus.labels import LabelMapping
from controller.sources.prometheus.mapper import RETRY_S, VALID_S, Named, ResourceMapper, ResourceNames
from controller.sources.prometheus.rules import LABEL_FIELDS, GroupResource, Mapping
from controller.sources.prometheus.templates import Template
from tests.adapters.parts import connected_to
from tests.adapters.raw_server import Received, answer, serving
from tests.sources.asking import SERVED

PODS = GroupResource("", "pods")


class Groups:
    """An API server whose group `apps` is what the test says."""

    def __init__(self) -> None:
        self.asked = 0
        self.broken = False
        self.answers = asyncio.Event()
        self.answers.set()

    async def say(self, received: Received, writer: asyncio.StreamWriter) -> None:
        body: Any = SERVED.get(received.target)
        if received.target == "/apis/apps/v1":
            self.asked += 1
            async with asyncio.timeout(10):
                await self.answers.wait()
            if self.broken:
                writer.write(answer(b"{}", status="503 Service Unavailable"))
                return
        writer.write(answer(msgspec.json.encode(body)))


def test_the_group_itself_goes_before_one_whose_name_begins_so() -> None:
    longer, short = Named("apps.example.com", "workers", "worker"), Named("apps", "workers", "worker")
    names = ResourceNames([longer, short])
    assert names.find(GroupResource("apps", "worker")) == short.group_resource
    assert names.find(GroupResource("apps.ex", "worker")) == longer.group_resource
    assert names.find(GroupResource("batch", "worker")) is None


def test_a_label_has_no_sign_that_a_group_may_have() -> None:
    names = ResourceNames([Named("batch.my-company.io", "workers", "worker")])
    mapping = LabelMapping(Mapping(template=Template("<<.Group>>_<<.Resource>>", LABEL_FIELDS)), names)
    assert mapping.label_of(GroupResource("batch.my-company.io", "workers")) == "batch_my_company_io_worker"


async def turned(turns: int = 200) -> None:
    for _ in range(turns):
        await asyncio.sleep(0.001)


async def test_who_asks_while_names_are_renewed_gets_those_that_are_known() -> None:
    groups, now_s = Groups(), 0.0
    async with serving(groups.say) as server, connected_to(server.url) as client:
        mapper = ResourceMapper(client, lambda: now_s)
        assert (await mapper.names()).find(PODS) == PODS
        groups.answers.clear()
        now_s = VALID_S
        async with asyncio.timeout(5):
            for _ in range(20):
                assert (await mapper.names()).find(PODS) == PODS
        async with asyncio.timeout(5):
            while groups.asked < 2:
                await turned(5)
        assert groups.asked == 2, "one renewal for all"
        now_s += 1000.0
        groups.answers.set()
        await mapper.renewed()
        now_s += VALID_S - 1.0
        await mapper.names()
        await turned(20)
        assert groups.asked == 2, "they hold from when they were read, however long that took"
        await mapper.close()


async def test_what_a_group_had_stays_known_while_it_cannot_be_read() -> None:
    groups, now_s, deployments = Groups(), 0.0, GroupResource("apps", "deployments")
    async with serving(groups.say) as server, connected_to(server.url) as client:
        mapper = ResourceMapper(client, lambda: now_s)
        assert (await mapper.names()).find(GroupResource("", "deployment")) == deployments
        groups.broken = True
        for wait_s in (VALID_S, RETRY_S):
            now_s += wait_s
            assert (await mapper.renewed()).find(GroupResource("", "deployment")) == deployments
        assert groups.asked == 3
        await mapper.close()


async def test_a_group_that_stays_broken_is_said_once() -> None:
    groups, now_s = Groups(), 0.0
    groups.broken = True
    async with serving(groups.say) as server, connected_to(server.url) as client:
        mapper = ResourceMapper(client, lambda: now_s)
        with structlog.testing.capture_logs() as logs:
            for number in range(1, 4):
                assert (await mapper.names()).find(PODS) == PODS
                await mapper.renewed()
                assert groups.asked == number
                now_s += RETRY_S
        assert [line["path"] for line in logs] == ["/apis/apps/v1"]
        await mapper.close()
