"""§20.6: what observers hear of a long list comes a part at a time, and in the order in which it happened to each."""

import asyncio
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.cache import TOLD_PER_ITERATION, Cache
from tests.spine.objects import list_anew

LONG = 3 * TOLD_PER_ITERATION


@dataclass(frozen=True)
class Thing:
    name: str
    version: int


class Follower:
    """Knows of a cache only what it is told."""

    def __init__(self, cache: Cache[Thing]) -> None:
        self.known: dict[str, Thing] = {}
        self.heard = 0
        self.out_of_order: list[str] = []
        cache.observe(self)

    def changed(self, old: Thing | None, new: Thing | None) -> None:
        thing = new or old
        assert thing is not None
        if self.known.get(thing.name) != old:
            self.out_of_order.append(thing.name)
        self.heard += 1
        if new is None:
            self.known.pop(thing.name, None)
        else:
            self.known[thing.name] = new


def things(count: int, version: int = 1) -> list[Thing]:
    return [Thing(f"team-{number % 2}/{number}", version) for number in range(count)]


def cache_of_things() -> Cache[Thing]:
    return Cache(lambda thing: thing.name)


def test_of_a_short_list_observers_hear_at_once() -> None:
    cache = cache_of_things()
    follower = Follower(cache)
    list_anew(cache, things(TOLD_PER_ITERATION))
    assert len(follower.known) == TOLD_PER_ITERATION


async def test_of_a_long_list_observers_hear_in_several_iterations_while_readers_have_all_of_it() -> None:
    cache = cache_of_things()
    follower = Follower(cache)
    list_anew(cache, things(LONG))
    heard: list[int] = []
    while follower.heard < LONG and len(heard) < LONG:
        assert len(cache) == LONG
        heard.append(follower.heard)
        await asyncio.sleep(0)
    assert heard == [TOLD_PER_ITERATION, 2 * TOLD_PER_ITERATION]
    list_anew(cache, things(2))
    assert len(cache) == 2
    for _ in range(3):
        await asyncio.sleep(0)
    assert list(follower.known.values()) == list(cache)


async def test_observers_know_what_a_reader_gets() -> None:
    """Whether another controller wrote an HPA, for instance, before a sync acts on what it wrote."""
    cache = cache_of_things()
    follower = Follower(cache)
    list_anew(cache, things(LONG))
    last = things(LONG, 2)[-1]
    list_anew(cache, things(LONG, 2))
    assert cache.get(last.name) == follower.known[last.name] == last
    assert cache.get("team-0/none") is None
    for _ in range(6):
        await asyncio.sleep(0)
    assert follower.known == {thing.name: thing for thing in cache}
    assert follower.out_of_order == []


@pytest.mark.parametrize("named", [False, True], ids=["all", "one namespace"])
async def test_what_happens_meanwhile_is_heard_of_afterwards(*, named: bool) -> None:
    cache = cache_of_things()
    follower = Follower(cache)
    list_anew(cache, things(LONG))
    first, last = things(LONG)[0], things(LONG)[-1]
    cache.put(Thing(last.name, 2))
    assert follower.known[last.name].version == 2
    announced = cache.get(things(LONG)[-2].name)
    assert announced is not None
    cache.announce(announced)
    cache.remove(things(LONG)[-3].name)
    listing = cache.listing("team-0") if named else cache.listing()
    listing.put(Thing(first.name, 3))
    listing.complete()
    for _ in range(6):
        await asyncio.sleep(0)
    assert follower.known == {thing.name: thing for thing in cache}
    assert follower.out_of_order == []
    assert follower.known[first.name].version == 3
    assert len(cache) == (LONG // 2 if named else 1)


NAMES = st.sampled_from([thing.name for thing in things(LONG)[-TOLD_PER_ITERATION - 3 :: 97]])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.just("put"), NAMES)
        | st.tuples(st.just("remove"), NAMES)
        | st.tuples(st.sampled_from(["list", "list team-1", "pause"]), st.just("")),
        max_size=8,
    )
)
async def test_whatever_happens_an_observer_ends_up_with_what_the_cache_has(operations: list[tuple[str, str]]) -> None:
    cache = cache_of_things()
    follower = Follower(cache)
    list_anew(cache, things(LONG))
    for version, (operation, name) in enumerate(operations, 2):
        if operation == "put":
            cache.put(Thing(name, version))
        elif operation == "remove":
            cache.remove(name)
        elif operation == "pause":
            await asyncio.sleep(0)
        else:
            namespace = operation.removeprefix("list").strip()
            listing = cache.listing(namespace)
            for thing in things(LONG, version)[:: 1 + version]:
                if thing.name.startswith(namespace):
                    listing.put(thing)
            listing.complete()
    for _ in range(10):
        await asyncio.sleep(0)
    assert follower.known == {thing.name: thing for thing in cache}
    assert follower.out_of_order == []
