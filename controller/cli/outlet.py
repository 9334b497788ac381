"""Where a command that goes on writes to, for as long as somebody reads it."""

from collections.abc import Callable
from typing import TextIO


class Outlet:
    """A stream whose reader may leave (`| head`): whoever writes is not disturbed by that, nothing is written any more.

    Attributes:
        closed: whether the reader has left.
    """

    def __init__(self, stream: TextIO, left: Callable[[], None]) -> None:
        """`left` is called once, when the reader has."""
        self._stream = stream
        self._left = left
        self.closed = False

    def write(self, text: str) -> None:
        """Write it at once."""
        if self.closed:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except BrokenPipeError:
            self.closed = True
            self._left()
