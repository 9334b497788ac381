"""What asking costs the syncs: how long a page holds the loop, and what an observer adds to each sync."""

import asyncio
import gc
import sys
from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from msgspec import json, structs

from controller.cli.top_table import WIDE, order, table
from controller.clock import SystemClock
from controller.decide.decision import conclude, decide
from controller.explain.rows import Rows
from controller.ports import Sync, WatchedAutoscaler
from controller.telemetry.explanations import PATH as EXPLAIN
from controller.telemetry.explanations import Standing, explain_route
from controller.telemetry.top import PATH as TOP
from controller.telemetry.top import Top, top_route
from controller.traces import Traces
from tests.bench.calibration import REPEATS, per_call_us
from tests.bench.measured import Figure
from tests.builders import DEFAULTS, cpu, history, hpa, now, observation, scale, usage

AUTOSCALERS = 10_000
PODS = 1_000
TICK_S = 0.001
ROW_GOAL = 0.5
HELD_GOAL = 20.0
SHOWN_GOAL = 0.5


def figures() -> list[Figure]:
    """Pages while a clock ticks in the same loop, and the cost of remembering a row against that of deciding."""
    return asyncio.run(_figures())


async def _figures() -> list[Figure]:
    small, large = _sync(10), _sync(PODS)
    traces, top = Traces(DEFAULTS), Top()
    traces(large)
    watched = [structs.replace(small.autoscaler, name=f"web-{number}") for number in range(AUTOSCALERS)]
    for one in watched:
        top(structs.replace(small, autoscaler=one))
    standing = Standing(lambda _: None, None)
    explain = explain_route(traces, standing)
    rows = top_route(top, watched, standing, SystemClock(), DEFAULTS.gates, (), 15.0, tuple)
    asked = make_mocked_request("GET", EXPLAIN, match_info={"namespace": "default", "name": "web"})
    deciding_us = per_call_us(lambda: _decide(small), 1_000)
    remembering_us = per_call_us(lambda: top(small), 1_000)
    answered = await rows(make_mocked_request("GET", TOP))
    assert isinstance(answered, web.Response)
    shown_us = per_call_us(lambda: _show(answered.body), 1) / AUTOSCALERS
    return [
        await _held(f"loop held by {EXPLAIN} of {PODS:,} pods", lambda: explain(asked)),
        await _held(f"loop held by {TOP} of {AUTOSCALERS:,} HPAs", lambda: rows(make_mocked_request("GET", TOP))),
        Figure("remember a row", remembering_us, "µs", "times deciding", remembering_us / deciding_us, ROW_GOAL),
        Figure(
            f"show a row of {AUTOSCALERS:,} in `top`",
            shown_us,
            "µs",
            "times deciding",
            shown_us / deciding_us,
            SHOWN_GOAL,
        ),
    ]


def _sync(pods: int) -> Sync:
    autoscaler = hpa(cpu(60), replicas_max=2 * PODS)
    seen = observation(scale(pods), usage(*(500 + number % 300 for number in range(pods))))
    past = history((pods, -15))
    decision = decide(autoscaler, seen, past, now())
    conclusion = conclude(autoscaler, seen.status, decision, None, now())
    watched = WatchedAutoscaler(autoscaler.namespace, autoscaler.name, "uid", "1", autoscaler.spec, seen.status)
    return Sync(watched, seen, past, now(), decision, None, conclusion, now())


def _decide(sync: Sync) -> None:
    decide(hpa(cpu(60)), sync.observation, sync.history, sync.now)


def _show(body: object) -> None:
    """What the command makes of an answer, sorted by what has to be computed for each row."""
    assert isinstance(body, bytes)
    lines = list(table(order(json.decode(body, type=Rows).rows, "ratio"), WIDE, namespaced=True))
    assert len(lines) == AUTOSCALERS + 1


async def _held(name: str, ask: Callable[[], Awaitable[object]]) -> Figure:
    """The longest time between two iterations of the loop while a page is made, in switch intervals of the interpreter.

    The best of a few repeats: machines that are shared stop everything now and then.
    """
    # As the controller does while its caches fill; else the collector is what is measured.
    gc.collect()
    gc.freeze()
    held_ms, took_s = min([await _longest(ask) for _ in range(REPEATS)])
    intervals = held_ms / (sys.getswitchinterval() * 1000)
    yardstick = "times the interpreter's switch interval"
    return Figure(f"{name} (made in {took_s * 1000:,.0f} ms)", held_ms, "ms", yardstick, intervals, HELD_GOAL)


async def _longest(ask: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """How long the loop stood still at most, in milliseconds, and how long it all took in seconds."""
    loop = asyncio.get_running_loop()
    longest_s, done = 0.0, False

    async def tick() -> None:
        nonlocal longest_s
        while not done:
            began_s = loop.time()
            await asyncio.sleep(TICK_S)
            longest_s = max(longest_s, loop.time() - began_s - TICK_S)

    ticking = asyncio.create_task(tick())
    began_s = loop.time()
    await ask()
    took_s = loop.time() - began_s
    done = True
    await ticking
    return longest_s * 1000, took_s
