"""`explain --watch` shows each new sync once, until it is told to end."""

import asyncio
import os
import sys

import yaml

from controller.explain.answer import PATH
from controller.telemetry.explanations import Standing, explain_route
from controller.telemetry.server import Listener
from tests.builders import now
from tests.cli.explain_cluster import WAIT_S, Follower, known, remembered, traced
from tests.cli.going_on import going_on


async def test_every_new_sync_is_shown() -> None:
    traces = remembered(traced(3, 600))
    listener = Listener("127.0.0.1:0", {PATH: explain_route(traces, Standing(known, None))})
    await listener.start()
    try:
        async with going_on(listener.port, "explain", "shop/web", "--watch") as command:
            assert await command.line(lambda line: line.startswith("Left at 3 replicas"))
            traces(traced(3, 1600, now(15)))
            assert await command.line(lambda line: line.startswith("Scaled from 3 to 6 replicas"))
    finally:
        await listener.stop()


async def test_yaml_is_a_document_for_each_sync() -> None:
    traces = remembered(traced(3, 600))
    listener = Listener("127.0.0.1:0", {PATH: explain_route(traces, Standing(known, None))})
    await listener.start()
    read: list[str] = []

    def starts(line: str) -> bool:
        read.append(line)
        return line == "---\n"

    try:
        async with going_on(listener.port, "explain", "shop/web", "--watch", "--output", "yaml") as command:
            assert await command.line(starts)
            traces(traced(3, 1600, now(15)))
            assert await command.line(starts)
    finally:
        await listener.stop()
    [told] = yaml.safe_load_all("".join(read[:-1]))
    assert (told["hpa"], len(told["syncs"])) == ("shop/web", 1)


async def test_a_controller_that_is_replaced_is_watched_again() -> None:
    listener = Listener("127.0.0.1:0", {PATH: explain_route(remembered(traced(3, 600)), Standing(known, None))})
    await listener.start()
    port = listener.port
    async with going_on(port, "explain", "shop/web", "--watch") as command:
        assert await command.line(lambda line: line.startswith("Left at 3 replicas"))
        await listener.stop()
        assert f"no controller answers at 127.0.0.1:{port}" in await command.complaint()
        traces = remembered()
        listener = Listener(f"127.0.0.1:{port}", {PATH: explain_route(traces, Standing(known, None))})
        await listener.start()
        try:
            assert "no sync of shop/web is remembered" in await command.complaint()
            traces(traced(3, 1600, now(15)))
            assert await command.line(lambda line: line.startswith("Scaled from 3 to 6 replicas"))
        finally:
            await listener.stop()


async def test_an_hpa_that_is_deleted_is_said_to_be() -> None:
    there = [traced(3, 600).autoscaler]
    standing = Standing(lambda _: next(iter(there), None), None)
    listener = Listener("127.0.0.1:0", {PATH: explain_route(remembered(traced(3, 600)), standing)})
    await listener.start()
    try:
        async with going_on(listener.port, "explain", "shop/web", "--watch") as command:
            assert await command.line(lambda line: line.startswith("Left at 3 replicas"))
            there.clear()
            assert await command.line(lambda line: line.startswith("partial: this HPA has been deleted"))
    finally:
        await listener.stop()


async def test_a_reader_who_has_had_enough_ends_it_quietly() -> None:
    traces = remembered(*(traced(3, 600, now(15 * number)) for number in range(40)))
    listener = Listener("127.0.0.1:0", {PATH: explain_route(traces, Standing(known, None))})
    await listener.start()
    reading, writing = os.pipe()
    os.close(reading)
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "controller", "explain", "shop/web", "--last", "40"),
            *("--introspection-address", f"127.0.0.1:{listener.port}"),
            stdout=writing,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(3 * WAIT_S):
            _, errors = await process.communicate()
        assert (process.returncode, errors) == (141, b"")
    finally:
        os.close(writing)
        await listener.stop()


async def test_a_controller_that_decides_no_longer_says_so() -> None:
    """Silence would look as if nothing were happening."""
    follower = Follower()
    follower.leading = True
    listener = Listener("127.0.0.1:0", {PATH: explain_route(remembered(traced(3, 600)), Standing(known, follower))})
    await listener.start()
    try:
        async with going_on(listener.port, "explain", "shop/web", "--watch") as command:
            assert await command.line(lambda line: line.startswith("Left at 3 replicas"))
            follower.leading = False
            assert await command.line(lambda line: line.startswith("partial: this instance does not lead"))
    finally:
        await listener.stop()
