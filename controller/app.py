"""One controller from its start to its end: what runs, in which order it starts, and in which it stops."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from typing import Final

import structlog

from controller.cache import resync_forever
from controller.kube.kubeconfig import load
from controller.kube.reach import reach
from controller.parts import Parts
from controller.settings import RunSettings
from controller.stopping import before
from controller.telemetry.loop_lag import LoopLag
from controller.version import __version__

DRAIN_S: Final = 25.0
CANCEL_S: Final = 1.0
EVENTS_DRAIN_S: Final = 3.0
RELEASE_S: Final = 5.0

_log = structlog.get_logger(__name__)


class App:
    """One controller, run once.

    Attributes:
        parts: what it consists of.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    async def run(self, stop: asyncio.Event) -> None:
        """Control until `stop` is set, then finish what is in hand and give the Lease back.

        Raises:
            ConfigurationError: credentials cannot be had or used.
            Unreached: the API server did not answer at the start.
            BindError: a listener's address cannot be used.
            NotRecordableError: recordings cannot be written.
        """
        parts, recorder = self.parts, self.parts.witnesses.recorder
        try:
            if recorder is not None:
                recorder.start()
            server = await before(stop, reach(parts.client, parts.access))
            if server is not None:
                _log.info("starting", version=__version__, **server, shadow=parts.settings.shadow)
                await self._control(stop)
        finally:
            async with AsyncExitStack() as ends:
                # The last first; whatever one of them raises, all the others end.
                if recorder is not None:
                    ends.push_async_callback(asyncio.to_thread, recorder.stop)
                ends.push_async_callback(parts.connection.close)
                ends.push_async_callback(parts.sources.close)
                ends.push_async_callback(parts.pages.stop)
        _log.info("stopped")

    async def _control(self, stop: asyncio.Event) -> None:
        await self.parts.pages.start()
        async with self.parts.background:
            self._start_background()
            workers = await self._start_workers(stop)
            await stop.wait()
            await self._stop(workers)

    def _start_background(self) -> None:
        parts, spawn = self.parts, self.parts.background.spawn
        for watch in parts.watches.all:
            spawn(watch.run())
        spawn(parts.sink.run())
        spawn(parts.surroundings.run(parts.watches.synced))
        spawn(parts.orders.remind())
        spawn(LoopLag(parts.instruments.registry).run())
        spawn(parts.collecting.run())
        spawn(resync_forever(parts.autoscalers, parts.settings.sync_period_s))
        spawn(parts.pages.follow_certificate())
        if parts.lease is not None:
            spawn(parts.lease.run(parts.client))

    async def _start_workers(self, stop: asyncio.Event) -> asyncio.Task[None] | None:
        """Wait for the caches, then work (§2.2); None if stopped before."""
        parts = self.parts
        await before(stop, parts.watches.synced())
        if stop.is_set():
            return None
        _log.info("caches are filled", horizontalpodautoscalers=len(parts.autoscalers), pods=len(parts.pods))
        parts.collecting.settle()
        if parts.keeper is not None:
            parts.background.spawn(parts.keeper.run())  # only now: what is kept of HPAs that are not there is dropped
        await parts.arrivals.begin()
        return parts.background.spawn(parts.workers.run())

    async def _stop(self, workers: asyncio.Task[None] | None) -> None:
        """Take no more work, finish what is in hand, save histories, post the last events, then release the Lease."""
        parts = self.parts
        _log.info("stopping", in_hand=parts.queue.in_hand)
        parts.queue.close()
        if workers is not None:
            finished, _ = await asyncio.wait((workers,), timeout=DRAIN_S)
            workers.cancel()
            await asyncio.wait((workers,), timeout=CANCEL_S)  # until then something may still be sent
            if parts.keeper is not None:
                await parts.keeper.hand_over(whole=bool(finished))
        with suppress(TimeoutError):
            async with asyncio.timeout(EVENTS_DRAIN_S):
                await parts.sink.drained()
        if parts.lease is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(RELEASE_S):
                    await parts.lease.release(parts.client)
        parts.background.cancel()


async def run(settings: RunSettings, stop: asyncio.Event, environment: Mapping[str, str]) -> None:
    """`hpa-controller run`: control until `stop` is set.

    Raises:
        ConfigurationError: no usable kubeconfig or credentials.
        Unreached: the API server did not answer at the start.
        BindError: a listener's address cannot be used.
        NotRecordableError: recordings cannot be written.
    """
    access = load(
        settings.kubeconfig or None,
        environment=environment,
        context=settings.context or None,
        master=settings.master or None,
    )
    await App(Parts(settings, access)).run(stop)
