"""A source that misbehaves harms its own metrics only."""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from controller.decide.observed import ExternalReading, ObjectReading, PodsReading, ReadFailure, Sample
from controller.ports import Question
from controller.sources.answering import Unknown
from controller.sources.contained import UNDER_WAY_MAX, ContainedSource
from controller.sources.plugins import PluginError, load_plugin
from tests.sources.asking import external, of_pods

WAIT_S = 30.0


class Acts:
    """A source that does what a test says."""

    def __init__(self, act: Callable[[], Awaitable[Any]]) -> None:
        self._act = act

    async def read(self, question: Question) -> Any:  # noqa: ARG002 - it does the same for all
        return await self._act()

    async def close(self) -> None:
        pass


async def read_from(act: Callable[[], Awaitable[Any]], question: Question, timeout_s: float = 5.0) -> Any:
    source = ContainedSource("odd", lambda: Acts(act), timeout_s)
    try:
        return await source.read(question)
    finally:
        await source.close()


def gives(value: Any) -> Callable[[], Awaitable[Any]]:
    async def act() -> Any:
        return value

    return act


@pytest.mark.parametrize("good", [ExternalReading((1, 2)), ExternalReading(()), Unknown("no"), ReadFailure("down")])
async def test_good_answers_pass(good: Any) -> None:
    assert await read_from(gives(good), external("depth")) == good


@pytest.mark.parametrize("failure", [ReadFailure, Unknown])
async def test_what_it_says_of_a_failure_is_cut_and_becomes_one_line(
    failure: type[ReadFailure] | type[Unknown],
) -> None:
    found = await read_from(gives(failure("down\nsince\x1b" + 1_000_000 * "x")), external("depth"))
    assert isinstance(found, failure)
    assert found.message.startswith("down since\\x1bxxx")
    assert len(found.message) < 400


async def test_answers_with_samples_pass() -> None:
    good = PodsReading({"web-0": Sample(1, 2, 3)})
    assert await read_from(gives(good), of_pods("rps")) == good


@pytest.mark.parametrize(
    ("nonsense", "part"),
    [
        (None, "gave a NoneType where a ExternalReading is needed"),
        (42, "gave a int"),
        (ObjectReading(1), "gave a ObjectReading"),
        (ExternalReading(("x",)), "an answer that is none"),  # type: ignore[arg-type]  # the nonsense under test
        (ExternalReading((float("nan"),)), "an answer that is none"),  # type: ignore[arg-type]  # the same
        (ExternalReading((object(),)), "an answer that is none"),  # type: ignore[arg-type]  # the same
    ],
)
async def test_nonsense_is_a_failure_that_names_the_source(nonsense: Any, part: str) -> None:
    found = await read_from(gives(nonsense), external("depth"))
    assert isinstance(found, ReadFailure)
    assert found.message.startswith("the source odd ")
    assert part in found.message


async def test_what_it_raises_is_a_failure() -> None:
    async def act() -> None:
        raise RuntimeError("broken\nin two")

    assert await read_from(act, external("depth")) == ReadFailure("the source odd failed: RuntimeError: broken in two")


class Panic(BaseException):
    """As extensions in other languages raise it."""


@pytest.mark.parametrize(("error", "said"), [(SystemExit(3), "SystemExit: 3"), (Panic("index"), "Panic: index")])
async def test_it_cannot_end_the_controller(error: BaseException, said: str) -> None:
    async def act() -> None:
        raise error

    assert await read_from(act, external("depth")) == ReadFailure(f"the source odd failed: RuntimeError: {said}")

    def make() -> Any:
        raise error

    source = ContainedSource("odd", make, 5.0)
    for _ in range(2):
        found = await source.read(external("depth"))
        assert isinstance(found, ReadFailure)
        assert said in found.message
    await source.close()


async def test_one_whose_loop_has_ended_is_made_anew_and_can_be_closed() -> None:
    """Tasks that a source leaves running are its own."""
    made: list[Acts] = []

    async def leave() -> ExternalReading:
        async def end() -> None:
            raise SystemExit(3)

        leave_running.append(asyncio.ensure_future(end()))
        return ExternalReading((len(made),))

    def make() -> Acts:
        made.append(Acts(leave))
        return made[-1]

    leave_running: list[asyncio.Future[None]] = []
    source = ContainedSource("odd", make, 5.0)
    for number in (1, 2):
        assert await source.read(external("depth")) == ExternalReading((number,))
        assert source._thread is not None
        await asyncio.to_thread(source._thread.join, 5)
    await source.close()


async def test_what_one_does_not_let_go_whose_loop_has_ended_counts_no_more_for_the_next() -> None:
    """It takes its time to end, and nobody need wait for that."""
    let_go = threading.Event()
    ending: list[asyncio.Future[None]] = []
    asked = 0

    async def end() -> None:
        raise SystemExit(3)

    async def act() -> ExternalReading:
        nonlocal asked
        asked += 1
        if asked > UNDER_WAY_MAX:
            return ExternalReading((7,))
        if asked == UNDER_WAY_MAX:
            ending.append(asyncio.ensure_future(end()))
        while not let_go.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)
        raise asyncio.CancelledError

    source = ContainedSource("odd", lambda: Acts(act), timeout_s=WAIT_S)
    first = [asyncio.ensure_future(source.read(external("depth"))) for _ in range(UNDER_WAY_MAX)]
    async with asyncio.timeout(WAIT_S):
        while source._loop is not None or not asked:  # noqa: ASYNC110 - bounded by the timeout
            await asyncio.sleep(0.01)
    try:
        assert await source.read(external("depth")) == ExternalReading((7,))
        assert not any(one.done() for one in first)
    finally:
        let_go.set()
    assert set(await asyncio.gather(*first)) == {ReadFailure("the source odd has ended its event loop")}
    await source.close()
    assert [type(left.exception()) for left in ending] == [SystemExit]


