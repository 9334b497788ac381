"""§13.1, §20.5: how long to wait between attempts."""

import pytest
import tenacity

from controller.backoff import EvenWait, GrowingWait, retried
from controller.ports import ApiError, ServerFailure, Throttled, Unreachable


class Dial:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.at_s = 1000.0

    def read(self) -> float:
        return self.at_s


STATE = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})


def waits(wait: GrowingWait, dial: Dial, count: int, pause_s: float = 0.0) -> list[float]:
    """The next waits, each of them waited for and followed by a pause."""
    found = []
    for _ in range(count):
        found.append(wait(STATE))
        dial.at_s += found[-1] + pause_s
    return found


def test_waits_begin_at_800_ms_and_double_up_to_half_a_minute() -> None:
    dial = Dial()
    expected = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]
    assert waits(GrowingWait(lambda: 0.0, dial.read), dial, 8) == pytest.approx(expected)


def test_jitter_stretches_each_wait_by_a_factor_of_up_to_two_and_does_not_feed_the_doubling() -> None:
    dial = Dial()
    assert waits(GrowingWait(lambda: 0.5, dial.read), dial, 7) == pytest.approx([1.2, 2.4, 4.8, 9.6, 19.2, 38.4, 45.0])


def test_waits_go_on_growing_within_two_minutes_and_start_again_after_more() -> None:
    dial = Dial()
    wait = GrowingWait(lambda: 0.0, dial.read)
    waits(wait, dial, 2)
    dial.at_s += 118.3  # with the wait before: 119.9 s
    assert waits(wait, dial, 1) == pytest.approx([3.2])
    dial.at_s += 116.9  # with the wait before: 120.1 s
    assert waits(wait, dial, 2) == pytest.approx([0.8, 1.6])


@pytest.mark.parametrize(
    ("error", "expected_s"),
    [
        (Throttled("later", 20.0), 20.0),
        (Throttled("later", 0.1), 0.8),
        (Throttled("later"), 0.8),
        (ServerFailure("starting", 503, retry_after_s=5.0), 5.0),
        (Throttled("maintenance", 86_400.0), 60.0),
        (Unreachable("cut"), 0.8),
    ],
)
def test_a_server_that_says_when_to_come_back_is_obeyed_if_that_is_later(error: ApiError, expected_s: float) -> None:
    state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
    state.set_exception((type(error), error, None))
    assert GrowingWait(lambda: 0.0, Dial().read)(state) == expected_s


@pytest.mark.parametrize(("drawn", "expected_s"), [(0.0, 0.01), (0.5, 0.0105), (0.999, 0.010999)])
def test_conflicts_are_retried_after_ten_milliseconds_and_up_to_a_tenth_more(drawn: float, expected_s: float) -> None:
    wait = EvenWait(lambda: drawn, 0.01, 0.1)
    assert [wait(STATE) for _ in range(3)] == pytest.approx([expected_s] * 3)


class Attempts:
    """Fails as it is told, then gives how often it was tried."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.made = 0
        self.got_ready = 0

    async def make(self) -> int:
        self.made += 1
        if self.failures:
            raise self.failures.pop(0)
        return self.made

    def retrying(self) -> tenacity.AsyncRetrying:
        """Three attempts in all."""
        self.got_ready += 1
        return tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(3), retry=tenacity.retry_if_exception_type(Unreachable), reraise=True
        )

    async def result(self) -> int:
        return await retried(self.make, (Unreachable, Throttled), self.retrying)


async def test_nothing_is_made_ready_for_an_attempt_that_succeeds() -> None:
    attempts = Attempts()
    assert (await attempts.result(), attempts.got_ready) == (1, 0)


async def test_the_first_attempt_counts_as_one_of_all() -> None:
    assert await Attempts(Unreachable("a"), Unreachable("b")).result() == 3
    attempts = Attempts(*(Unreachable(name) for name in "abcd"))
    with pytest.raises(Unreachable, match="c"):
        await attempts.result()
    assert attempts.made == 3


@pytest.mark.parametrize("error", [ServerFailure("no", 500), Throttled("later", 1.0)], ids=["not passing", "refused"])
async def test_what_does_not_pass_comes_through_at_once(error: Exception) -> None:
    """Be it that nobody asks for another attempt, or that whoever is asked wants none."""
    attempts = Attempts(error)
    with pytest.raises(type(error)):
        await attempts.result()
    assert attempts.made == 1
