"""`/explain/{namespace}/{name}`: the last syncs of an HPA in words, with everything that decided them, as JSON."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, cast

import msgspec
from aiohttp import web

from controller.decide.instants import format_rfc3339_ms
from controller.explain.answer import LAST_DEFAULT, LAST_MAX, PATH, WORDS, Answer, Refusal, SyncTold
from controller.explain.changes import Moment
from controller.explain.report import explained
from controller.flag_values import whole
from controller.ports import WatchedAutoscaler
from controller.recording.timeline import why
from controller.traces import Packed, Traced, Traces
from controller.version import __version__

__all__ = ["PATH", "Standing", "explain_route", "told"]

BYTES_MAX: Final = 32 * 1024 * 1024
"""How long an answer gets before no further sync is added to it."""

_JSON: Final = "application/json"


class Election(Protocol):
    """Who leads."""

    @property
    def leading(self) -> bool:
        """Whether we do."""
        ...

    @property
    def holder(self) -> str:
        """Who does, empty if nobody does."""
        ...


class Standing:
    """What this instance can say of an HPA, in words: whether it leads, and whether it knows the HPA."""

    def __init__(
        self, known: Callable[[str], WatchedAutoscaler | None], election: Election | None, identity: str = ""
    ) -> None:
        """`known` finds an HPA by namespace/name; `election` is None where there is none, `identity` is ours in it."""
        self._known = known
        self._election = election
        self._identity = identity

    def partial(self) -> str:
        """Why what is remembered may not be the latest; empty if it is."""
        election = self._election
        if election is None or election.leading:
            return ""
        holder = election.holder
        if not holder:
            return "this instance does not lead, and neither does another one: nothing is decided now"
        if holder == self._identity:
            return (
                "this instance could not renew its Lease and does not decide at present (is the API server reachable?)"
            )
        return f"this instance does not lead: {holder} holds the Lease and decides"

    def partial_of(self, key: str) -> str:
        """Why what is remembered of an HPA may not be the latest; empty if it is."""
        watched = self._known(key)
        if watched is None:
            return "this HPA has been deleted; what follows is from before"
        if watched.problem is not None:
            return f"this HPA cannot be understood any more: {watched.problem}; what follows is from before"
        return self.partial()

    def silence(self, key: str) -> str:
        """Why there will be no sync of an HPA here; empty if there will."""
        watched = self._known(key)
        if watched is None:
            return f"there is no HPA {key}"
        if watched.problem is not None:
            return f"the HPA {key} cannot be understood: {watched.problem}"
        return self.partial()

    def unknown(self, key: str) -> str:
        """Why no sync of an HPA is remembered."""
        return self.silence(key) or f"no sync of {key} is remembered: it has not been synced yet, or long ago"


def told(traced: Traced, *, detailed: bool, search: bool) -> SyncTold:
    """One sync: when, why, in words, and if `detailed` everything that it was decided from.

    `search` looks for what would have to change, which costs up to a second for a thousand pods.
    """
    decision, conclusion = traced.decided()
    inputs = traced.inputs
    moment = Moment(traced.autoscaler, inputs.observation, inputs.history, inputs.now)
    not_written = inputs.withheld.message if inputs.withheld is not None else ""
    sync = SyncTold(
        time=format_rfc3339_ms(inputs.now.wall_ns),
        replicas=decision.replicas,
        desired=decision.desired,
        scaled_to=conclusion.scaled_to,
        why=why(decision),
        withheld=inputs.withheld,
        explained=explained(moment, inputs.write, not_written, search=search),
    )
    if not detailed:
        return sync
    return msgspec.structs.replace(
        sync,
        spec=traced.autoscaler.spec,
        observation=inputs.observation,
        history=inputs.history,
        decision=decision,
        conclusion=conclusion,
    )


def explain_route(
    traces: Traces, standing: Standing, *, bytes_max: int = BYTES_MAX
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """The page; `?last=N` gives the last N syncs, oldest first, the newest with what would have to change.

    From `bytes_max` on no older sync is added: a hundred with thousands of pods each could be half a gigabyte.

    Deciding again takes milliseconds, with very many pods up to seconds: it is done beside the loop, one at a time, so
    that no sync waits for it.
    """
    busy = asyncio.Lock()

    def answer(key: str, found: list[Packed], partial: list[str], *, detailed: bool) -> bytes:
        syncs: list[msgspec.Raw] = []
        for one in reversed(found):
            sync = told(one.unpacked(), detailed=detailed, search=not syncs)
            syncs.append(msgspec.Raw(msgspec.json.encode(sync)))
            if sum(map(len, syncs)) >= bytes_max:
                break
        if left_out := len(found) - len(syncs):
            partial.append(f"{left_out} older ones are left out: all of them would be too long with all inputs")
        encoded = cast("tuple[SyncTold, ...]", tuple(reversed(syncs)))
        return msgspec.json.encode(Answer(key, encoded, __version__, "; ".join(filter(None, partial))))

    async def explain(request: web.Request) -> web.StreamResponse:
        text = request.query.get("last", str(LAST_DEFAULT))
        last = whole(text, 1, LAST_MAX)
        if last is None:
            return _refused(400, f"last: {text!r} is not a whole number from 1 to {LAST_MAX}")
        key = f"{request.match_info['namespace']}/{request.match_info['name']}"
        async with busy:
            found = traces.of(key, last)
            if not found:
                return _refused(404, standing.unknown(key))
            # Caches are the loop's alone: whoever asks them may be the one who tells their observers.
            partial = [standing.partial_of(key)]
            body = await asyncio.to_thread(answer, key, found, partial, detailed=request.query.get("detail") != WORDS)
        return web.Response(body=body, content_type=_JSON)

    return explain


def _refused(status: int, error: str) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode(Refusal(error)), content_type=_JSON)
