"""Leader election on a Lease: who may write, and until when.

A Lease does not fence: a leader that was stopped for a while still believes in itself. So every write first asks
whether the last renewal, counted from before it was sent, is recent enough that no other instance can have taken
over; the clock counts time during which the machine was suspended.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from zlib import crc32

import msgspec
import structlog

from controller.backoff import LEASE_JITTER, Random
from controller.decide.instants import NANOSECONDS, Now
from controller.kube.client import Client
from controller.kube.lease_object import LeaseObject, LeaseSpec, micro_time
from controller.ports import ApiError, Clock, Conflict, NotFound, NotLeading

TRANSITIONS_BITS: Final = 31
"""They are an int32, never negative; a kept history has room for twice as many bits."""

_log = structlog.get_logger(__name__)


class LeaseSettings(msgspec.Struct, frozen=True):
    """kube-controller-manager's `--leader-elect-*`, in seconds: duration > renew deadline > retry period > 0."""

    namespace: str
    name: str
    identity: str
    duration_s: float = 15.0
    renew_deadline_s: float = 10.0
    retry_period_s: float = 2.0
    annotations: Mapping[str, str] = {}
    """Written with each renewal, for whoever wants to know something of the holder."""

    @property
    def key(self) -> str:
        """Namespace and name, as logs and errors have them."""
        return f"{self.namespace}/{self.name}"


class AlwaysLeading:
    """The port `Leadership` without an election (`--leader-elect=false`)."""

    term = 1
    tenure = None

    def check(self) -> None:
        """See ports.Leadership."""


class ReadOnly:
    """The port `Leadership` of a program that writes nothing, whoever leads (`--shadow`)."""

    term = 1

    def check(self) -> None:
        """See ports.Leadership."""
        raise NotLeading("running with --shadow: nothing is written")


