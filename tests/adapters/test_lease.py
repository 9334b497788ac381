"""Contenders for one Lease in virtual time, against a server that is slow, fails and loses answers."""

import asyncio
import json
import random
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from looptime import patch_event_loop
from structlog.testing import capture_logs

from controller.backoff import Random
from controller.kube.client import Client
from controller.kube.lease import Lease, LeaseSettings
from controller.ports import Conflict, NotFound, NotLeading, Rejected, Unreachable
from tests.adapters.parts import LoopClock, half

PERIOD_S = 120


class LeaseServer:
    """Keeps one Lease as the API server does; `random` decides what goes wrong."""

    def __init__(self, dice: random.Random | None = None) -> None:
        self.stored: dict[str, Any] | None = None
        self.version = 0
        self.down = False
        self.has_namespace = True
        self.answers_lost = 0
        self.asked: list[str] = []
        self.writes_wait_s = 0.0
        self._dice = dice

    def calm(self) -> None:
        """From now on everything works."""
        self.down, self._dice = False, None

    def given_to(self, holder: str) -> None:
        """Somebody writes that it is another's."""
        assert self.stored is not None
        self.version += 1
        self.stored["metadata"]["resourceVersion"] = str(self.version)
        self.stored["spec"]["holderIdentity"] = holder

    async def get(self, *_: Any, timeout_s: float, **__: Any) -> bytes:
        self.asked.append("GET")
        return await self._served(timeout_s, self._read)

    async def contend(self, method: str, _: str, body: bytes, timeout_s: float) -> bytes:
        self.asked.append(method)
        await asyncio.sleep(self.writes_wait_s)
        return await self._served(timeout_s, lambda: self._write(method, json.loads(body)))

    async def _served(self, timeout_s: float, serve: Any) -> bytes:
        try:
            async with asyncio.timeout(timeout_s):
                await self._delay()
                answer: bytes = serve()
                if self.answers_lost:
                    self.answers_lost -= 1
                    await asyncio.sleep(timeout_s + 1)
                await self._delay()
                return answer
        except TimeoutError as error:
            raise Unreachable("no answer") from error

    async def _delay(self) -> None:
        if self.down:
            raise Unreachable("down")
        if self._dice is None:
            return
        if self._dice.random() < 0.15:
            raise Unreachable("lost")
        await asyncio.sleep(self._dice.choice((0.0, 0.1, 1.0, 4.0, 20.0)))

    def _read(self) -> bytes:
        if self.stored is None:
            raise NotFound("none", 404)
        return json.dumps(self.stored).encode()

    def _write(self, method: str, lease: dict[str, Any]) -> bytes:
        if not self.has_namespace:
            raise NotFound('namespaces "defualt" not found', 404)
        if method == "POST" and self.stored is not None:
            raise Conflict("exists", 409)
        if method == "PUT" and self.stored is None:
            raise NotFound("none", 404)
        if method == "PUT" and not lease["metadata"].get("resourceVersion"):
            raise Rejected("metadata.resourceVersion: must be specified for an update", 422)
        if method == "PUT" and lease["metadata"]["resourceVersion"] != str(self.version):
            raise Conflict("changed", 409)
        self.version += 1
        lease["metadata"]["resourceVersion"] = str(self.version)
        if self.stored is None:
            lease["metadata"]["uid"] = f"uid-{self.version}"
        elif "uid" in self.stored["metadata"]:
            lease["metadata"]["uid"] = self.stored["metadata"]["uid"]
        self.stored = lease
        return json.dumps(lease).encode()


def writable(lease: Lease) -> bool:
    try:
        lease.check()
    except NotLeading:
        return False
    return True


def contender(name: str) -> Lease:
    return Lease(LeaseSettings("default", "lock", name), LoopClock(), half)


def client(server: LeaseServer) -> Client:
    return cast("Client", server)


