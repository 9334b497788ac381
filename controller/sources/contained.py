"""A source that is not ours, in a thread and an event loop of its own: whatever it does harms only its own metrics."""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import msgspec
import structlog

from controller.decide.observed import (
    ExternalReading,
    ObjectReading,
    PodsReading,
    ReadFailure,
    ResourceReading,
)
from controller.ports import ExternalQuestion, ObjectQuestion, PodsQuestion, Question, ResourceQuestion
from controller.sources.answering import Answer, MetricsSource, Unknown
from controller.wire.errors import printable

TIMEOUT_S: Final = 10.0
"""How long one answer may take."""

UNDER_WAY_MAX: Final = 200
CLOSE_S: Final = 2.0
FINISH_ATTEMPTS_MAX: Final = 4
"""How often what a source has left running may raise while its loop is closed."""
_TEXT_MAX: Final = 300
_EXPECTED: Final = {
    ResourceQuestion: ResourceReading,
    PodsQuestion: PodsReading,
    ObjectQuestion: ObjectReading,
    ExternalQuestion: ExternalReading,
}

_log = structlog.get_logger(__name__)


class ContainedSource:
    """A MetricsSource around another one, which is made and asked in its own thread only.

    What it raises, what it says that is no answer to the question, and what it does not answer in time become failures
    of the metric. A source that blocks its thread blocks itself: once too many questions wait, they fail at once.
    """

    def __init__(self, name: str, make: Callable[[], MetricsSource], timeout_s: float = TIMEOUT_S) -> None:
        """`name` is what messages call it."""
        self._name = name
        self._make = make
        self._timeout_s = timeout_s
        self._source: MetricsSource | None = None
        self._under_way: set[concurrent.futures.Future[Answer]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        # Whoever holds it may ask in the loop, or say that it has ended.
        self._asking = threading.Lock()

    async def read(self, question: Question) -> Answer:
        """See MetricsSource."""
        with self._asking:
            loop = self._running()
            # What was given up counts until the other thread has got to it, so that a stuck one cannot pile them up.
            if len(self._under_way) >= UNDER_WAY_MAX:
                return ReadFailure(
                    f"the source {self._name} has not answered {UNDER_WAY_MAX} questions before this one"
                )
            flight = asyncio.run_coroutine_threadsafe(self._read(question), loop)
            self._under_way.add(flight)
        flight.add_done_callback(self._under_way.discard)
        answered = asyncio.wrap_future(flight)
        answered.add_done_callback(_retrieved)
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await asyncio.shield(answered)
        except TimeoutError:
            return ReadFailure(f"the source {self._name} did not answer within {self._timeout_s:g} s")
        except asyncio.CancelledError:
            if not answered.cancelled():
                raise  # who asks is cancelled, not what it asked for
            return ReadFailure(f"the source {self._name} has ended its event loop")
        except Exception as error:  # noqa: BLE001 - whatever it raises is its failure, not ours
            _log.error("a source of metrics raised", source=self._name, error=repr(error))
            return ReadFailure(f"the source {self._name} failed: {_shown(error)}")
        finally:
            del flight, answered  # which keep the error, whose traceback keeps this frame
        return self._checked(question, answer)

    async def close(self) -> None:
        """See MetricsSource. A source that does not end in time is left behind; its thread ends with the program."""
        with self._asking:
            loop, self._loop = self._loop, None
            if loop is None:
                return
            ending = asyncio.run_coroutine_threadsafe(self._end(), loop)
        ended = asyncio.gather(asyncio.wrap_future(ending), return_exceptions=True)
        try:
            [problem] = await asyncio.wait_for(ended, CLOSE_S)
        except TimeoutError as error:
            problem = error
        if problem is not None:  # perhaps that it has ended its event loop; it is over in any case
            _log.warning("a source of metrics did not end", source=self._name, error=repr(problem))
        with suppress(RuntimeError):  # it has ended by itself
            loop.call_soon_threadsafe(loop.stop)
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, CLOSE_S)

    async def _read(self, question: Question) -> Answer:
        with _as_failures():
            async with asyncio.timeout(self._timeout_s):
                if self._source is None:
                    self._source = self._make()
                return await self._source.read(question)

    async def _end(self) -> None:
        with _as_failures():
            if self._source is not None:
                await self._source.close()

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            # Something that the source has left running can end its loop: then it is made anew.
            self._source = None
            self._under_way.clear()  # what the last one had not answered by then nobody will
            loop = self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._run, args=(loop,), name=f"source {self._name}", daemon=True)
            self._thread.start()
        return self._loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        except BaseException as error:  # noqa: BLE001 - what it has left running may raise whatever it likes
            _log.error("a source of metrics has ended its event loop", error=repr(error))
        with self._asking:
            if self._loop is loop:
                self._loop = None
        _finish(loop)

    def _checked(self, question: Question, answer: object) -> Answer:
        """The answer, made anew from its fields so that every one of them has its type; a message is cut."""
        expected = _EXPECTED[type(question)]
        if not isinstance(answer, expected | ReadFailure | Unknown):
            return ReadFailure(
                f"the source {self._name} gave a {type(answer).__name__} where a {expected.__name__} is needed"
            )
        try:
            body = msgspec.json.encode(answer)
            found: Answer = msgspec.json.decode(body, type=type(answer))
        except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
            return ReadFailure(f"the source {self._name} gave an answer that is none: {_shown(error)}")
        if isinstance(found, ReadFailure | Unknown):
            # Conditions, events and the log are to quote it.
            return msgspec.structs.replace(found, message=_one_line(found.message))
        return found


@contextmanager
def _as_failures() -> Iterator[None]:
    """Whatever is raised is an Exception or a cancellation: a plug-in's `sys.exit()` must not end the controller."""
    try:
        yield
    except (Exception, asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


def _finish(loop: asyncio.AbstractEventLoop) -> None:
    """Close a loop that nobody asks in any more, once what is under way there has ended, or had the time to."""
    for _ in range(FINISH_ATTEMPTS_MAX):
        with suppress(BaseException):  # what is left there may raise once more
            loop.run_until_complete(asyncio.sleep(0))  # what was asked last begins
            left = asyncio.all_tasks(loop)
            if not left:
                break
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.wait(left, timeout=CLOSE_S / FINISH_ATTEMPTS_MAX))
    loop.close()


def _retrieved(answered: asyncio.Future[Answer]) -> None:
    """Look at an exception that nobody waits for any more, or the loop would report it."""
    if not answered.cancelled():
        answered.exception()


def _shown(error: BaseException) -> str:
    return _one_line(f"{type(error).__name__}: {error}")


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()), _TEXT_MAX)