class Lease:
    """The port `Leadership` by election. `run` contends for the Lease until cancelled."""

    def __init__(self, settings: LeaseSettings, clock: Clock, random: Random) -> None:
        self._settings = settings
        self._clock = clock
        self._random = random
        self._term = 0
        self._writable_until_ns = 0
        self._leading = False
        self._held: LeaseSpec | None = None
        self._holder = ""
        self._told_holder = ""
        self._version_seen: str | None = None
        self._seen_ns = 0
        # As kube-controller-manager has it. A renewal that hangs leaves time for another before the deadline, while the
        # retry period is at most two fifths of that, as it is by default.
        timeout_s = settings.renew_deadline_s / 2
        self._object = LeaseObject(settings.namespace, settings.name, settings.annotations, timeout_s)
        # A renewal under way would make the version old that a release is written with, or undo the release.
        self._writing = asyncio.Lock()
        self._released = False

    @property
    def term(self) -> int:
        """See ports.Leadership."""
        return self._term

    @property
    def leading(self) -> bool:
        """Whether the Lease is ours, as far as we know."""
        return self._leading

    @property
    def tenure(self) -> int | None:
        """See ports.Tenured."""
        if not self.leading or self._held is None:
            return None
        # The transitions of a Lease that was deleted and made anew begin at 0 again: its uid stands above their bits.
        return (crc32(self._object.uid.encode()) >> 1 << TRANSITIONS_BITS) + (self._held.lease_transitions or 0)

    @property
    def holder(self) -> str:
        """The identity that holds the Lease, as last seen; empty if nobody does."""
        return self._holder

    def check(self) -> None:
        """See ports.Leadership."""
        if not self._leading or self._clock.now().monotonic_ns >= self._writable_until_ns:
            raise NotLeading(f"the Lease {self._settings.key} is not certainly ours")

    def lines(self) -> list[str]:
        """Who leads if we do not, for a page that people read."""
        if self.leading:
            return []
        if self._holder == self._settings.identity:
            return ["[!]not leading: the Lease could not be renewed"]
        return [f"[i]not leading: {self._holder or 'nobody'} holds the Lease"]

    async def run(self, client: Client) -> None:
        """Acquire the Lease, renew it, and begin again when it is lost; until it is released."""
        loop = asyncio.get_running_loop()
        while True:
            # From one beginning to the next: an attempt that hung has used up the time that is left.
            next_s = loop.time() + self._settings.retry_period_s * (1.0 + LEASE_JITTER * self._random())
            async with self._writing:
                if self._released:
                    return
                await self._contend(client)
            await asyncio.sleep(next_s - loop.time())

    async def release(self, client: Client) -> None:
        """Give the Lease up for good, so that another instance need not wait for it; failures do no harm."""
        async with self._writing:
            self._released = True
            if self.leading:
                await self._hand_back(client)

    async def _hand_back(self, client: Client) -> None:
        self._give_up("released")
        try:
            with suppress(Conflict):
                if self._object.version is not None:
                    await self._object.write(client, self._freed())
                    return
            # Perhaps the answer to the last renewal was lost.
            self._held = await self._read(client)
            if self._held is not None and self._held.holder_identity == self._settings.identity:
                await self._object.write(client, self._freed())
        except ApiError as error:
            _log.info("the Lease could not be released and will expire", lease=self._settings.key, error=str(error))

    def _freed(self) -> LeaseSpec:
        now_ns = self._clock.now().wall_ns
        return msgspec.structs.replace(
            self._held or LeaseSpec(),
            holder_identity="",
            lease_duration_seconds=1,
            acquire_time=micro_time(now_ns),
            renew_time=micro_time(now_ns),
        )

    async def _contend(self, client: Client) -> None:
        """One attempt to acquire or renew."""
        began = self._clock.now()
        renews = self.leading and self._object.version is not None
        try:
            try:
                claimed = await self._claimed(client, began)
            except (Conflict, NotFound):
                if not renews:
                    raise
                # Perhaps the answer to a renewal of ours was lost. To wait another period might take too long.
                self._object.forget()
                claimed = await self._claimed(client, began)
        except (Conflict, NotFound) as error:
            self._object.forget()  # somebody was faster, or has deleted it: the next attempt reads it anew
            if self._object.is_missing and isinstance(error, NotFound):
                _log.warning("the Lease could not be made", lease=self._settings.key, error=str(error))
        except ApiError as error:
            _log.warning("the Lease could not be read or written", lease=self._settings.key, error=str(error))
        else:
            if not claimed:
                return
            self._renewed(began.monotonic_ns)
        if self.leading and self._clock.now().monotonic_ns >= self._writable_until_ns:
            self._give_up("it could not be renewed in time")

    async def _claimed(self, client: Client, began: Now) -> bool:
        """Write that it is ours, after a look at it where we do not know it; False if it is another's.

        Raises:
            ApiError: it could not be read or written, or has changed meanwhile.
        """
        if not self.leading or self._object.version is None:
            held = await self._read(client)
            if held is not None and not self._may_claim(held, began.monotonic_ns):
                if self.leading:
                    self._give_up(f"held by {held.holder_identity!r}")
                self._stand_by()
                return False
            self._held = held
        await self._object.write(client, self._claim(began.wall_ns))
        return True

    def _may_claim(self, held: LeaseSpec, now_ns: int) -> bool:
        """Ours, nobody's, or not renewed for as long as its holder promised to."""
        if held.holder_identity in (None, "", self._settings.identity):
            return True
        promised_s = held.lease_duration_seconds or self._settings.duration_s
        return now_ns - self._seen_ns >= promised_s * NANOSECONDS

    def _claim(self, wall_ns: int) -> LeaseSpec:
        held = self._held or LeaseSpec()
        ours = held.holder_identity == self._settings.identity
        transitions = held.lease_transitions or 0
        claim = msgspec.structs.replace(
            held,
            holder_identity=self._settings.identity,
            lease_duration_seconds=int(self._settings.duration_s),
            acquire_time=held.acquire_time if ours else micro_time(wall_ns),
            renew_time=micro_time(wall_ns),
            lease_transitions=transitions if ours or self._held is None else transitions + 1,
        )
        self._held = claim
        return claim

    def _renewed(self, began_ns: int) -> None:
        """The Lease is ours, counted from before the request went out."""
        if not self.leading or began_ns >= self._writable_until_ns:
            # After a gap, even without another holder, what is cached may be old: a new term makes every sync read
            # live.
            self._term += 1
            _log.info("leading", lease=self._settings.key, identity=self._settings.identity, term=self._term)
        self._writable_until_ns = began_ns + int(self._settings.renew_deadline_s * NANOSECONDS)
        self._holder = self._told_holder = self._settings.identity
        self._leading = True

    def _give_up(self, reason: str) -> None:
        self._leading = False
        self._writable_until_ns = 0
        _log.info("no longer leading", lease=self._settings.key, reason=reason)

    def _stand_by(self) -> None:
        """Say who leads, once per leader: a controller that does nothing should not look like one that is stuck."""
        if self._told_holder != self._holder:
            self._told_holder = self._holder
            _log.info("standing by", lease=self._settings.key, holder=self._holder)

    async def _read(self, client: Client) -> LeaseSpec | None:
        """The Lease as it is, None if there is none; notes when it was first seen so.

        That is after the answer: whoever holds it counts from before its request, and may not be overtaken.
        """
        held = await self._object.read(client)
        if held is not None:
            if self._object.version != self._version_seen:
                self._version_seen, self._seen_ns = self._object.version, self._clock.now().monotonic_ns
            self._holder = held.holder_identity or ""
        return held
