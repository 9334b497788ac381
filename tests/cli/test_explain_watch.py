"""`explain --watch` shows each new sync once, until it is told to end."""

import asyncio
import signal
import sys

from controller.explain.answer import PATH
from controller.telemetry.explanations import Standing, explain_route
from controller.telemetry.server import Listener
from tests.builders import now
from tests.cli.explain_cluster import WAIT_S, known, remembered, traced


async def _until(stream: asyncio.StreamReader, beginning: str) -> bool:
    """Whether a line with that beginning came."""
    async with asyncio.timeout(3 * WAIT_S):
        while line := (await stream.readline()).decode():
            if line.startswith(beginning):
                return True
    return False


async def test_every_new_sync_is_shown() -> None:
    traces = remembered(traced(3, 600))
    listener = Listener("127.0.0.1:0", {PATH: explain_route(traces, Standing(known, None))})
    await listener.start()
    words = ["explain", "shop/web", "--watch", "--introspection-address", f"127.0.0.1:{listener.port}"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "controller", *words, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert await _until(process.stdout, "Left at 3 replicas")
        traces(traced(3, 1600, now(15)))
        assert await _until(process.stdout, "Scaled from 3 to 6 replicas")
    finally:
        process.send_signal(signal.SIGINT)
        code = await asyncio.wait_for(process.wait(), WAIT_S)
        await listener.stop()
    assert code == 130
