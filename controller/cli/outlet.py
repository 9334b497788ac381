"""Where a command that goes on writes to, for as long as that takes it."""

from collections.abc import Callable
from typing import TextIO


class Outlet:
    """A stream whose reader may leave (`| head`), or whose disk may be full.

    Whoever writes is not disturbed by that; nothing is written any more.

    Attributes:
        error: why not; None for as long as the stream takes what is written.
    """

    def __init__(self, stream: TextIO, left: Callable[[], None]) -> None:
        """`left` is called once, when the stream takes no more."""
        self._stream = stream
        self._left = left
        self.error: OSError | None = None

    def write(self, text: str) -> None:
        """Write it at once."""
        if self.error is not None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError as error:
            self.error = error
            self._left()
