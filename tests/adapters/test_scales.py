"""Scales over HTTP: from watch caches where those are current, else one by one, of any kind (§19)."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from controller.cache import Cache
from controller.decide.observed import Scale, ScaleFailure
from controller.decide.spec import Reference
from controller.kube.discovery import Discovery
from controller.kube.list_watch import KubeListWatch
from controller.kube.scale import WRITTEN_MIN, KubeScales, ScaleCaches
from controller.lab.faults import Refuse, Target
from controller.lab.server import LabServer
from controller.ports import NotFound, NotMandated, ServerFailure
from controller.watch import Watch
from controller.wire.scales import NamedScale
from tests.adapters.parts import always, connected_to, half
from tests.adapters.raw_server import WAIT_S, RawServer, Received, answer, serving
from tests.spine.tasks import now_s
from tests.spine.world import Numbers

WEB = Reference("Deployment", "web", "apps/v1")
OLD = Reference("ReplicationController", "old", "v1")
LABELS = {"app": "web"}


class Caching:
    """Caches in front of a server; `watches` are what they have begun, none of which is run twice."""

    def __init__(self, client: Any, *, by_namespace: bool = False) -> None:
        self.watches: list[Watch[NamedScale]] = []
        self.kept: list[Cache[NamedScale]] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.caches = ScaleCaches(client, self._watch, self._spawn, silence_max_s=5.0, by_namespace=by_namespace)
        self.scales = KubeScales(client, Discovery(client, now_s), self.caches)

    def _watch(self, resource: str, source: KubeListWatch[NamedScale], cache: Cache[NamedScale]) -> Watch[NamedScale]:
        self.kept.append(cache)
        self.watches.append(Watch(resource, source, cache, random=half, instruments=Numbers()))
        return self.watches[-1]

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(asyncio.create_task(coroutine))

    async def listed(self) -> None:
        async with asyncio.timeout(WAIT_S):
            await asyncio.gather(*(watch.liveness.wait_synced() for watch in self.watches))

    async def stop(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


@asynccontextmanager
async def caching(lab: LabServer, **options: bool) -> AsyncIterator[Caching]:
    async with connected_to(lab.url) as client:
        made = Caching(client, **options)
        try:
            yield made
        finally:
            await made.stop()


@pytest.fixture
async def lab() -> AsyncIterator[LabServer]:
    """Two Deployments of one name, and a ReplicationController."""
    async with LabServer() as server:
        server.cluster.create("namespaces", {"metadata": {"name": "shop"}})
        template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
        for namespace, replicas in (("default", 2), ("shop", 3)):
            spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template}
            server.cluster.create(
                "deployments.apps", {"metadata": {"name": "web", "namespace": namespace}, "spec": spec}
            )
        controller = {"replicas": 4, "selector": LABELS, "template": template}
        server.cluster.create("replicationcontrollers", {"metadata": {"name": "old"}, "spec": controller})
        yield server


async def test_a_kind_is_read_one_by_one_until_it_is_watched_and_whenever_it_must_be_live(lab: LabServer) -> None:
    async with caching(lab) as made:
        first = await made.scales.read("default", WEB, live=False)
        assert first.live
        await made.listed()
        assert [watch.resource for watch in made.watches] == ["deployments"]
        cached = await made.scales.read("default", WEB, live=False)
        assert not cached.live
        assert cached.scale == first.scale
        other = (await made.scales.read("shop", WEB, live=False)).scale
        assert isinstance(other, Scale)
        assert other.replicas == 3, "of the same name, elsewhere"
        assert (await made.scales.read("default", WEB, live=True)).live
        assert len(made.watches) == 1, "one for the kind"


async def test_where_some_namespaces_are_watched_each_has_a_watch_of_its_own(lab: LabServer) -> None:
    async with caching(lab, by_namespace=True) as made:
        for namespace in ("default", "shop"):
            assert (await made.scales.read(namespace, WEB, live=False)).live
        await made.listed()
        assert [watch.resource for watch in made.watches] == ["deployments in default", "deployments in shop"]
        found = [await made.scales.read(namespace, WEB, live=False) for namespace in ("default", "shop")]
        assert [(one.live, one.scale.replicas) for one in found if isinstance(one.scale, Scale)] == [
            (False, 2),
            (False, 3),
        ]


async def test_replication_controllers_have_a_map_as_their_selector(lab: LabServer) -> None:
    async with caching(lab) as made:
        first = await made.scales.read("default", OLD, live=False)
        await made.listed()
        cached = await made.scales.read("default", OLD, live=False)
        assert not cached.live
        assert cached.scale == first.scale
        assert isinstance(cached.scale, Scale)
        assert (cached.scale.replicas, cached.scale.selector) == (4, "app=web")


async def test_a_cache_whose_watch_is_down_is_not_believed(lab: LabServer) -> None:
    async with caching(lab) as made:
        await made.scales.read("default", WEB, live=False)
        await made.listed()
        assert not (await made.scales.read("default", WEB, live=False)).live
        made.watches[0].liveness.lost()
        assert (await made.scales.read("default", WEB, live=False)).live


async def test_what_is_written_is_read_at_once_and_the_cache_is_believed_once_it_has_it(lab: LabServer) -> None:
    async with caching(lab) as made:
        before = (await made.scales.read("default", WEB, live=False)).scale
        await made.listed()
        assert isinstance(before, Scale)
        await made.scales.write("default", WEB, before, 7, always)
        assert lab.cluster.scale("deployments.apps", "web")["spec"]["replicas"] == 7
        async with asyncio.timeout(WAIT_S):
            while True:
                found = await made.scales.read("default", WEB, live=False)
                assert isinstance(found.scale, Scale)
                assert found.scale.replicas == 7
                if not found.live:
                    break
                await asyncio.sleep(0.01)


async def test_kinds_that_not_every_cluster_has_are_never_watched() -> None:
    async with serving(widgets) as server, connected_to(server.url) as client:
        made = Caching(client)
        for _ in range(2):
            assert (await made.scales.read("shop", WIDGET, live=False)).live
        assert made.watches == []


WIDGET = Reference("Widget", "web", "example.com/v1")
SCALE = msgspec.json.encode({"metadata": {"name": "web", "resourceVersion": "8"}, "spec": {"replicas": 3}})


def discovered(received: Received, *resources: str) -> bytes | None:
    """Discovery of two resources that have the kind Widget, each with a scale unless others are named."""
    if received.target == "/apis/example.com":
        return answer(b'{"versions":[{"version":"v1"}],"preferredVersion":{"version":"v1"}}')
    if received.target == "/apis/example.com/v1":
        named = resources or ("gadgets", "gadgets/scale", "widgets", "widgets/scale")
        listed = [
            {"name": name, "kind": "Scale", "group": "autoscaling", "version": "v1"}
            if "/" in name
            else {"name": name, "kind": "Widget"}
            for name in named
        ]
        return answer(msgspec.json.encode({"resources": listed}))
    return None


async def widgets(received: Received, writer: asyncio.StreamWriter) -> None:
    """Only the second of the two resources has an object of that name."""
    found = "/widgets/" in received.target
    missing = answer(b'{"message":"no such gadget"}', status="404 Not Found")
    writer.write(discovered(received) or (answer(SCALE) if found else missing))


def scales_of(client: Any) -> KubeScales:
    return KubeScales(client, Discovery(client, now_s), None)


def written_to(server: RawServer) -> list[str]:
    return [one.target.removeprefix("/apis/example.com/v1/namespaces/shop/") for one in server.requests if one.body]


async def test_of_several_resources_of_a_kind_the_one_that_has_the_object_is_read_and_written() -> None:
    async with serving(widgets) as server, connected_to(server.url) as client:
        scales = scales_of(client)
        scale = (await scales.read("shop", WIDGET, live=True)).scale
        assert isinstance(scale, Scale)
        assert scale.replicas == 3
        await scales.write("shop", WIDGET, scale, 5, always)
        assert written_to(server) == ["gadgets/web/scale", "widgets/web/scale"]


@pytest.mark.parametrize("kind", ["Widget", "widget"])
async def test_a_kind_may_be_written_in_lower_case(kind: str) -> None:
    async with serving(widgets) as server, connected_to(server.url) as client:
        found = (await scales_of(client).read("shop", replace(WIDGET, kind=kind), live=True)).scale
        assert isinstance(found, Scale)


async def test_no_other_letters_of_a_kind_may_change() -> None:
    async with serving(widgets) as server, connected_to(server.url) as client:
        found = (await scales_of(client).read("shop", replace(WIDGET, kind="wIDGET"), live=True)).scale
        assert isinstance(found, ScaleFailure)
        assert "no matches for kind 'wIDGET'" in found.message


async def test_where_none_has_it_the_first_one_says_so() -> None:
    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        plural = received.target.split("/")[-3]
        missing = answer(b'{"message":"no such %s"}' % plural.encode(), status="404 Not Found")
        writer.write(discovered(received) or missing)

    async with serving(say) as server, connected_to(server.url) as client:
        scales = scales_of(client)
        found = (await scales.read("shop", WIDGET, live=True)).scale
        assert isinstance(found, ScaleFailure)
        assert "no such gadgets" in found.message
        with pytest.raises(NotFound, match="no such gadgets"):
            await scales.write("shop", WIDGET, Scale(3, 3, "", "uid"), 5, always)
        assert written_to(server) == ["gadgets/web/scale", "widgets/web/scale"]


async def test_a_write_that_fails_otherwise_is_not_tried_on_another_resource() -> None:
    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(discovered(received) or answer(b'{"message":"no"}', status="500 Internal Server Error"))

    async with serving(say) as server, connected_to(server.url) as client:
        with pytest.raises(ServerFailure):
            await scales_of(client).write("shop", WIDGET, Scale(3, 3, "", "uid"), 5, always)
        assert written_to(server) == ["gadgets/web/scale"]


async def test_a_kind_without_scales_is_told_from_an_object_that_is_missing() -> None:
    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        missing = answer(b'{"message":"the server could not find the requested resource"}', status="404 Not Found")
        writer.write(discovered(received, "widgets") or missing)

    async with serving(say) as server, connected_to(server.url) as client:
        found = (await scales_of(client).read("shop", WIDGET, live=True)).scale
        assert isinstance(found, ScaleFailure)
        assert "widgets.example.com cannot be scaled: they have no scale subresource" in found.message


async def test_what_cannot_be_found_out_is_a_failure_with_its_reason() -> None:
    async with serving(answer(b"{}", status="500 Internal Server Error")) as server, connected_to(server.url) as client:
        found = (await scales_of(client).read("shop", WIDGET, live=True)).scale
        assert isinstance(found, ScaleFailure)
        assert found.message.startswith("unable to determine resource for scale target: ")
        assert found.cause != "spec"
        assert (await scales_of(client).read("shop", Reference("A", "a", "a/b/c"), live=True)).scale == ScaleFailure(
            "invalid scale target reference: unexpected GroupVersion string: a/b/c", "spec"
        )


async def test_an_answer_that_is_no_scale_is_a_failure() -> None:
    async with serving(answer(b'{"metadata":7}')) as server, connected_to(server.url) as client:
        found = (await scales_of(client).read("shop", WEB, live=True)).scale
        assert isinstance(found, ScaleFailure)
        assert found.message.startswith("the scale of deployments.apps 'web' cannot be decoded: ")


@pytest.mark.parametrize("said", [b"nonsense", SCALE.replace(b'"8"', b'"of another kind"')])
async def test_a_write_is_done_whatever_is_answered(said: bytes) -> None:
    """Versions are opaque; where they are no numbers nothing is known of a cache's age."""
    async with serving(answer(said)) as server, connected_to(server.url) as client:
        made = Caching(client)
        await made.scales.write("shop", WEB, Scale(3, 3, "", "uid"), 5, always)
        assert [one.target for one in server.requests] == ["/apis/apps/v1/namespaces/shop/deployments/web/scale"]
        await made.stop()


