"""A client and what it is made of, for tests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from controller.decide.instants import Now
from controller.kube.client import Client
from controller.kube.connection import Connection
from controller.kube.credentials import NoCredentials
from controller.kube.kubeconfig import Access
from controller.ports import Clock, Leadership, NotLeading

START_NS = 1_767_225_600_000_000_000
"""2026-01-01T00:00:00Z."""


class LoopClock:
    """The port `Clock` on the event loop's time, which may be virtual; `skipped_s` is what a test adds."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.skipped_s = 0.0

    def now(self) -> Now:
        passed_ns = round((self._loop.time() + self.skipped_s) * 1e9)
        return Now(START_NS + passed_ns, passed_ns)


class SetClock:
    """The port `Clock`, moved by the test."""

    def __init__(self, now_s: float = 0.0) -> None:
        self.now_s = now_s

    def now(self) -> Now:
        passed_ns = round(self.now_s * 1e9)
        return Now(START_NS + passed_ns, passed_ns)


class SetLeadership:
    """The port `Leadership`, decided by the test; `checks` counts how often it was asked."""

    def __init__(self) -> None:
        self.term = 1
        self.leading = True
        self.checks = 0

    def check(self) -> None:
        self.checks += 1
        if not self.leading:
            raise NotLeading("the test says so")


class Answered(msgspec.Struct, frozen=True):
    """One measurement of the client."""

    traffic: str
    verb: str
    code: str


class Recorder:
    """What the client measured."""

    def __init__(self) -> None:
        self.answers: list[Answered] = []

    def answered(self, traffic: str, verb: str, code: str, duration_s: float) -> None:
        assert duration_s >= 0
        self.answers.append(Answered(traffic, verb, code))


def always() -> None:
    """For a write that may go out whenever it does."""


def half() -> float:
    """Randomness that is none."""
    return 0.5


def access_to(url: str, **fields: Any) -> Access:
    return Access(**{"server": url, "source": "the test", "tokens": NoCredentials(), **fields})


def client_on(
    connection: Connection,
    *,
    leadership: Leadership | None = None,
    recorder: Recorder | None = None,
    qps: float = 0.0,
    burst: int = 30,
) -> Client:
    return Client(
        connection,
        leadership=leadership or SetLeadership(),
        random=half,
        answered=(recorder or Recorder()).answered,
        qps=qps,
        burst=burst,
    )


@asynccontextmanager
async def connected(access: Access, clock: Clock | None = None, **options: Any) -> AsyncIterator[Client]:
    """A client for an access; `options` are those of `client_on`."""
    connection = Connection(access, clock or LoopClock())
    try:
        yield client_on(connection, **options)
    finally:
        await connection.close()


def connected_to(url: str, **options: Any) -> Any:
    """A client for a server that asks for no credentials."""
    return connected(access_to(url), **options)
