"""The format `hpa-history/1`: records of many HPAs as bytes, bounded in size; damage is found, not guessed at.

A shard is zlib-compressed msgpack. Times are milliseconds, each told by its distance from the one before, so that they
take few bytes; they are rounded towards the present, which lets an entry count for up to a millisecond longer.
"""

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from controller.decide.history import History, Recommendation, ScaleEvent
from controller.decide.ratio import REPLICAS_MAX
from controller.lasting.records import Record

FORMAT: Final = 1
HPAS_PER_SHARD: Final = 320
"""700 kB at most at a sync period of 15 s, for an hour of falling load: 241 recommendations and 121 rescales each."""

SHARDS_MAX: Final = 32
BYTES_MAX: Final = 900_000
"""A ConfigMap may have 1 MiB."""

ENTRIES_MAX: Final = 1_024
"""How many recommendations, and how many rescales of a direction, are kept of an HPA at most."""

RECORDS_PER_STEP: Final = 4
"""How many are packed or unpacked in one go: some milliseconds where their histories are long."""

UNPACKED_MAX: Final = 8 * 1024 * 1024
"""What is written that fills a ConfigMap has less than 4 MiB; as objects it takes some 50 times as much."""

_DIGEST_BYTES: Final = 12
_RECORDS_MAX: Final = BYTES_MAX // _DIGEST_BYTES
"""Digests cannot be compressed."""

_MILLISECOND: Final = 1_000_000
_ENTRIES_LEAST: Final = 2

_Int64 = Annotated[int, Meta(ge=-(2**62), le=2**62)]
_Ago = Annotated[int, Meta(ge=-(2**40), le=2**40)]
_Replicas = Annotated[int, Meta(ge=0, le=REPLICAS_MAX)]
_Numbers = Annotated[list[_Ago], Meta(max_length=2 * ENTRIES_MAX)]


class DamagedError(ValueError):
    """The bytes are no shard that this program can read; the message says why, in a few words."""


class Shard(msgspec.Struct, frozen=True):
    """What one object holds.

    Attributes:
        saved_ns: when (wall).
        run: which process saved it.
        tenure: which holder of the Lease that was, see ports.Tenured; None without leader election.
        whole: nothing has been decided by that process since.
        shards: how many there are in all.
        records: by `digest` of the HPA's uid.
    """

    saved_ns: int
    run: str
    tenure: int | None
    whole: bool
    shards: int
    records: Mapping[bytes, Record]


class _PackedRecord(msgspec.Struct, array_like=True):
    digest: Annotated[bytes, Meta(min_length=_DIGEST_BYTES, max_length=_DIGEST_BYTES)]
    synced_ago: _Ago
    replicas: _Replicas
    partial: bool
    # Pairs, one after the other: how long before the entry before it, and how many; outdated rescales are negative.
    recommendations: _Numbers
    scale_ups: _Numbers
    scale_downs: _Numbers


class _Version(msgspec.Struct, array_like=True):
    format: int


class _Packed(msgspec.Struct, array_like=True):
    format: int
    saved_ms: _Int64
    run: Annotated[str, Meta(max_length=100)]
    tenure: _Int64 | None
    whole: bool
    shards: Annotated[int, Meta(ge=1, le=SHARDS_MAX)]
    records: Annotated[list[_PackedRecord], Meta(max_length=_RECORDS_MAX)]


_VERSION: Final = msgspec.msgpack.Decoder(_Version)
_PACKED: Final = msgspec.msgpack.Decoder(_Packed)
_EMPTY: Final = msgspec.msgpack.encode([])


