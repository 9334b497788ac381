"""Events on their way to the API server: queued, correlated, posted in order, never delaying a sync (§16)."""

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import msgspec
import structlog
import tenacity

from controller.backoff import Random, retried
from controller.decide.events import Event
from controller.decide.instants import format_rfc3339
from controller.kube.client import Client
from controller.kube.event_correlation import Correlator, Posting, Subject
from controller.kube.traffic import Traffic
from controller.kube.urls import path_of
from controller.ports import (
    ApiError,
    Clock,
    Conflict,
    NotFound,
    NotLeading,
    ServerFailure,
    Terminating,
    Throttled,
    Unreachable,
    WatchedAutoscaler,
)

QUEUED_MAX: Final = 1000
GIVES_WAY_UP_TO: Final = 750
"""With how many more waiting an event still gives way to scale writes: a full queue would lose some."""

LOOKS: Final = 20
LOOK_S: Final = 0.05
"""How often it looks whether it still has to, and how far apart: it gives way for a second at most."""

ATTEMPTS_MAX: Final = 12
RETRY_S: Final = 10.0
COMPONENT: Final = "horizontal-pod-autoscaler"

_PASSING: Final = (Unreachable, Throttled, ServerFailure)
_AWAY: Final = (502, 503, 504)
_EXISTS: Final = "AlreadyExists"

_log = structlog.get_logger(__name__)


class KubeEvents:
    """The port `EventSink` over HTTP. `run` posts what `emit` has queued."""

    def __init__(
        self, client: Client, clock: Clock, random: Random, known: Callable[[str], WatchedAutoscaler | None]
    ) -> None:
        """`known`: the HPA of a namespace/name, as it is now; None where there is none."""
        self._client = client
        self._clock = clock
        self._random = random
        self._known = known
        self._correlator = Correlator(self._is_there)
        self._queue: asyncio.Queue[tuple[Subject, Event, int]] = asyncio.Queue(QUEUED_MAX)
        self.dropped: Counter[str] = Counter(
            {
                "spam-filtered": 0,
                "queue-full": 0,
                "namespace-terminating": 0,
                "refused": 0,
                "unanswered": 0,
                "failed": 0,
            }
        )

    def emit(self, autoscaler: WatchedAutoscaler, event: Event) -> None:
        """See ports.EventSink; beyond 1000 waiting events new ones are dropped."""
        subject = Subject(autoscaler.namespace, autoscaler.name, autoscaler.uid, autoscaler.version)
        _log.debug("event", hpa=autoscaler.key, type=event.type, reason=event.reason, message=event.message)
        try:
            self._queue.put_nowait((subject, event, self._clock.now().wall_ns))
        except asyncio.QueueFull:
            self.dropped["queue-full"] += 1

    def changed(self, old: WatchedAutoscaler | None, new: WatchedAutoscaler | None) -> None:
        """Forget events about an HPA that is gone, or was made anew; see cache.Observer."""
        if old is not None and not old.lives_on_in(new):
            self._correlator.one_is_gone()

    def _is_there(self, uid: str, key: str) -> bool:
        known = self._known(key)
        return known is not None and known.uid == uid

    async def run(self) -> None:
        """Post events until cancelled."""
        while True:
            subject, event, happened_ns = await self._queue.get()
            posting = self._correlator.correlate(subject, event, happened_ns, self._clock.now())
            if posting is None:
                self.dropped["spam-filtered"] += 1
            else:
                await self._give_way()
                await self._post(posting)
            self._queue.task_done()
            # What is dropped has waited for nothing, and a thousand of these in a row would hold the loop.
            await asyncio.sleep(0)

    async def drained(self) -> None:
        """Return when everything queued so far has been posted or given up."""
        await self._queue.join()

    async def _give_way(self) -> None:
        """Wait while scales are written: of all that a rescale of many HPAs has sent, a fifth were events about it."""
        for _ in range(LOOKS):
            if self._queue.qsize() > GIVES_WAY_UP_TO or not self._client.writes_scales:
                return
            await asyncio.sleep(LOOK_S)

    async def _post(self, posting: Posting) -> None:
        """Post with patience for what may pass; what the server rejects is not repeated (§16.2)."""
        try:
            await retried(partial(self._send, posting), _PASSING, self._retrying)
        except Exception as error:  # noqa: BLE001 - one event must not stop the others, nor the controller
            # That we do not lead is said where it is noticed, and all that wait may find it so. Where a namespace
            # is being deleted nothing is amiss.
            say = _log.debug if isinstance(error, NotLeading | Terminating) else _log.warning
            say(
                "event could not be posted",
                hpa=f"{posting.subject.namespace}/{posting.subject.name}",
                error=str(error),
                exc_info=not isinstance(error, ApiError | NotLeading),
            )
            self._correlator.lost(posting)
            self.dropped[_reason(error)] += 1

    def _retrying(self) -> tenacity.AsyncRetrying:
        return tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(ATTEMPTS_MAX),
            wait=self._wait_s,
            retry=tenacity.retry_if_exception(_may_pass),
            reraise=True,
        )

    async def _send(self, posting: Posting) -> None:
        """Create the event, or count up the existing one; one that is gone is created anew."""
        path = path_of("api", "v1", "namespaces", posting.subject.namespace, "events")
        if posting.count > 1:
            body = msgspec.json.encode(
                {
                    "count": posting.count,
                    "lastTimestamp": format_rfc3339(posting.last_ns),
                    "message": posting.event.message,
                }
            )
            try:
                await self._client.write(
                    "PATCH",
                    path + path_of(posting.name),
                    Traffic.EVENT,
                    body,
                    content_type="application/strategic-merge-patch+json",
                )
            except NotFound:
                pass
            else:
                return
        try:
            await self._client.write("POST", path, Traffic.EVENT, msgspec.json.encode(_body(posting)))
        except Conflict as error:
            # Its name is its own: it arrived the time before, and only the answer was lost.
            if error.reason != _EXISTS:
                raise

    def _wait_s(self, state: tenacity.RetryCallState) -> float:
        """Ten seconds; the first wait anything up to that, so that many controllers do not come back at once."""
        return RETRY_S * self._random() if state.attempt_number == 1 else RETRY_S


def _may_pass(error: BaseException) -> bool:
    """Whether it may be taken later; what the API server itself has answered stays so, and all others wait (§16.2)."""
    if isinstance(error, ServerFailure):
        return error.status in _AWAY
    return isinstance(error, _PASSING)


def _reason(error: Exception) -> str:
    if _may_pass(error):
        return "unanswered"
    if isinstance(error, Terminating):
        return "namespace-terminating"
    return "refused" if isinstance(error, ApiError) else "failed"


def _body(posting: Posting) -> dict[str, Any]:
    subject, event = posting.subject, posting.event
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": posting.name, "namespace": subject.namespace},
        "involvedObject": {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "namespace": subject.namespace,
            "name": subject.name,
            "uid": subject.uid,
            "resourceVersion": subject.version,
        },
        "type": event.type,
        "reason": event.reason,
        "message": event.message,
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "reportingInstance": "",
        "firstTimestamp": format_rfc3339(posting.first_ns),
        "lastTimestamp": format_rfc3339(posting.last_ns),
        "count": posting.count,
    }
