"""A listener that answers `top`, and the HPAs that it knows."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from controller.clock import SystemClock
from controller.decide.result import Written
from controller.ports import Sync, WatchedAutoscaler, Withheld
from controller.sources.flags import FAMILIES
from controller.telemetry.explanations import Election, Standing
from controller.telemetry.server import Listener
from controller.telemetry.top import PATH, Top, top_route
from tests.builders import DEFAULTS, cpu, history, hpa, now, observation, scale, usage
from tests.decide.syncs import sync


def watched(
    namespace: str, name: str, labels: dict[str, str] | None = None, problem: str | None = None
) -> WatchedAutoscaler:
    metadata = json.dumps({"name": name, "labels": labels or {}}).encode()
    asked = hpa(cpu(60), namespace=namespace, name=name)
    return WatchedAutoscaler(namespace, name, "uid", "1", asked.spec, observation(scale(1)).status, metadata, problem)


def synced(one: WatchedAutoscaler, replicas: int, used_milli: int, withheld: Withheld | None = None) -> Sync:
    seen = observation(scale(replicas), usage(*[used_milli] * replicas), overlapping=(one.key,))
    came = sync(hpa(cpu(60), namespace=one.namespace, name=one.name), seen, history((replicas, -15)))
    write = Written() if came.decision.rescales and withheld is None else None
    return Sync(one, seen, history((replicas, -15)), now(), came.decision, write, came.conclusion, now(), withheld)


WEB, API = watched("shop", "web", {"team": "front"}), watched("shop", "api", {"team": "back"})
MAIL, BROKEN = (
    watched("mail", "queue", {"team": "back"}),
    watched("shop", "broken", problem="spec.maxReplicas is missing"),
)


def topped() -> Top:
    """One of two HPAs has been scaled, the other left alone."""
    top = Top()
    top(synced(WEB, 3, 900))
    top(synced(API, 4, 590, Withheld("shadow", "it runs with --shadow")))
    return top


@asynccontextmanager
async def listening(
    top: Top,
    autoscalers: Sequence[WatchedAutoscaler],
    port: int = 0,
    twins: Sequence[str] = (),
    election: Election | None = None,
) -> AsyncIterator[Listener]:
    """What a controller that watches these HPAs tells of them."""
    standing = Standing(lambda _: None, election)
    route = top_route(top, autoscalers, standing, SystemClock(), DEFAULTS.gates, FAMILIES, 15.0, lambda: twins)
    listener = Listener(f"127.0.0.1:{port}", {PATH: route})
    await listener.start()
    try:
        yield listener
    finally:
        await listener.stop()