async def test_a_write_asks_whether_it_may_go_out() -> None:
    def frozen() -> None:
        raise NotMandated("an operator says so")

    async with serving(answer(SCALE)) as server, connected_to(server.url) as client:
        with pytest.raises(NotMandated):
            await scales_of(client).write("shop", WEB, Scale(3, 3, "", "uid"), 5, frozen)
        assert server.requests == []


async def test_a_kind_that_may_not_be_watched_is_read_one_by_one(lab: LabServer) -> None:
    for verb in ("list", "watch"):
        lab.faults.inject(Refuse(403), Target(verb=verb, resource="deployments.apps"))
    async with caching(lab) as made:
        for _ in range(3):
            assert (await made.scales.read("default", WEB, live=False)).live
            await asyncio.sleep(0.01)


async def test_what_was_written_is_not_forgotten_while_its_watch_is_down() -> None:
    """Once it is back, without a new list, the cache still has the scale from before."""
    async with serving(answer(SCALE)) as server, connected_to(server.url) as client:
        made = Caching(client)
        assert made.caches.get("apps", "Deployment", "shop", "web") is None
        await made.stop()
        made.kept[0].put(NamedScale("shop", "web", Scale(2, 2, "", version="5")))
        await made.scales.write("shop", WEB, Scale(2, 2, "", "uid"), 3, always)
        made.watches[0].liveness.lost()
        for number in range(WRITTEN_MIN):
            other = replace(WEB, name=f"web-{number}")
            await made.scales.write("shop", other, Scale(2, 2, "", "uid"), 3, always)
        made.watches[0].liveness.listed()
        assert (await made.scales.read("shop", WEB, live=False)).live
