"""Statuses that were sent: most come back in a watch event within milliseconds, and need not be decoded then."""

from typing import Final

from controller.decide.instants import NANOSECONDS
from controller.decide.status import Status

ECHOES_MAX: Final = 500
"""Half a megabyte. A few dozen are under way at once, and what was refused never comes back."""

_ESCAPES: Final = ((b"&", rb"\u0026"), (b"<", rb"\u003c"), (b">", rb"\u003e"))


class Echoes:
    """What decoding a status would give, by its JSON. HPAs may well say the same, so none is forgotten when heard."""

    def __init__(self, count_max: int = ECHOES_MAX) -> None:
        """`count_max`: of so many, the latest ones, it is remembered."""
        self._count_max = count_max
        self._expected: dict[bytes, Status] = {}

    def expect(self, encoded: bytes, status: Status) -> None:
        """Remember what was encoded as this text. With a fraction of a second it would not come back as it is."""
        if _comes_back(status):
            text = _as_go_writes_it(encoded)
            self._expected.pop(text, None)  # it is among the latest now
            self._expected[text] = status
            if len(self._expected) > self._count_max:
                del self._expected[next(iter(self._expected))]

    def heard(self, encoded: bytes) -> Status | None:
        """What this text says, if it is the same to the byte; None if it has to be decoded."""
        return self._expected.get(encoded)


def _comes_back(status: Status) -> bool:
    if status.last_scale_ns is not None and status.last_scale_ns % NANOSECONDS:
        return False
    for condition in status.conditions:  # noqa: SIM110 - a generator would cost as much as what it asks
        if condition.changed_ns % NANOSECONDS:
            return False
    return True


def _as_go_writes_it(encoded: bytes) -> bytes:
    """Go writes JSON that may stand in a web page. These characters are in texts only."""
    for character, escaped in _ESCAPES:
        if character in encoded:
            encoded = encoded.replace(character, escaped)
    return encoded
