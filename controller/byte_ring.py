"""The latest of many short texts in one piece of memory, where each overwrites the oldest."""

import mmap
from collections import deque
from typing import Final

_LENGTH_BYTES: Final = 4


class ByteRing:
    """Holds as many texts as fit; a place is good until the text in it has been overwritten.

    Texts of all lengths that come and go by the hundred a second would leave holes between whatever else the process
    keeps. Here they have memory of their own, which becomes resident as it is first written to.

    Attributes:
        size_bytes: of the texts that are held.
    """

    def __init__(self, capacity_bytes: int) -> None:
        """`capacity_bytes`: for the texts and four bytes with each of them, at least 1."""
        self._memory = mmap.mmap(-1, capacity_bytes)
        self._places: deque[int] = deque()
        self._head = 0
        self.size_bytes = 0

    def put(self, text: bytes) -> tuple[int, int]:
        """Keep a text; gives its place, and how many of the oldest ones were overwritten for it.

        Raises:
            ValueError: it is longer than all the memory.
        """
        needed, capacity = _LENGTH_BYTES + len(text), len(self._memory)
        if needed > capacity:
            raise ValueError(f"{len(text)} bytes do not fit into {capacity}")
        before = len(self._places)
        place = self._head
        if place + needed > capacity:
            while self._places and self._places[0] >= place:
                self.drop()
            place = 0
        # The oldest text begins where the newest ends, or after a gap.
        while self._places and place <= self._places[0] < place + needed:
            self.drop()
        self._memory[place : place + needed] = len(text).to_bytes(_LENGTH_BYTES, "little") + text
        overwritten = before - len(self._places)
        self._places.append(place)
        self._head = place + needed
        self.size_bytes += len(text)
        return place, overwritten

    def get(self, place: int) -> bytes:
        """The text in a place."""
        begin = place + _LENGTH_BYTES
        return self._memory[begin : begin + self._length(place)]

    def drop(self) -> None:
        """Let the oldest go, before it is overwritten."""
        self.size_bytes -= self._length(self._places.popleft())

    def _length(self, place: int) -> int:
        return int.from_bytes(self._memory[place : place + _LENGTH_BYTES], "little")
