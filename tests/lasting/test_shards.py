"""The format of kept histories: exact to a millisecond, bounded, and never trusted when damaged."""

import random
import zlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.decide.history import History, Recommendation, ScaleEvent
from controller.decide.ratio import REPLICAS_MAX
from controller.lasting import shards
from controller.lasting.records import Record
from controller.lasting.shards import DamagedError, Shard, decoding, digest, encoding, shard_of, shards_for
from tests.builders import wall_ns
from tests.decide.strategies import profile
from tests.lasting.past import RECORDS
from tests.lasting.whole import decode, encode

SHARDS = st.builds(
    Shard,
    saved_ns=st.integers(0, 86_400_000).map(lambda ms: wall_ns() + ms * 1_000_000),
    run=st.text("0123456789abcdef", max_size=16),
    tenure=st.none() | st.integers(0, 2**62 - 1),
    whole=st.booleans(),
    shards=st.sampled_from([1, 2, 4, 8, 16, 32]),
    records=st.dictionaries(st.text(max_size=40).map(digest), RECORDS, max_size=5),
)


def falling(entries: int, period_s: int = 15) -> Record:
    """The longest history: a load that falls for an hour, and a rescale in each of the syncs of half an hour."""
    recommendations = tuple(
        Recommendation(60_000 - 97 * sync, wall_ns() + (sync * period_s * 1_000 + sync * 7919 % 60) * 1_000_000)
        for sync in range(entries)
    )
    events = tuple(
        ScaleEvent(297, wall_ns() + (sync * period_s * 1_000 + sync * 6101 % 60) * 1_000_000)
        for sync in range(entries // 2)
    )
    return Record(wall_ns(entries * period_s), 5, History(recommendations, (), events))


def shard_of_records(records: dict[bytes, Record]) -> Shard:
    return Shard(wall_ns(3_600), "run", 3, whole=False, shards=32, records=records)


@profile(150)
@given(SHARDS)
def test_what_is_written_is_read(shard: Shard) -> None:
    assert decode(encode(shard)) == shard


@profile(150)
@given(RECORDS, st.integers(1, 999_999))
def test_instants_between_milliseconds_are_rounded_towards_the_present(record: Record, odd_ns: int) -> None:
    entries = record.history.recommendations or ()
    moved = tuple(Recommendation(entry.replicas, entry.at_ns - odd_ns) for entry in entries)
    written = Record(record.synced_ns, record.replicas, History(moved))
    read = decode(encode(shard_of_records({digest("a"): written}))).records[digest("a")]
    assert [entry.at_ns for entry in read.history.recommendations or ()] == [entry.at_ns for entry in entries]


@profile(300)
@given(SHARDS, st.data())
def test_damage_gives_one_kind_of_error_or_a_sound_shard(shard: Shard, data: st.DataObject) -> None:
    packed = bytearray(encode(shard))
    for _ in range(data.draw(st.integers(1, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(packed)))
    for damaged in (bytes(packed), bytes(packed[:cut])):
        # Where the checksum holds, nothing that counts has been hit.
        assert decoded(damaged) in (shard, None)


def decoded(packed: bytes) -> Shard | None:
    try:
        return decode(packed)
    except DamagedError:
        return None


@profile(200)
@given(st.recursive(st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text() | st.binary(), st.lists))
def test_sound_bytes_that_mean_something_else_are_refused(value: object) -> None:
    with pytest.raises(DamagedError):
        decode(zlib.compress(msgspec.msgpack.encode([1, value])))


@pytest.mark.parametrize("body", [b"", b"nonsense", zlib.compress(b""), zlib.compress(b"\xc1")])
def test_what_is_no_shard_is_refused(body: bytes) -> None:
    with pytest.raises(DamagedError):
        decode(body)


def test_a_later_format_is_named() -> None:
    with pytest.raises(DamagedError, match="its format is 7, this program reads 1"):
        decode(zlib.compress(msgspec.msgpack.encode([7, "all else", {"may": "differ"}])))


def test_bytes_that_unpack_to_far_more_are_refused() -> None:
    with pytest.raises(DamagedError, match="far too large"):
        decode(zlib.compress(bytes(shards.UNPACKED_MAX + 1)))


def test_what_would_unpack_to_more_than_is_read_is_made_smaller() -> None:
    """Histories that are all alike take next to nothing once they are compressed."""
    longest = falling(shards.ENTRIES_MAX)
    shard = shard_of_records({digest(f"uid-{number}"): longest for number in range(1_000)})
    packed = encode(shard)
    found = decode(packed)
    assert len(zlib.decompress(packed)) <= shards.UNPACKED_MAX
    assert found.records.keys() == shard.records.keys()
    assert found != shard


@pytest.mark.parametrize("field", ["recommendations", "ups", "downs"])
def test_longer_lists_than_are_written_are_damage(field: str) -> None:
    """A list of sixty million small numbers takes 60 kB, and gigabytes once they are objects."""
    decode(made_of(**{field: [1] * 2 * shards.ENTRIES_MAX}))
    with pytest.raises(DamagedError, match="length <= 2048"):
        decode(made_of(**{field: [1] * 2 * (shards.ENTRIES_MAX + 1)}))


def test_more_records_than_are_written_are_damage() -> None:
    def records(count: int) -> bytes:
        return zlib.compress(
            msgspec.msgpack.encode([1, 0, "", None, True, 1, [[digest("a"), 0, 5, False, [], [], []]] * count])
        )

    decode(records(75_000))
    with pytest.raises(DamagedError, match="length <= 75000"):
        decode(records(75_001))


def test_ten_thousand_hpas_with_the_longest_histories_fit_without_loss() -> None:
    keys = [digest(f"uid-{number}") for number in range(10_000)]
    count = shards_for(len(keys))
    assert count == 32
    parts: list[dict[bytes, Record]] = [{} for _ in range(count)]
    for key in keys:
        parts[shard_of(key, count)][key] = falling(241)
    fullest = shard_of_records(max(parts, key=len))
    packed = encode(fullest)
    assert len(packed) <= shards.BYTES_MAX
    assert decode(packed) == fullest
    # Not by grace of compression, which likes these records as they are alike.
    assert len(zlib.decompress(packed)) <= shards.BYTES_MAX


def test_a_shard_is_packed_a_few_records_at_a_time_and_once_where_it_fits() -> None:
    shard = shard_of_records({digest(f"uid-{number}"): falling(241) for number in range(40)})
    *steps, packed = encoding(shard)
    assert steps == [None] * (40 // shards.RECORDS_PER_STEP + 1)
    assert packed is not None
    *unpacking, found = decoding(packed)
    assert unpacking == [None] * (40 // shards.RECORDS_PER_STEP)
    assert found == shard


def test_what_does_not_fit_is_not_packed_again_as_it_was() -> None:
    shard = shard_of_records({digest(f"uid-{number}"): falling(241) for number in range(40)})
    once = len(list(encoding(shard))) - 1
    assert len(list(encoding(shard, len(encode(shard))))) == once + 1
    assert len(list(encoding(shard, len(encode(shard)) - 1))) == 2 * once + 1


@pytest.mark.parametrize("bytes_max", [20_000, 4_000, 300])
def test_what_is_too_large_is_made_smaller_and_holds_longer(bytes_max: int) -> None:
    records = {digest(f"uid-{number}"): falling(241 + number) for number in range(20)}
    packed = encode(shard_of_records(records), bytes_max)
    assert len(packed) <= bytes_max
    found = decode(packed).records
    assert found.keys() <= records.keys()
    for key, record in found.items():
        whole, fewer = records[key].history, record.history
        assert sum(event.change for event in fewer.scale_downs) == sum(event.change for event in whole.scale_downs)
        for window_s in range(0, 3_600, 100):
            cutoff_ns = wall_ns(3_600 - window_s)
            assert highest(fewer, cutoff_ns) >= highest(whole, cutoff_ns)
            assert lowest(fewer, cutoff_ns) <= lowest(whole, cutoff_ns)
            assert removed(fewer, cutoff_ns) >= removed(whole, cutoff_ns)


def highest(history: History, cutoff_ns: int) -> int:
    return max((entry.replicas for entry in history.recommendations or () if entry.at_ns > cutoff_ns), default=0)


def lowest(history: History, cutoff_ns: int) -> int:
    return min((entry.replicas for entry in history.recommendations or () if entry.at_ns > cutoff_ns), default=2**31)


def removed(history: History, cutoff_ns: int) -> int:
    return sum(event.change for event in history.scale_downs if event.at_ns > cutoff_ns)


@pytest.mark.parametrize(("hpas", "expected"), [(0, 1), (320, 1), (321, 2), (10_000, 32), (1_000_000, 32)])
def test_shards_are_as_many_as_hpas_need(hpas: int, expected: int) -> None:
    assert shards_for(hpas) == expected


def test_another_hpa_of_the_same_name_has_another_digest() -> None:
    assert digest("1") != digest("2")
    assert len(digest("1")) == 12


def made_of(**fields: object) -> bytes:
    """A shard of one record, of which some fields are what they should not be."""
    record = {"ago": 0, "replicas": 5, "partial": False, "recommendations": [], "ups": [], "downs": []} | fields
    return zlib.compress(msgspec.msgpack.encode([1, 0, "run", None, True, 1, [[digest("a"), *record.values()]]]))


@pytest.mark.parametrize(
    ("fields", "because"),
    [
        ({"recommendations": [1, 2, 3]}, "makes no sense"),
        ({"ups": [1]}, "makes no sense"),
        ({"recommendations": [1, -1]}, "is negative"),
        ({"downs": [1, REPLICAS_MAX + 1]}, "makes no sense"),
        ({"downs": [1, 2, 1, REPLICAS_MAX + 1]}, "makes no sense"),
        ({"ups": [1, -REPLICAS_MAX - 1]}, "makes no sense"),
        ({"recommendations": [1, REPLICAS_MAX + 1]}, "makes no sense"),
    ],
)
def test_entries_that_cannot_be_are_damage(fields: dict[str, object], because: str) -> None:
    decode(made_of(recommendations=[1, 2, REPLICAS_MAX + 1, 0], ups=[1, -2], downs=[1, REPLICAS_MAX]))
    with pytest.raises(DamagedError, match=because):
        decode(made_of(**fields))


@pytest.mark.parametrize("name", [b"\xa3\xff\xfe\xfd", b"\x91" * 200_000 + b"\xc0"], ids=["no UTF-8", "too deep"])
def test_what_only_the_decoder_chokes_on_is_damage_as_well(name: bytes) -> None:
    values: tuple[Any, ...] = (1, 0, None, True, 1, [])
    fields = [msgspec.msgpack.encode(value) for value in values]
    # The last one is a field of a later program, which is passed over, or the name of the run.
    deep = name.startswith(b"\x91")
    body = b"\x98" + fields[0] + fields[1] + (b"\xa3run" if deep else name) + b"".join(fields[2:])
    with pytest.raises(DamagedError, match="cannot be decoded"):
        decode(zlib.compress(body + (name if deep else b"\xc0")))


def test_beyond_so_many_entries_neighbours_become_one_that_counts_as_long_as_the_latest_of_them() -> None:
    at_ns = [wall_ns(sync) for sync in range(2 * shards.ENTRIES_MAX)]
    counts = [5 + sync * 7919 % 11 for sync in range(len(at_ns))]
    long = History(
        tuple(map(Recommendation, counts, at_ns)),
        tuple(map(ScaleEvent, counts, at_ns)),
        tuple(ScaleEvent(REPLICAS_MAX, each_ns) for each_ns in at_ns),
    )
    fewer = (
        decode(encode(shard_of_records({digest("a"): Record(wall_ns(3_600), 5, long)}))).records[digest("a")].history
    )
    fours, pairs = range(0, len(at_ns), 4), range(0, len(at_ns), 2)
    highest_and_lowest = [
        {(min(counts[start : start + 4]), at_ns[start + 3]), (max(counts[start : start + 4]), at_ns[start + 3])}
        for start in fours
    ]
    assert {(entry.replicas, entry.at_ns) for entry in fewer.recommendations or ()} == set().union(*highest_and_lowest)
    assert fewer.scale_ups == tuple(ScaleEvent(counts[start] + counts[start + 1], at_ns[start + 1]) for start in pairs)
    assert {each.change for each in fewer.scale_downs} == {REPLICAS_MAX}, "no more than a scale can have"


def test_who_has_never_had_a_recommendation_has_none_afterwards() -> None:
    record = Record(wall_ns(), 5, History())
    assert decode(encode(shard_of_records({digest("a"): record}))).records[digest("a")].history == History(())


def test_histories_become_shorter_before_hpas_are_left_out() -> None:
    records = {digest(f"uid-{number}"): falling(241 + number) for number in range(20)}
    found = decode(encode(shard_of_records(records), 4_000)).records
    assert found.keys() == records.keys()


def test_the_hpas_that_are_left_out_are_those_whose_last_sync_is_longest_ago() -> None:
    numbers = [*range(0, 20, 2), *range(1, 20, 2)]
    records = {digest(f"uid-{number}"): falling(241 + number) for number in numbers}
    found = decode(encode(shard_of_records(records), 300)).records
    assert 0 < len(found) < len(records)
    assert found.keys() == {digest(f"uid-{number}") for number in range(20 - len(found), 20)}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_made_smaller_entries_in_any_order_hold_longer(seed: int) -> None:
    """As slots that are used again leave them."""
    dice, whole = random.Random(seed), falling(241).history  # noqa: S311 - a test wants the same order each time
    assert whole.recommendations is not None
    mixed = History(
        tuple(dice.sample(whole.recommendations, len(whole.recommendations))),
        (),
        tuple(dice.sample(whole.scale_downs, len(whole.scale_downs))),
    )
    fewer = decode(encode(shard_of_records({digest("a"): Record(wall_ns(3_600), 5, mixed)}), 400)).records[digest("a")]
    assert len(fewer.history.recommendations or ()) < len(whole.recommendations)
    for window_s in range(0, 3_600, 100):
        cutoff_ns = wall_ns(3_600 - window_s)
        assert highest(fewer.history, cutoff_ns) >= highest(whole, cutoff_ns)
        assert lowest(fewer.history, cutoff_ns) <= lowest(whole, cutoff_ns)
        assert removed(fewer.history, cutoff_ns) >= removed(whole, cutoff_ns)


def test_the_slot_of_rescales_that_become_one_may_be_used_again_only_if_each_of_theirs_might() -> None:
    """Else the next rescale would replace one that policies still look at (§11.6)."""
    events = tuple(
        ScaleEvent(event.change, event.at_ns, outdated=number < 60 or number % 2 == 0)
        for number, event in enumerate(falling(241).history.scale_downs)
    )
    shard = shard_of_records({digest("a"): Record(wall_ns(3_600), 5, History((), (), events))})
    fewer = decode(encode(shard, len(encode(shard)) - 1)).records[digest("a")].history.scale_downs
    assert len(fewer) < len(events)
    assert {one.outdated for one in fewer} == {True, False}
    since_ns = 0
    for one in fewer:
        became_one = [event for event in events if since_ns < event.at_ns <= one.at_ns]
        assert one.outdated == all(event.outdated for event in became_one)
        since_ns = one.at_ns


def test_shards_are_a_power_of_two() -> None:
    """Of a number that doubles each record either stays where it is, or goes to one other place."""
    assert [shards_for(hpas) for hpas in (320, 640, 641, 1_280, 1_281)] == [1, 2, 4, 4, 8]
