"""Events are posted in order, and one that cannot be is the end of itself only."""

import asyncio
from typing import cast

import msgspec
from structlog.testing import capture_logs

from controller.decide.events import Event
from controller.kube.client import Client
from controller.kube.events import KubeEvents
from controller.kube.traffic import Traffic
from controller.ports import Refused
from tests.adapters.parts import LoopClock, half
from tests.spine.objects import autoscaler


class Server:
    """Takes events, but none of a reason that it does not like."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    async def write(self, method: str, path: str, traffic: Traffic, body: bytes) -> bytes:
        assert (method, path, traffic) == ("POST", "/api/v1/namespaces/shop/events", Traffic.EVENT)
        event = msgspec.json.decode(body)
        if event["reason"] == "Unwanted":
            raise Refused("no such events here", 403)
        self.messages.append(event["message"])
        return b""


async def test_an_event_that_cannot_be_encoded_or_is_refused_is_dropped_alone() -> None:
    server = Server()
    sink = KubeEvents(cast("Client", server), LoopClock(), half)
    posting = asyncio.create_task(sink.run())
    with capture_logs() as logs:
        sink.emit(autoscaler(), Event("Normal", "First", "one"))
        sink.emit(autoscaler(), Event("Warning", "Broken", "no file caf\udce9.txt"))
        sink.emit(autoscaler(), Event("Normal", "Unwanted", "two"))
        sink.emit(autoscaler(), Event("Normal", "Last", "three"))
        await asyncio.wait_for(sink.drained(), 10.0)
    assert server.messages == ["one", "three"]
    assert sink.dropped == {"refused": 1, "failed": 1, "unanswered": 0, "queue-full": 0, "spam-filtered": 0}
    assert [line["hpa"] for line in logs if line["event"] == "event could not be posted"] == ["shop/web"] * 2
    posting.cancel()
    await asyncio.wait([posting])
