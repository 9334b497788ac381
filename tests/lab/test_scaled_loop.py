import asyncio
import os
import signal
import threading
import time

import pytest

from controller.lab.scaled_loop import MAX_SPEED, ScaledLoop, scaled_loop_factory

SPEEDS = pytest.mark.parametrize("speed", [1, 10, 50])

# Real time that a test may take: lab seconds are chosen so that every speed sleeps equally long.
REAL_S = 0.1


class Counting(ScaledLoop):
    """Counts how often the loop looks for something to do."""

    passes = 0

    def _run_once(self) -> None:
        self.passes += 1
        super()._run_once()  # type: ignore[misc]


@SPEEDS
def test_sleeping_takes_the_speed_th_part_of_real_time(speed: float) -> None:
    with asyncio.Runner(loop_factory=scaled_loop_factory(speed)) as runner:

        async def measure() -> tuple[float, list[float]]:
            loop = asyncio.get_running_loop()
            # Real time is read on both sides of lab time, so that a pause between two readings proves nothing wrong.
            real = [time.monotonic()]
            begin = loop.time()
            real.append(time.monotonic())
            await asyncio.sleep(REAL_S * speed)
            real.append(time.monotonic())
            lab_s = loop.time() - begin
            real.append(time.monotonic())
            return lab_s, real

        lab_s, (before, began, ended, after) = runner.run(measure())
    rounding = 1e-6 * speed
    assert lab_s >= REAL_S * speed - rounding
    assert (ended - began) * speed - rounding <= lab_s <= (after - before) * speed + rounding


@SPEEDS
def test_timers_fire_in_the_order_of_their_times(speed: float) -> None:
    order: list[int] = []

    async def fill() -> None:
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        for number in (3, 1, 4, 0, 2):
            loop.call_later(number * 0.02 * speed, order.append, number)
        loop.call_later(5 * 0.02 * speed, done.set_result, None)
        await done

    with asyncio.Runner(loop_factory=scaled_loop_factory(speed)) as runner:
        runner.run(fill())
    assert order == [0, 1, 2, 3, 4]


@SPEEDS
def test_waiting_does_not_spin(speed: float) -> None:
    async def wait(loop: Counting) -> int:
        before = loop.passes
        await asyncio.sleep(REAL_S * speed)
        return loop.passes - before

    loop = Counting(speed)
    try:
        passes = loop.run_until_complete(wait(loop))
    finally:
        loop.close()
    assert passes <= 4


@SPEEDS
def test_timeouts_and_cancellation_are_in_scaled_time(speed: float) -> None:
    async def run() -> tuple[float, bool]:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02 * speed):
                await asyncio.Event().wait()
        timed_out_s = loop.time() - begin
        task = asyncio.create_task(asyncio.sleep(3600 * speed))
        loop.call_later(0.01 * speed, task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task
        return timed_out_s, task.cancelled()

    with asyncio.Runner(loop_factory=scaled_loop_factory(speed)) as runner:
        timed_out_s, cancelled = runner.run(run())
    assert timed_out_s >= 0.02 * speed
    assert cancelled


@SPEEDS
def test_a_thread_wakes_a_loop_that_waits_for_long(speed: float) -> None:
    async def run() -> str:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[str] = loop.create_future()
        thread = threading.Thread(target=loop.call_soon_threadsafe, args=(answer.set_result, "woken"))
        thread.start()
        async with asyncio.timeout(10 * speed):
            result = await answer
        thread.join(10)
        return result

    with asyncio.Runner(loop_factory=scaled_loop_factory(speed)) as runner:
        assert runner.run(run()) == "woken"


@SPEEDS
def test_a_signal_wakes_a_loop_that_waits_for_long(speed: float) -> None:
    async def run() -> bool:
        loop = asyncio.get_running_loop()
        came = asyncio.Event()
        loop.add_signal_handler(signal.SIGUSR1, came.set)
        try:
            loop.call_later(0.01 * speed, os.kill, os.getpid(), signal.SIGUSR1)
            async with asyncio.timeout(10 * speed):
                return await came.wait()
        finally:
            loop.remove_signal_handler(signal.SIGUSR1)

    with asyncio.Runner(loop_factory=scaled_loop_factory(speed)) as runner:
        assert runner.run(run())


@SPEEDS
def test_sockets_work_as_they_always_do(speed: float) -> None:
    async def run() -> bytes:
        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readline())
            await writer.drain()
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        async with server, asyncio.timeout(10 * speed):
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"hello\n")
            answer = await reader.read()
            writer.close()
            await writer.wait_closed()
            return answer

    with asyncio.Runner(loop_factory=scaled_loop_factory(speed)) as runner:
        assert runner.run(run()) == b"hello\n"


@pytest.mark.parametrize("speed", [0, -1, MAX_SPEED + 1, float("nan")])
def test_speeds_that_make_no_sense_are_refused(speed: float) -> None:
    with pytest.raises(ValueError, match="speed must be above 0"):
        scaled_loop_factory(speed)
