"""`/explain/{namespace}/{name}`: the last syncs of an HPA with everything that decided them, as JSON."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from aiohttp import web

from controller.decide.instants import NANOSECONDS
from controller.recording.timeline import why
from controller.traces import Traced, Traces

PATH: Final = "/explain/{namespace}/{name}"
LAST_DEFAULT: Final = 1
LAST_MAX: Final = 100


def explanation(traced: Traced) -> dict[str, Any]:
    """One sync: when, why, and why not written if so; then spec, what was seen, the decision and what came of it."""
    decision, conclusion = traced.decided()
    inputs = traced.inputs
    at = datetime.fromtimestamp(inputs.now.wall_ns / NANOSECONDS, UTC)
    return {
        "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "replicas": decision.replicas,
        "desired": decision.desired,
        "scaledTo": conclusion.scaled_to,
        "why": why(decision),
        "withheld": inputs.withheld,
        "spec": traced.autoscaler.spec,
        "observation": inputs.observation,
        "history": inputs.history,
        "decision": decision,
        "conclusion": conclusion,
    }


def explain_route(traces: Traces) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """The page; `?last=N` gives the last N syncs, oldest first."""

    async def explain(request: web.Request) -> web.StreamResponse:
        text = request.query.get("last", str(LAST_DEFAULT))
        if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= LAST_MAX:
            return _answer(400, {"error": f"last: {text!r} is not a whole number from 1 to {LAST_MAX}"})
        key = f"{request.match_info['namespace']}/{request.match_info['name']}"
        found = traces.of(key, int(text))
        if not found:
            return _answer(404, {"error": f"no sync of {key} is remembered: it does not exist, or was not synced yet"})
        return _answer(200, {"hpa": key, "syncs": [explanation(traced) for traced in found]})

    return explain


def _answer(status: int, body: dict[str, Any]) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode(body), content_type="application/json")