async def _contended(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - repeatable on purpose
    server = LeaseServer(dice)
    leases = [contender(name) for name in "abc"]
    tasks = [asyncio.create_task(lease.run(client(server))) for lease in leases]
    for _ in range(PERIOD_S * 4):
        await asyncio.sleep(0.25)
        assert sum(map(writable, leases)) <= 1, "two may write"
        server.down = dice.random() < (0.9 if server.down else 0.02)
    server.calm()
    await asyncio.sleep(60)
    assert sum(map(writable, leases)) == 1, "when all is well again somebody leads"
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@settings(max_examples=25, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_no_two_may_write_whatever_goes_wrong(seed: int) -> None:
    loop = patch_event_loop(asyncio.SelectorEventLoop(), _enabled=True)
    try:
        loop.run_until_complete(_contended(seed))
    finally:
        loop.close()


@pytest.mark.looptime
async def test_a_lease_is_acquired_renewed_and_lost_when_the_server_is_gone_too_long() -> None:
    server, lease = LeaseServer(), contender("a")
    task = asyncio.create_task(lease.run(client(server)))
    await asyncio.sleep(60)
    assert writable(lease)
    assert lease.term == 1
    server.down = True
    await asyncio.sleep(5)
    assert writable(lease), "shorter than the deadline"
    await asyncio.sleep(8)
    assert not writable(lease)
    server.down = False
    await asyncio.sleep(5)
    assert writable(lease)
    assert lease.term == 2
    task.cancel()


@pytest.mark.looptime
async def test_a_lease_that_cannot_be_made_is_told_of() -> None:
    server, lease = LeaseServer(), contender("a")
    server.has_namespace = False
    with capture_logs() as logs:
        task = asyncio.create_task(lease.run(client(server)))
        await asyncio.sleep(1)
        task.cancel()
    assert not writable(lease)
    assert [(line["event"], line["error"]) for line in logs] == [
        ("the Lease could not be made", 'namespaces "defualt" not found')
    ]


@pytest.mark.looptime
@pytest.mark.parametrize(("retry_period_s", "dice"), [(2.0, half), (2.0, lambda: 0.999), (3.0, lambda: 0.999)])
async def test_a_renewal_whose_answer_is_lost_costs_no_term(retry_period_s: float, dice: Random) -> None:
    """It made the version that we know old, and by our clock there is no time for another period.

    Nor is there when it was begun as late as it may be, with the longest waits that there are.
    """
    server = LeaseServer()
    lease = Lease(LeaseSettings("default", "lock", "a", retry_period_s=retry_period_s), LoopClock(), dice)
    task = asyncio.create_task(lease.run(client(server)))
    await asyncio.sleep(60)
    server.answers_lost = 1
    for _ in range(300):
        await asyncio.sleep(0.1)
        assert writable(lease)
    assert (lease.term, server.answers_lost) == (1, 0)
    task.cancel()


@pytest.mark.looptime
async def test_attempts_begin_a_retry_period_apart_however_long_each_takes() -> None:
    server, lease = LeaseServer(), contender("a")
    server.writes_wait_s = 1.5
    task = asyncio.create_task(lease.run(client(server)))
    await asyncio.sleep(60)
    assert server.asked.count("PUT") == pytest.approx(60 / (2.0 * (1.0 + 0.2 / 2)), abs=1)
    task.cancel()


@pytest.mark.looptime
async def test_another_takes_over_only_when_the_holder_was_silent_for_as_long_as_it_promised() -> None:
    server, first, second = LeaseServer(), contender("a"), contender("b")
    holding = asyncio.create_task(first.run(client(server)))
    await asyncio.sleep(1)
    waiting = asyncio.create_task(second.run(client(server)))
    await asyncio.sleep(30)
    assert second.holder == "a"
    holding.cancel()
    await asyncio.sleep(12)
    assert not writable(second)
    await asyncio.sleep(10)
    assert writable(second)
    assert not writable(first)
    waiting.cancel()


@pytest.mark.looptime
async def test_a_released_lease_is_taken_at_once_and_a_deleted_one_made_anew() -> None:
    server, first, second = LeaseServer(), contender("a"), contender("b")
    holding = asyncio.create_task(first.run(client(server)))
    await asyncio.sleep(1)
    holding.cancel()
    await first.release(client(server))
    assert not writable(first)
    waiting = asyncio.create_task(second.run(client(server)))
    await asyncio.sleep(3)
    assert writable(second)
    server.stored = None
    await asyncio.sleep(6)
    assert server.stored is not None
    assert writable(second)
    waiting.cancel()


@pytest.mark.looptime
async def test_time_during_which_the_machine_slept_counts() -> None:
    clock, server = LoopClock(), LeaseServer()
    lease = Lease(LeaseSettings("default", "lock", "a"), clock, half)
    task = asyncio.create_task(lease.run(client(server)))
    await asyncio.sleep(1)
    assert writable(lease)
    clock.skipped_s = 11
    assert not writable(lease)
    task.cancel()