async def test_what_one_was_asked_whose_loop_has_ended_is_over() -> None:
    """Else a source whose loop ends now and then would one day count as stuck for good."""
    ending: list[asyncio.Future[None]] = []
    asked = closed = 0
    healthy = False

    async def end() -> None:
        raise SystemExit(3)

    async def act() -> ExternalReading:
        nonlocal asked, closed
        if healthy:
            return ExternalReading((7,))
        asked += 1
        if asked == UNDER_WAY_MAX:
            ending.append(asyncio.ensure_future(end()))
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)  # as one does that closes its connections
            closed += 1
        raise AssertionError("nobody answers")

    source = ContainedSource("odd", lambda: Acts(act), timeout_s=WAIT_S)
    first = [asyncio.ensure_future(source.read(external("depth"))) for _ in range(UNDER_WAY_MAX)]
    assert set(await asyncio.gather(*first)) == {ReadFailure("the source odd has ended its event loop")}
    healthy = True
    assert await source.read(external("depth")) == ExternalReading((7,))
    await source.close()
    assert closed == UNDER_WAY_MAX
    assert [type(left.exception()) for left in ending] == [SystemExit]


async def test_whoever_asks_while_a_loop_ends_has_an_answer() -> None:
    """Again and again, in whichever moment the loop ends."""

    async def act() -> ExternalReading:
        async def end() -> None:
            raise SystemExit(3)

        leave_running.append(asyncio.ensure_future(end()))
        return ExternalReading((7,))

    leave_running: list[asyncio.Future[None]] = []
    source = ContainedSource("odd", lambda: Acts(act), timeout_s=WAIT_S)
    ended = ReadFailure("the source odd has ended its event loop")
    for _ in range(100):
        answers = await asyncio.gather(*(source.read(external("depth")) for _ in range(3)))
        assert all(answer in (ExternalReading((7,)), ended) for answer in answers)
    await source.close()
    assert {type(left.exception()) for left in leave_running if not left.cancelled()} == {SystemExit}


async def test_who_is_cancelled_while_a_source_answers_is_cancelled() -> None:
    async def act() -> ExternalReading:
        await asyncio.Event().wait()
        raise AssertionError("nobody answers")

    source = ContainedSource("odd", lambda: Acts(act), timeout_s=WAIT_S)
    reading = asyncio.ensure_future(source.read(external("depth")))
    await asyncio.sleep(0.01)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await source.close()


async def test_what_it_raises_is_escaped() -> None:
    async def act() -> Any:
        raise FileNotFoundError("caf\udce9.txt")

    answer = await read_from(act, external("depth"))
    assert isinstance(answer, ReadFailure)
    assert answer.message.endswith(r"FileNotFoundError: caf\udce9.txt")


async def test_a_source_that_cannot_be_made_fails_every_question() -> None:
    def make() -> Acts:
        raise ValueError("the option folder is needed")

    source = ContainedSource("odd", make)
    for _ in range(2):
        found = await source.read(external("depth"))
        assert isinstance(found, ReadFailure)
        assert "the option folder is needed" in found.message
    await source.close()


def test_a_source_that_is_not_installed_is_named() -> None:
    with pytest.raises(PluginError, match="there is no source 'nonesuch'; built in are api"):
        load_plugin("nonesuch", {})


async def test_one_that_hangs_fails_in_time() -> None:
    async def act() -> None:
        await asyncio.Event().wait()

    found = await read_from(act, external("depth"), timeout_s=0.1)
    assert found == ReadFailure("the source odd did not answer within 0.1 s")


async def test_one_that_blocks_its_loop_does_not_block_ours() -> None:
    release = threading.Event()
    ours_ran = 0

    async def act() -> ExternalReading:
        release.wait(20)  # as a careless source would call something that blocks
        return ExternalReading((7,))

    source = ContainedSource("odd", lambda: Acts(act), timeout_s=0.3)
    try:
        waiting = asyncio.gather(*(source.read(external("depth")) for _ in range(UNDER_WAY_MAX + 1)))
        while not waiting.done():
            ours_ran += 1
            await asyncio.sleep(0.01)
        answers = await waiting
        assert all(isinstance(answer, ReadFailure) for answer in answers)
        assert "has not answered" in answers[-1].message  # type: ignore[union-attr]  # the line above has seen to it
        assert ours_ran > 3
        later = await source.read(external("depth"))
        assert "has not answered" in later.message  # type: ignore[union-attr]  # a failure, too
        release.set()
    finally:
        release.set()
        await source.close()


async def test_one_that_ends_its_loop_while_it_is_closed_is_closed() -> None:
    class Ends(Acts):
        async def close(self) -> None:
            asyncio.get_running_loop().stop()
            await asyncio.sleep(WAIT_S)

    source = ContainedSource("odd", lambda: Ends(gives(ExternalReading((7,)))), 5.0)
    assert await source.read(external("depth")) == ExternalReading((7,))
    with capture_logs() as logs:
        await source.close()
    (log,) = logs
    assert log["event"] == "a source of metrics did not end"
    assert log["error"].startswith("CancelledError")
