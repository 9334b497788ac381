"""A value that takes long to read delays only whoever asks first."""

import asyncio

import pytest

from controller.sources.renewed import Renewed

pytestmark = pytest.mark.looptime


class Slow:
    """Reads numbers, five seconds each, good for a minute; `broken` makes it fail."""

    def __init__(self) -> None:
        self.reads = 0
        self.broken: Exception | None = None
        self.failures: list[Exception] = []

    async def read(self) -> tuple[int, float]:
        self.reads += 1
        await asyncio.sleep(5)
        if self.broken is not None:
            raise self.broken
        return self.reads, 60.0

    def kept(self) -> Renewed[int]:
        time_s = asyncio.get_running_loop().time
        return Renewed(self.read, time_s=time_s, retry_s=10.0, failed=self.failures.append)


async def test_all_who_ask_first_wait_for_one_reading() -> None:
    slow = Slow()
    kept = slow.kept()
    assert await asyncio.gather(*(kept.value() for _ in range(5))) == [1] * 5
    assert slow.reads == 1


async def test_what_is_too_old_is_read_anew_beside_whoever_asks() -> None:
    slow = Slow()
    kept = slow.kept()
    await kept.value()
    await asyncio.sleep(61)
    async with asyncio.timeout(1):
        assert [await kept.value() for _ in range(3)] == [1, 1, 1]
    assert await kept.settled() == 2
    await asyncio.sleep(59)
    assert await kept.value() == 2
    await asyncio.sleep(0)  # a reading that it had begun would have begun by now
    assert slow.reads == 2, "a minute counts from when it was read"


@pytest.mark.parametrize("error", [OSError("away"), ZeroDivisionError()])
async def test_a_renewal_that_fails_is_told_and_tried_again_after_a_while(error: Exception) -> None:
    slow = Slow()
    kept = slow.kept()
    await kept.value()
    slow.broken = error
    await asyncio.sleep(61)
    for _ in range(15):
        assert await kept.value() == 1
        await asyncio.sleep(1)
    assert (slow.reads, slow.failures) == (2, [error])
    slow.broken = None
    await asyncio.sleep(1)
    await kept.value()
    assert await kept.settled() == 3


async def test_a_first_reading_that_fails_fails_whoever_asks_and_is_tried_by_the_next() -> None:
    slow = Slow()
    kept = slow.kept()
    slow.broken = OSError("away")
    with pytest.raises(OSError, match="away"):
        await kept.value()
    slow.broken = None
    assert await kept.value() == 2


async def test_a_first_reading_that_fails_fails_all_who_waited_for_it_at_once() -> None:
    """Were each to try again in turn, the hundredth HPA would learn of it minutes later."""
    slow = Slow()
    kept = slow.kept()
    slow.broken = OSError("away")
    async with asyncio.timeout(6):
        answers = await asyncio.gather(*(kept.value() for _ in range(100)), return_exceptions=True)
    assert [str(answer) for answer in answers] == ["away"] * 100
    slow.broken = None
    assert (await kept.value(), slow.reads) == (2, 2), "who asks later asks anew"


async def test_who_is_cancelled_in_the_first_reading_does_not_cancel_it_for_the_others() -> None:
    slow = Slow()
    kept = slow.kept()
    first, second = asyncio.create_task(kept.value()), asyncio.create_task(kept.value())
    await asyncio.sleep(1)
    first.cancel()
    async with asyncio.timeout(5):
        assert await second == 1


async def test_a_first_reading_that_nobody_waits_for_any_more_ends_with_it() -> None:
    slow = Slow()
    kept = slow.kept()
    asked = asyncio.create_task(kept.value())
    await asyncio.sleep(1)
    asked.cancel()
    await kept.close()
    await asyncio.sleep(10)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert await kept.value() == 2


async def test_a_renewal_under_way_ends_with_it() -> None:
    slow = Slow()
    kept = slow.kept()
    await kept.value()
    await asyncio.sleep(61)
    await kept.value()
    await kept.close()
    await asyncio.sleep(10)
    assert await kept.value() == 1
    assert slow.failures == []
    await kept.close()
