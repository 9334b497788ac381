"""The items of a list while it arrives: a large one is taken apart in slices, so that nothing else waits for all of it.

Where one item ends and the next begins is guessed from how the first one begins, and the guess is checked by decoding:
an array that is closed in the middle of an item cannot be decoded. A list that does not lend itself to guessing is
decoded in one piece at its end.
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from controller.wire.errors import wire_errors
from controller.wire.shapes import Camel

SLICE_BYTES: Final = 64 * 1024
"""So much is taken apart at a time; about a hundred PodMetrics."""

_BEGINNING: Final = re.compile(rb'"items"\s*:\s*\[')
_FIRST_KEY: Final = re.compile(rb'\s*\{\s*("(?:[^"\\]|\\.)*")')
_GUESSES_MAX: Final = 8
CLOSED: Final = ord("]")
"""What ends an array of items."""


class _Items(Camel):
    items: list[msgspec.Raw] | None = None


ARRAY: Final = msgspec.json.Decoder(list[msgspec.Raw])
"""Takes an array apart into its items, undecoded; they refer to its text."""

_LIST: Final = msgspec.json.Decoder(_Items)


class ItemSlices:
    """Feed it the parts of an encoded list and `end` it; both give the items that are complete, undecoded."""

    def __init__(self) -> None:
        self._parts: list[bytes | memoryview] = []
        self._bytes = 0
        self._enough = SLICE_BYTES
        self._border: re.Pattern[bytes] | None = None

    @wire_errors
    def feed(self, part: bytes | memoryview) -> list[msgspec.Raw]:
        """The items that this part completes, or none as long as it is not worth while.

        Raises:
            WireError: this is no list.
        """
        self._parts.append(part)
        self._bytes += len(part)
        if self._bytes < self._enough:
            return []
        if self._border is None:
            self._begin()
        # Items refer to the text, which is made once: to copy megabytes costs as much as to take them apart.
        text = bytearray().join(self._parts)
        for end, beginning in self._guesses(text):
            behind, text[end] = text[end], CLOSED
            try:
                items = ARRAY.decode(memoryview(text)[: end + 1])
            except msgspec.DecodeError:
                text[end] = behind
                continue
            self._keep(b"".join((b"[", text[beginning:])), SLICE_BYTES)
            return items
        # Twice as much next time: what cannot be taken apart must not be tried again with every part.
        self._keep(bytes(text), 2 * len(text))
        return []

    @wire_errors
    def end(self) -> list[msgspec.Raw]:
        """The items that are left.

        Raises:
            WireError: all of it together was no list.
        """
        rest = b"".join(self._parts)
        return _LIST.decode(b'{"items":%b' % rest if self._border is not None else rest).items or []

    def _keep(self, rest: bytes, enough: int) -> None:
        self._parts, self._bytes = [rest], len(rest)
        self._enough = max(enough, SLICE_BYTES)

    def _begin(self) -> None:
        """Have the text begin with the array of items, if the first of them is in it."""
        text = b"".join(self._parts)
        for found in _BEGINNING.finditer(text):
            try:
                _LIST.decode(b"%b]}" % text[: found.end()])
            except msgspec.DecodeError:
                continue  # the word stands for something else, or deeper inside
            first = _FIRST_KEY.match(text, found.end())
            if first is not None:
                self._border = re.compile(rb"\}(\s*,\s*)(?=\{\s*" + re.escape(first[1]) + rb")")
                self._parts = [text[found.end() - 1 :]]
                return

    def _guesses(self, text: bytearray) -> Iterator[tuple[int, int]]:
        """Where an item may end and the next one begin, the last ones first."""
        if self._border is None:
            return
        window = SLICE_BYTES // 8
        found = list(self._border.finditer(text, max(0, len(text) - window))) or list(self._border.finditer(text))
        for border in reversed(found[-_GUESSES_MAX:]):
            yield border.start(1), border.end()
