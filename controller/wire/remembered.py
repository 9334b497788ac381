"""What was worked out for a text, kept for the next time, in no more memory than was agreed on."""

import sys
from collections.abc import Callable
from typing import Final, Generic, TypeVar

V = TypeVar("V")

_ENTRY_BYTES: Final = 500
"""What an entry takes beside its texts."""


class Remembered(Generic[V]):
    """A function's results by text; those that nobody has asked for lately are forgotten first.

    Not their number is bounded but their size: texts may come from people who write a new one every second.

    Attributes:
        size_bytes: what they take, about.
    """

    def __init__(self, make: Callable[[str, str], V], *, copies: int, bytes_max: int) -> None:
        """`make` takes two texts and gives no None. `copies`: how often both are in the key and in a result, about."""
        self._make = make
        self._copies = copies
        self._bytes_max = bytes_max
        self._kept: dict[tuple[str, str], V] = {}
        self.size_bytes = 0

    def __call__(self, text: str, other: str = "") -> V:
        """The result for these texts."""
        key = text, other
        found = self._kept.pop(key, None)
        if found is None:
            found = self._make(text, other)
            self.size_bytes += self._bytes_of(key)
        self._kept[key] = found
        while self.size_bytes > self._bytes_max:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            self.size_bytes -= self._bytes_of(oldest)
        return found

    def _bytes_of(self, key: tuple[str, str]) -> int:
        return _ENTRY_BYTES + self._copies * sum(map(sys.getsizeof, key))