def digest(uid: str) -> bytes:
    """What stands for an HPA: another one of the same name has another."""
    return hashlib.blake2b(uid.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def shard_of(key: bytes, shards: int) -> int:
    """In which of so many shards an HPA's record is."""
    return int.from_bytes(key[:4], "big") % shards


def shards_for(hpas: int) -> int:
    """How many shards so many HPAs need: a power of two, at most 32."""
    shards = 1
    while shards < SHARDS_MAX and hpas > shards * HPAS_PER_SHARD:
        shards *= 2
    return shards


def encoding(shard: Shard, bytes_max: int = BYTES_MAX) -> Iterator[bytes | None]:
    """The shard as bytes, at most `bytes_max`, after None for each step on the way: others may do something meanwhile.

    Where it would be more, neighbouring entries become one, which counts as the latest of them did: windows and
    policies then hold longer, never shorter. At the very least the records that were synced last are in it.
    """
    records = dict(shard.records)
    entries_max = min(ENTRIES_MAX, max(map(_longest, records.values()), default=0))
    while True:
        packed, unpacked_bytes = b"", 0
        for step in _packing(shard, records, entries_max):
            packed, unpacked_bytes = step or (packed, unpacked_bytes)
            yield None
        if (len(packed) <= bytes_max and unpacked_bytes <= UNPACKED_MAX) or not records:
            yield packed
            return
        if entries_max > _ENTRIES_LEAST:
            entries_max //= 2
        else:
            latest = sorted(records.items(), key=lambda item: -item[1].synced_ns)
            records = dict(latest[: len(latest) // 2])


def decoding(packed: bytes) -> Iterator[Shard | None]:
    """The shard of such bytes, after None for each step on the way: others may do something meanwhile.

    Raises:
        DamagedError: they are damaged, or of a later format.
    """
    try:
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(packed, UNPACKED_MAX)
        if not unpacker.eof:
            raise DamagedError("it is cut off, or far too large")
        if (found := _VERSION.decode(text).format) != FORMAT:
            raise DamagedError(f"its format is {found}, this program reads {FORMAT}")
        raw = _PACKED.decode(text)
    except zlib.error as error:
        raise DamagedError(f"it is not compressed as it should be: {error}") from error
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise DamagedError(f"it cannot be decoded: {error}") from error
    saved_ns = raw.saved_ms * _MILLISECOND
    records: dict[bytes, Record] = {}
    for number, record in enumerate(raw.records, 1):
        records[record.digest] = _unpacked(record, saved_ns)
        if number % RECORDS_PER_STEP == 0:
            yield None
    yield Shard(saved_ns, raw.run, raw.tenure, raw.whole, raw.shards, records)


def _longest(record: Record) -> int:
    history = record.history
    return max(len(history.recommendations or ()), len(history.scale_ups), len(history.scale_downs))


def _packing(shard: Shard, records: Mapping[bytes, Record], entries_max: int) -> Iterator[tuple[bytes, int] | None]:
    """The bytes, and how many they were before they were compressed, after None for each step on the way."""
    saved_ms = shard.saved_ns // _MILLISECOND
    head = msgspec.msgpack.encode(_Packed(FORMAT, saved_ms, shard.run, shard.tenure, shard.whole, shard.shards, []))
    # How an array of so many begins; nil is one byte.
    begin = msgspec.msgpack.encode([None] * len(records))[: -len(records) or None]
    compressor = zlib.compressobj(6)
    head = head.removesuffix(_EMPTY) + begin
    parts, unpacked_bytes = [compressor.compress(head)], len(head)
    for number, (key, record) in enumerate(records.items(), 1):
        body = msgspec.msgpack.encode(_packed(key, record, saved_ms, entries_max))
        parts.append(compressor.compress(body))
        unpacked_bytes += len(body)
        if number % RECORDS_PER_STEP == 0:
            yield None
    yield b"".join(parts) + compressor.flush(), unpacked_bytes


def _packed(key: bytes, record: Record, saved_ms: int, entries_max: int) -> _PackedRecord:
    synced_ms = _milliseconds(record.synced_ns)
    history = record.history
    recommendations = _fewer_recommendations(history.recommendations or (), entries_max)
    ups, downs = (_fewer_events(events, entries_max) for events in (history.scale_ups, history.scale_downs))
    return _PackedRecord(
        key,
        saved_ms - synced_ms,
        _count(record.replicas),
        record.partial,
        _pairs(synced_ms, ((entry.at_ns, _count(entry.replicas)) for entry in recommendations)),
        _pairs(synced_ms, ((event.at_ns, _signed(event)) for event in ups)),
        _pairs(synced_ms, ((event.at_ns, _signed(event)) for event in downs)),
    )


def _pairs(from_ms: int, entries: Iterable[tuple[int, int]]) -> list[int]:
    numbers: list[int] = []
    for at_ns, count in entries:
        at_ms = _milliseconds(at_ns)
        numbers += (from_ms - at_ms, count)
        from_ms = at_ms
    return numbers


def _milliseconds(at_ns: int) -> int:
    """Rounded up."""
    return -(-at_ns // _MILLISECOND)


def _signed(event: ScaleEvent) -> int:
    return -_count(event.change) if event.outdated else _count(event.change)


def _unpacked(record: _PackedRecord, saved_ns: int) -> Record:
    """Raises DamagedError where a list has no pairs, or a number is none of replicas."""
    synced_ns = saved_ns - record.synced_ago * _MILLISECOND

    def pairs(numbers: list[int]) -> list[tuple[int, int]]:
        if len(numbers) % 2 or any(abs(count) > REPLICAS_MAX for count in numbers[1::2]):
            raise DamagedError("an entry of it makes no sense")
        instants_ns = accumulate((-ago * _MILLISECOND for ago in numbers[::2]), initial=synced_ns)
        return list(zip(list(instants_ns)[1:], numbers[1::2], strict=True))

    recommendations = pairs(record.recommendations)
    if any(count < 0 for _, count in recommendations):
        raise DamagedError("a recommendation of it is negative")
    ups, downs = (
        tuple(ScaleEvent(abs(count), at_ns, count < 0) for at_ns, count in pairs(numbers))
        for numbers in (record.scale_ups, record.scale_downs)
    )
    return Record(
        synced_ns,
        record.replicas,
        History(tuple(Recommendation(count, at_ns) for at_ns, count in recommendations), ups, downs),
        record.partial,
    )


def _fewer_recommendations(entries: tuple[Recommendation, ...], most: int) -> tuple[Recommendation, ...]:
    """Of each group of neighbours the highest and the lowest, as late as the latest of them."""
    if len(entries) <= most:
        return entries
    ordered = sorted(entries, key=lambda entry: entry.at_ns)
    size = -(-2 * len(ordered) // most)
    fewer: list[Recommendation] = []
    for start in range(0, len(ordered), size):
        group = ordered[start : start + size]
        counts = {min(entry.replicas for entry in group), max(entry.replicas for entry in group)}
        fewer.extend(Recommendation(count, group[-1].at_ns) for count in sorted(counts))
    return tuple(fewer)


def _fewer_events(events: tuple[ScaleEvent, ...], most: int) -> tuple[ScaleEvent, ...]:
    """Each group of neighbours as one rescale, as late as the latest of them."""
    if len(events) <= most:
        return events
    ordered = sorted(events, key=lambda event: event.at_ns)
    size = -(-len(ordered) // most)
    groups = [ordered[start : start + size] for start in range(0, len(ordered), size)]
    return tuple(
        ScaleEvent(sum(event.change for event in group), group[-1].at_ns, all(event.outdated for event in group))
        for group in groups
    )


def _count(replicas: int) -> int:
    """As many as a scale can have."""
    return min(max(replicas, 0), REPLICAS_MAX)
