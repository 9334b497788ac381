"""Which records are taken up, and in which part of what is kept they are."""

import pytest

from controller.decide.history import History, Recommendation
from controller.decide.instants import NANOSECONDS
from controller.lasting.parts import Latest, Part, Parts
from controller.lasting.records import Record
from controller.lasting.shards import HPAS_PER_SHARD, Shard, digest, shard_of
from tests.builders import monotonic_ns, now, wall_ns

WINDOW_S = 3_600
KEY = digest("a")


def record(ago_s: float = 10, replicas: int = 5, *, partial: bool = False) -> Record:
    return Record(wall_ns(-ago_s), replicas, History((Recommendation(replicas, wall_ns(-ago_s)),)), partial)


def latest(replicas: int = 5, asked: int = 5) -> Latest:
    recommended = History((Recommendation(asked, monotonic_ns()),))
    return Latest(recommended, replicas, monotonic_ns(), asked)


def taken(*records: Record, known: set[bytes] | None = None, parts: Parts | None = None) -> Record | None:
    """What is taken up of the HPA, of objects whose writer has said that they are whole."""
    parts = parts or Parts()
    for each in records:
        take(parts, each, known)
    return parts.of(KEY).left.get(KEY)


def take(
    parts: Parts,
    each: Record,
    known: set[bytes] | None = None,
    *,
    whole: bool = True,
    tenures: tuple[int | None, int | None] = (1, 2),
) -> None:
    """`tenures`: of who has written it, and of who reads it."""
    written, read = tenures
    shard = Shard(wall_ns(), "run", written, whole, shards=1, records={KEY: each})
    parts.take(shard, known, tenure=read, now=now(), window_ns=WINDOW_S * NANOSECONDS)


@pytest.mark.parametrize("order", [1, -1])
def test_of_several_records_the_newest_is_taken_up(order: int) -> None:
    found = taken(*[record(30, 3), record(10, 7)][::order])
    assert found is not None
    assert found.replicas == 7


def test_only_hpas_that_there_are_are_taken_up_where_that_is_known() -> None:
    assert taken(record(), known=set()) is None
    assert taken(record(), known={KEY}) is not None
    assert taken(record(), known=None) is not None


def test_what_no_window_looks_back_to_is_not_taken_up() -> None:
    assert taken(record(WINDOW_S - 1)) is not None
    assert taken(record(WINDOW_S + 1)) is None


def test_who_has_been_synced_goes_on_with_that() -> None:
    parts = Parts()
    parts.of(KEY).put(KEY, latest())
    assert taken(record(), parts=parts) is None


def test_what_was_partial_once_stays_so() -> None:
    whole, partial = taken(record()), taken(record(partial=True))
    assert whole is not None
    assert partial is not None
    assert (whole.partial, partial.partial) == (False, True)


@pytest.mark.parametrize(
    ("whole", "tenures", "partial"),
    [
        (True, (1, 2), False),
        (False, (1, 2), True),
        (True, (1, 3), True),
        (True, (2, 2), True),
        (True, (None, None), False),
        (False, (None, None), True),
        (True, (None, 1), True),
        (True, (1, None), True),
    ],
)
def test_whole_is_only_what_the_last_holder_of_the_lease_has_said_so_of(
    *, whole: bool, tenures: tuple[int | None, int | None], partial: bool
) -> None:
    parts = Parts()
    take(parts, record(), whole=whole, tenures=tenures)
    assert parts.of(KEY).left[KEY].partial == partial


def test_what_is_taken_up_has_to_be_saved_again() -> None:
    parts = Parts()
    parts.of(KEY).changed = False
    take(parts, record(WINDOW_S + 1))
    assert not parts.of(KEY).changed
    take(parts, record())
    assert parts.of(KEY).changed


def test_a_sync_takes_the_place_of_what_an_earlier_term_has_left() -> None:
    parts = Parts()
    take(parts, record())
    assert parts.left == 1
    assert parts.of(KEY).put(KEY, latest())
    assert parts.left == 0
    assert not parts.of(KEY).put(KEY, latest())


def test_who_is_gone_is_forgotten() -> None:
    part = Part()
    part.left[KEY], part.latest[KEY], part.changed = record(), latest(), False
    part.forget("b")
    assert not part.changed
    part.forget("a")
    assert (part.left, part.latest, part.changed) == ({}, {}, True)


def test_more_parts_hold_what_fewer_held() -> None:
    parts, keys = Parts(), [digest(str(number)) for number in range(8)]
    for key in keys[:4]:
        parts.of(key).left[key] = record()
    for key in keys[4:]:
        parts.of(key).put(key, latest())
    parts[0].changed = False
    parts.extend(4)
    assert parts[0].changed
    for number in range(4):
        here = {key for key in keys if shard_of(key, 4) == number}
        assert parts[number].left.keys() == here & set(keys[:4])
        assert parts[number].latest.keys() == here & set(keys[4:])


@pytest.mark.parametrize("count", [2, 4])
def test_parts_that_are_enough_stay_as_they_are(count: int) -> None:
    parts = Parts(4)
    for number in range(4):
        parts[number].changed = False
    parts.extend(count)
    assert [parts[number].changed for number in range(len(parts))] == [False] * 4


def test_parts_become_as_many_as_hpas_need_and_never_fewer() -> None:
    parts = Parts()
    counts = []
    for hpas in (1, HPAS_PER_SHARD, HPAS_PER_SHARD + 1, 1):
        parts.grow(hpas)
        counts.append(len(parts))
    assert counts == [1, 1, 2, 2]


def test_of_a_term_that_has_ended_nobody_knows_whether_more_was_done() -> None:
    parts = Parts()
    parts.of(KEY).put(KEY, latest())
    parts.of(KEY).changed = False
    parts.begin_term(now(), WINDOW_S * NANOSECONDS)
    assert parts.of(KEY).changed
    assert parts.of(KEY).latest == {}
    assert parts.of(KEY).left[KEY].partial


def test_only_another_count_or_recommendation_is_worth_saving_at_once() -> None:
    part = Part()
    part.put(KEY, latest())
    part.changed = False
    part.put(KEY, latest())
    assert not part.changed
    part.put(KEY, latest(asked=6))
    assert part.changed
