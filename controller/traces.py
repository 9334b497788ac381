"""The last syncs of every HPA: what went into them, packed so that ten thousand HPAs can be remembered.

Nothing of a decision is kept. The core is pure: deciding on the same inputs again gives the same decision with all of
its reasons, for the few that somebody asks about.
"""

import zlib
from collections import deque
from typing import Final

import msgspec

from controller.byte_ring import ByteRing
from controller.decide.decision import conclude, decide
from controller.decide.history import History
from controller.decide.instants import Now
from controller.decide.observed import Observation
from controller.decide.result import Conclusion, Decision, Write
from controller.decide.spec import Autoscaler, Settings, Spec
from controller.ports import Sync, WatchedAutoscaler, Withheld

BUDGET_BYTES: Final = 20 * 1024 * 1024
OVERHEAD_BYTES: Final = 170
"""What an entry costs beside its packed inputs: the objects that lead to it."""

PACKED_SHARE: Final = 0.75
"""How much of the budget is for packed inputs: the rest is for so many entries as have 500 bytes each."""

_BLOCK_SYNCS: Final = 16
_BLOCK_BYTES: Final = 64 * 1024
_FAST: Final = 1


class Inputs(msgspec.Struct, frozen=True, array_like=True):
    """What a sync decided on; see ports.Sync."""

    observation: Observation
    history: History
    now: Now
    write: Write | None
    withheld: Withheld | None = None
    concluded: Now | None = None


_JSON: Final = msgspec.json.Decoder(Inputs)
_MSGPACK: Final = msgspec.msgpack.Decoder(Inputs)
_TEXTS: Final = msgspec.msgpack.Decoder(list[bytes])


class Traced(msgspec.Struct, frozen=True):
    """A remembered sync."""

    autoscaler: Autoscaler
    inputs: Inputs

    def decided(self) -> tuple[Decision, Conclusion]:
        """The decision with all of its reasons, and what came of it."""
        seen, now = self.inputs.observation, self.inputs.now
        decision = decide(self.autoscaler, seen, self.inputs.history, now)
        return decision, conclude(
            self.autoscaler, seen.status, decision, self.inputs.write, self.inputs.concluded or now
        )


class Packed(msgspec.Struct, frozen=True):
    """A remembered sync as it is kept; stays what it is, whatever is remembered or forgotten meanwhile."""

    autoscaler: Autoscaler
    block: bytes
    index: int

    def unpacked(self) -> Traced:
        """The sync; in whatever thread."""
        text = _TEXTS.decode(zlib.decompress(self.block))[self.index]
        return Traced(self.autoscaler, _JSON.decode(text) if text.startswith(b"[") else _MSGPACK.decode(text))


class _Block(msgspec.Struct, eq=False, gc=False):
    """Syncs that follow each other, of whatever HPAs: packed together, they take half the room and a third of the time.

    Attributes:
        texts: what went into each; until they are packed.
        syncs: how many they are, packed or not.
        size_bytes: of the texts.
        place: where they are, packed.
    """

    texts: list[bytes] = msgspec.field(default_factory=list)
    syncs: int = 0
    size_bytes: int = 0
    place: int = 0

    def add(self, text: bytes) -> None:
        self.texts.append(text)
        self.syncs += 1
        self.size_bytes += len(text)

    def packed(self) -> bytes:
        return zlib.compress(msgspec.msgpack.encode(self.texts), _FAST)


class Traces:
    """Remembers syncs within a budget of bytes; the oldest of all HPAs are forgotten first.

    Attributes:
        passed_over: syncs that could not be packed.
    """

    def __init__(self, settings: Settings, *, budget_bytes: int = BUDGET_BYTES) -> None:
        """`settings` are those that syncs are decided under."""
        self._settings = settings
        self._block_bytes_max = min(_BLOCK_BYTES, budget_bytes // 8)
        self._entries_max = int(budget_bytes * (1.0 - PACKED_SHARE) / OVERHEAD_BYTES)
        self._packed = ByteRing(int(budget_bytes * PACKED_SHARE) - self._block_bytes_max)
        # Lists, because an empty deque takes more than a packed sync.
        self._kept: dict[str, list[tuple[Spec, _Block, int]]] = {}
        self._order: deque[str] = deque()
        self._blocks: deque[_Block] = deque()
        self._open = _Block()
        self._encoder = msgspec.msgpack.Encoder()
        self.passed_over = 0
        self._full = False

    def __call__(self, sync: Sync) -> None:
        """Remember a sync; an observer of the reconciler."""
        inputs = Inputs(sync.observation, sync.history, sync.now, sync.write, sync.withheld, sync.concluded)
        try:
            text = self._encoded(inputs)
        except msgspec.MsgspecError:
            self.passed_over += 1
            return
        if self._open.size_bytes + len(text) > self._block_bytes_max:
            self._close()
        self._keep(sync.autoscaler, text)
        if self._open.syncs == _BLOCK_SYNCS or self._open.size_bytes > self._block_bytes_max:
            self._close()
        while len(self._order) > self._entries_max and self._blocks:
            self._packed.drop()
            self._forget_oldest()

    def _keep(self, autoscaler: WatchedAutoscaler, text: bytes) -> None:
        """Every change of a status brings an equal spec anew: without sharing, specs outweigh what is packed."""
        key, spec = autoscaler.key, autoscaler.spec
        entries = self._kept.setdefault(key, [])
        if entries and entries[-1][0] == spec:
            spec = entries[-1][0]
        entries.append((spec, self._open, self._open.syncs))
        self._order.append(key)
        self._open.add(text)

    def _close(self) -> None:
        """Pack the block that syncs were added to, and begin another."""
        block, self._open = self._open, _Block()
        if not block.texts:
            return
        try:
            block.place, overwritten = self._packed.put(block.packed())
        except ValueError:  # beyond all room: a sync of ten thousand pods with a small budget
            for _ in range(block.syncs):
                self._forget(self._order.pop(), -1)
            self.passed_over += block.syncs
            return
        block.texts, block.size_bytes = [], 0
        self._blocks.append(block)
        for _ in range(overwritten):
            self._forget_oldest()

    def _encoded(self, inputs: Inputs) -> bytes:
        """As msgpack, or as JSON where numbers are beyond 64 bits, as nano-units of 18 GiB are."""
        try:
            return self._encoder.encode(inputs)
        except OverflowError:
            return msgspec.json.encode(inputs)

    @property
    def size_bytes(self) -> int:
        """What is held now."""
        return self._packed.size_bytes + self._open.size_bytes + len(self._order) * OVERHEAD_BYTES

    @property
    def full(self) -> bool:
        """Whether something has been forgotten for want of room."""
        return self._full

    def of(self, key: str, last: int) -> list[Packed]:
        """The latest syncs of an HPA by namespace/name, at most `last`, oldest first; empty when none is remembered."""
        entries = self._kept.get(key, [])[-last:] if last > 0 else []
        texts = {block: self._text(block) for block in {block for _, block, _ in entries}}
        namespace, _, name = key.partition("/")
        return [
            Packed(Autoscaler(namespace, name, spec, self._settings), texts[block], index)
            for spec, block, index in entries
        ]

    def _text(self, block: _Block) -> bytes:
        return block.packed() if block is self._open else self._packed.get(block.place)

    def _forget_oldest(self) -> None:
        self._full = True
        for _ in range(self._blocks.popleft().syncs):
            self._forget(self._order.popleft(), 0)

    def _forget(self, key: str, index: int) -> None:
        entries = self._kept[key]
        entries.pop(index)
        if not entries:
            del self._kept[key]
