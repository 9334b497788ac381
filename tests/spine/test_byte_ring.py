"""The latest texts that fit are there to the byte, whatever their lengths, and nothing else is."""

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.byte_ring import ByteRing

CAPACITY = 64
LENGTH_BYTES = 4


@given(st.lists(st.binary(max_size=CAPACITY - LENGTH_BYTES), max_size=60))
def test_the_latest_texts_can_be_read_again(texts: list[bytes]) -> None:
    ring = ByteRing(CAPACITY)
    held: deque[tuple[int, bytes]] = deque()
    for text in texts:
        place, overwritten = ring.put(text)
        for _ in range(overwritten):
            held.popleft()
        held.append((place, text))
        assert [ring.get(at) for at, _ in held] == [text for _, text in held]
        assert ring.size_bytes == sum(len(text) for _, text in held) <= CAPACITY


@pytest.mark.parametrize("length", [1, 5, 12, 28, 60])
def test_no_more_is_given_up_than_has_to_be(length: int) -> None:
    ring, held = ByteRing(CAPACITY), 0
    for _ in range(100):
        held += 1 - ring.put(bytes(length))[1]
    assert held == CAPACITY // (length + LENGTH_BYTES)


def test_what_does_not_fit_behind_the_newest_goes_to_the_front_and_takes_the_oldest_with_it() -> None:
    """Here the newest ends where the oldest begins, too near to the end for another one."""
    ring = ByteRing(CAPACITY)
    for number in range(7):
        ring.put(bytes((number,)) * 12)
    assert ring.put(b"x" * 16) == (0, 3)
    assert ring.get(32) == bytes((6,)) * 12
    assert ring.size_bytes == 12 + 16


def test_the_oldest_can_be_let_go_before_it_is_overwritten() -> None:
    ring = ByteRing(CAPACITY)
    ring.put(b"one")
    place, _ = ring.put(b"two")
    ring.drop()
    assert (ring.get(place), ring.size_bytes) == (b"two", 3)


def test_a_text_longer_than_all_the_memory_is_refused_and_nothing_is_lost() -> None:
    ring = ByteRing(CAPACITY)
    place, _ = ring.put(b"here")
    with pytest.raises(ValueError, match="61 bytes do not fit into 64"):
        ring.put(bytes(CAPACITY - LENGTH_BYTES + 1))
    assert ring.get(place) == b"here"
