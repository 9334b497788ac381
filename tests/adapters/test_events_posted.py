"""Events are posted in order, after scale writes, and one that cannot be is the end of itself only."""

import asyncio
from typing import Any, cast

import msgspec
import pytest
from structlog.testing import capture_logs

from controller.cache import TOLD_PER_ITERATION
from controller.decide.events import Event
from controller.decide.instants import format_rfc3339
from controller.kube.client import Client
from controller.kube.event_correlation import GONE_MAX, Subject
from controller.kube.events import GIVES_WAY_UP_TO, QUEUED_MAX, RETRY_S, KubeEvents
from controller.kube.traffic import Traffic
from controller.parts import Parts
from controller.ports import Conflict, NotLeading, Refused, ServerFailure, Terminating, Unreachable, WatchedAutoscaler
from tests.adapters.parts import LoopClock, access_to, half
from tests.adapters.test_app import settings
from tests.spine.objects import autoscaler, list_anew
from tests.spine.tasks import running

KNOWN = "horizontal_pod_autoscaler_controller_num_horizontal_pod_autoscalers"


def nobody(_: str) -> WatchedAutoscaler | None:
    return None


class Server:
    """Takes new events, but none of a reason that it does not like, and counts up those it has."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.counts: list[int] = []
        self.writes_scales = False

    async def write(
        self, method: str, path: str, traffic: Traffic, body: bytes, *, content_type: str = "application/json"
    ) -> bytes:
        if method == "PATCH":
            assert content_type == "application/strategic-merge-patch+json"
            self.counts.append(msgspec.json.decode(body)["count"])
            return b""
        assert (method, path, traffic) == ("POST", "/api/v1/namespaces/shop/events", Traffic.EVENT)
        event = msgspec.json.decode(body)
        if event["reason"] == "Unwanted":
            raise Refused("no such events here", 403)
        self.messages.append(event["message"])
        return b""


class Faulty(Server):
    """Answers what it is asked first with these errors, one after the other."""

    def __init__(self, *faults: Exception) -> None:
        super().__init__()
        self._faults = list(faults)

    async def write(
        self, method: str, path: str, traffic: Traffic, body: bytes, *, content_type: str = "application/json"
    ) -> bytes:
        if self._faults:
            raise self._faults.pop(0)
        return await super().write(method, path, traffic, body, content_type=content_type)


async def test_an_event_that_cannot_be_encoded_or_is_refused_is_dropped_alone() -> None:
    server = Server()
    sink = KubeEvents(cast("Client", server), LoopClock(), half, nobody)
    posting = asyncio.create_task(sink.run())
    with capture_logs() as logs:
        sink.emit(autoscaler(), Event("Normal", "First", "one"))
        sink.emit(autoscaler(), Event("Warning", "Broken", "no file caf\udce9.txt"))
        sink.emit(autoscaler(), Event("Normal", "Unwanted", "two"))
        sink.emit(autoscaler(), Event("Normal", "Last", "three"))
        await asyncio.wait_for(sink.drained(), 10.0)
    assert server.messages == ["one", "three"]
    assert +sink.dropped == {"refused": 1, "failed": 1}
    assert [line["hpa"] for line in logs if line["event"] == "event could not be posted"] == ["shop/web"] * 2
    posting.cancel()
    await asyncio.wait([posting])


class Lost(Server):
    """Somebody else leads by now."""

    async def write(self, *_: object, **__: object) -> bytes:
        raise NotLeading("the Lease is not certainly ours")


async def test_a_queue_full_of_events_that_nobody_may_send_any_more_is_dropped_a_little_at_a_time() -> None:
    sink, turns = KubeEvents(cast("Client", Lost()), LoopClock(), half, nobody), 0
    for number in range(QUEUED_MAX):
        sink.emit(autoscaler(name=f"web-{number}", uid=f"{number}"), Event("Normal", "First", "one"))
    posting, drained = asyncio.create_task(sink.run()), asyncio.create_task(sink.drained())
    with capture_logs() as logs:
        async with asyncio.timeout(10.0):
            while not drained.done():
                await asyncio.sleep(0)
                turns += 1
    assert turns >= QUEUED_MAX
    assert sink.dropped["failed"] == QUEUED_MAX
    assert {line["log_level"] for line in logs} == {"debug"}
    posting.cancel()
    await asyncio.wait([posting])


async def _posted(server: Server, count: int) -> list[str]:
    """So many events, or what there was of them after a while."""
    async with asyncio.timeout(10.0):
        while len(server.messages) < count:  # noqa: ASYNC110 - bounded by the timeout
            await asyncio.sleep(0.01)
    return server.messages


async def test_events_give_way_to_scale_writes_but_not_for_long() -> None:
    server = Server()
    sink = KubeEvents(cast("Client", server), LoopClock(), half, nobody)
    posting = asyncio.create_task(sink.run())
    server.writes_scales = True
    sink.emit(autoscaler(), Event("Normal", "First", "one"))
    sink.emit(autoscaler(), Event("Normal", "Second", "two"))
    await asyncio.sleep(0.2)
    assert server.messages == []
    server.writes_scales = False
    assert await _posted(server, 2) == ["one", "two"]
    server.writes_scales = True
    sink.emit(autoscaler(), Event("Normal", "Third", "three"))
    assert await _posted(server, 3) == ["one", "two", "three"]
    posting.cancel()
    await asyncio.wait([posting])


async def test_so_many_events_that_some_would_be_lost_give_no_way() -> None:
    server = Server()
    server.writes_scales = True
    sink = KubeEvents(cast("Client", server), LoopClock(), half, nobody)
    for number in range(GIVES_WAY_UP_TO + 3):
        sink.emit(autoscaler(name=f"web-{number}", uid=f"{number}"), Event("Normal", "First", f"{number}"))
    posting = asyncio.create_task(sink.run())
    await asyncio.sleep(0.2)
    assert server.messages == ["0", "1"]
    posting.cancel()
    await asyncio.wait([posting])


@pytest.mark.parametrize(("uid_now", "counts"), [("old", [2, 3]), ("new", [2]), (None, [2])])
async def test_of_an_hpa_that_is_gone_or_made_anew_events_are_not_counted_up(
    uid_now: str | None, counts: list[int]
) -> None:
    server = Server()
    known = {"shop/web": autoscaler(uid="old")}
    sink = KubeEvents(cast("Client", server), LoopClock(), half, known.get)
    posting = asyncio.create_task(sink.run())
    for _ in range(2):
        sink.emit(autoscaler(uid="old"), Event("Normal", "First", "one"))
    await asyncio.wait_for(sink.drained(), 10.0)
    if uid_now is None:
        del known["shop/web"]
    else:
        known["shop/web"] = autoscaler(uid=uid_now)
    for number in range(GONE_MAX):
        sink.changed(autoscaler(name=f"gone-{number}"), None)
    sink.emit(autoscaler(uid="old"), Event("Normal", "First", "one"))
    await asyncio.wait_for(sink.drained(), 10.0)
    assert server.counts == counts
    posting.cancel()
    await asyncio.wait([posting])


@pytest.mark.looptime
async def test_an_event_that_arrived_although_its_answer_was_lost_is_posted_and_counted_up_later() -> None:
    class Losing(Server):
        """Takes events; of the answer to the first one nothing is heard."""

        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []

        async def write(
            self, method: str, path: str, traffic: Traffic, body: bytes, *, content_type: str = "application/json"
        ) -> bytes:
            if method == "POST":
                name = msgspec.json.decode(body)["metadata"]["name"]
                if name in self.names:
                    raise Conflict(f'events "{name}" already exists', 409, "AlreadyExists")
                self.names.append(name)
            await super().write(method, path, traffic, body, content_type=content_type)
            if method == "POST":
                raise Unreachable("the connection was closed before the answer was complete")
            return b""

    server = Losing()
    sink = KubeEvents(cast("Client", server), LoopClock(), half, nobody)
    with capture_logs() as logs:
        async with running(sink.run()):
            for _ in range(2):
                sink.emit(autoscaler(), Event("Normal", "First", "one"))
                await sink.drained()
    assert (server.messages, server.counts) == (["one"], [2])
    assert sink.dropped.total() == 0
    assert not [line for line in logs if line["log_level"] == "warning"]


@pytest.mark.looptime
async def test_an_event_that_the_server_answers_with_an_error_holds_up_no_others() -> None:
    """A webhook for the events of one namespace, say, that is down."""

    class Failing(Server):
        async def write(
            self, method: str, path: str, traffic: Traffic, body: bytes, *, content_type: str = "application/json"
        ) -> bytes:
            if msgspec.json.decode(body)["reason"] == "Hooked":
                raise ServerFailure("Internal error occurred: failed calling webhook", 500, "InternalError")
            return await super().write(method, path, traffic, body, content_type=content_type)

    server = Failing()
    sink = KubeEvents(cast("Client", server), LoopClock(), half, nobody)
    async with running(sink.run()):
        for number in range(10):
            sink.emit(autoscaler(), Event("Warning", "Hooked", f"{number}"))
        sink.emit(autoscaler(), Event("Normal", "First", "one"))
        await asyncio.sleep(1.0)
        assert server.messages == ["one"]
        assert sink.dropped["refused"] == 10


@pytest.mark.looptime
@pytest.mark.parametrize("status", [502, 503, 504])
async def test_a_server_that_is_away_for_a_moment_gets_the_event_later(status: int) -> None:
    away = ServerFailure("the server is currently unable to handle the request", status)
    server = Faulty(away, away, away)
    sink = KubeEvents(cast("Client", server), LoopClock(), half, nobody)
    async with running(sink.run()):
        sink.emit(autoscaler(), Event("Normal", "First", "one"))
        await asyncio.sleep(60.0)
    assert (server.messages, sink.dropped.total()) == (["one"], 0)


@pytest.mark.looptime
async def test_the_first_wait_is_a_part_of_the_others_so_that_not_all_controllers_come_back_at_once() -> None:
    away = Unreachable("connection refused")
    server = Faulty(away, away)
    sink = KubeEvents(cast("Client", server), LoopClock(), half, nobody)
    async with running(sink.run()):
        sink.emit(autoscaler(), Event("Normal", "First", "one"))
        await asyncio.sleep(RETRY_S / 2 + RETRY_S - 0.1)
        assert server.messages == []
        await asyncio.sleep(0.2)
        assert server.messages == ["one"]


@pytest.mark.looptime
async def test_an_event_that_had_to_wait_is_posted_with_the_time_at_which_it_happened() -> None:
    class Keeping(Faulty):
        """Keeps the names and times of events, whether they are new or counted up."""

        def __init__(self, *faults: Exception) -> None:
            super().__init__(*faults)
            self.bodies: list[dict[str, Any]] = []

        async def write(
            self, method: str, path: str, traffic: Traffic, body: bytes, *, content_type: str = "application/json"
        ) -> bytes:
            answer = await super().write(method, path, traffic, body, content_type=content_type)
            self.bodies.append(msgspec.json.decode(body))
            return answer

    clock = LoopClock()
    server = Keeping(Unreachable("connection refused"))
    sink = KubeEvents(cast("Client", server), clock, half, nobody)
    async with running(sink.run()):
        sink.emit(autoscaler(), Event("Normal", "First", "one"))
        await asyncio.sleep(1.0)
        happened_ns = clock.now().wall_ns
        sink.emit(autoscaler(), Event("Normal", "Second", "two"))
        await asyncio.sleep(1.0)
        again_ns = clock.now().wall_ns
        sink.emit(autoscaler(), Event("Normal", "Second", "two"))
        await asyncio.sleep(60.0)
    _, second, counted = server.bodies
    assert second["metadata"]["name"] == f"web.{happened_ns:x}"
    assert (second["firstTimestamp"], second["lastTimestamp"]) == (format_rfc3339(happened_ns),) * 2
    assert (counted["count"], counted["lastTimestamp"]) == (2, format_rfc3339(again_ns))


async def test_an_event_that_was_refused_is_posted_the_next_time_and_not_counted_up() -> None:
    """There is none to count up."""
    server = Server()
    sink = KubeEvents(cast("Client", server), LoopClock(), half, nobody)
    async with running(sink.run()):
        for _ in range(2):
            sink.emit(autoscaler(), Event("Normal", "Unwanted", "one"))
        await asyncio.wait_for(sink.drained(), 10.0)
    assert (server.counts, sink.dropped["refused"]) == ([], 2)


async def test_a_namespace_that_is_being_deleted_refuses_events_without_a_warning() -> None:
    server = Faulty(Terminating("unable to create new content in namespace shop because it is being terminated", 403))
    sink = KubeEvents(cast("Client", server), LoopClock(), half, nobody)
    with capture_logs() as logs:
        async with running(sink.run()):
            sink.emit(autoscaler(), Event("Normal", "First", "one"))
            await asyncio.wait_for(sink.drained(), 10.0)
    assert +sink.dropped == {"namespace-terminating": 1}
    assert {line["log_level"] for line in logs} == {"debug"}


async def test_a_conflict_that_says_of_no_event_that_it_is_there_is_a_refusal() -> None:
    server = Faulty(Conflict('Operation cannot be fulfilled on events "web"', 409, "Conflict"))
    sink = KubeEvents(cast("Client", server), LoopClock(), half, nobody)
    async with running(sink.run()):
        sink.emit(autoscaler(), Event("Normal", "First", "one"))
        await asyncio.wait_for(sink.drained(), 10.0)
    assert (server.messages, sink.dropped["refused"]) == ([], 1)


async def test_a_look_for_hpas_that_are_gone_has_nobody_told_of_more_of_them() -> None:
    """Of thousands that a list finds gone all would be told in one iteration of the loop, each from within the last."""
    parts = Parts(settings(), access_to("http://127.0.0.1:9"))
    hpas = [autoscaler(name=f"web-{number}", uid=f"{number}") for number in range(3 * TOLD_PER_ITERATION)]
    list_anew(parts.autoscalers, hpas)
    while parts.instruments.registry.get_sample_value(KNOWN) != len(hpas):  # noqa: ASYNC110 - a few iterations
        await asyncio.sleep(0)
    for hpa in hpas:
        subject = Subject(hpa.namespace, hpa.name, hpa.uid, hpa.version)
        now = LoopClock().now()
        parts.sink._correlator.correlate(subject, Event("Warning", "First", "one"), now.wall_ns, now)
    list_anew(parts.autoscalers, [])
    assert parts.instruments.registry.get_sample_value(KNOWN) == len(hpas) - TOLD_PER_ITERATION
    await parts.connection.close()
