"""What a request's attempts have together: a deadline."""

import asyncio

import pytest

from controller.kube.attempts import Attempts
from controller.kube.budget import Budget, Lane
from controller.kube.exchange import Request
from controller.kube.traffic import Traffic
from controller.ports import Throttled, Unreachable
from tests.adapters.parts import half
from tests.spine.tasks import now_s

pytestmark = pytest.mark.looptime


async def test_the_time_that_a_server_took_for_a_first_attempt_is_gone_for_the_second() -> None:
    """Of a sync's read as well, whose waits for others do not count."""
    attempts = 0

    async def once() -> bytes:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            await asyncio.sleep(1.0)
            raise Throttled("busy", 0.0)
        await asyncio.Event().wait()
        raise AssertionError("nobody answers")

    lane = Lane(1, Budget(0.0, 1, asyncio.get_running_loop().time))
    request = Attempts(Request("GET", "/x"), Traffic.EXTERNAL_METRICS, 1.5, lane=lane, once=once, random=half)
    began_s = now_s()
    with pytest.raises(Unreachable, match=r"no answer within 1\.5 s"):
        await request.answer()
    assert attempts == 2
    assert now_s() - began_s == pytest.approx(1.5, abs=0.01)
