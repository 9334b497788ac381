"""Lines out of a stream of bytes, however long they are and however the network cuts them."""

from collections.abc import Iterator
from typing import Final

LINE_BYTES_MAX: Final = 64 * 1024 * 1024
"""A watch line longer than this is no object of Kubernetes (etcd holds 1.5 MiB) but an attack on our memory."""


class LineTooLong(ValueError):
    """The line exceeds LINE_BYTES_MAX."""


class Lines:
    """Feed it chunks, get complete lines without their newline; `rest` is what has come after the last of them."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._bytes = 0

    @property
    def rest(self) -> bytes:
        """The beginning of a line that is not complete."""
        return b"".join(self._parts)

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that this chunk completes, blank ones left out.

        Raises:
            LineTooLong: no newline within LINE_BYTES_MAX.
        """
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            line = chunk[start:end]
            if self._parts:
                self._parts.append(line)
                line = b"".join(self._parts)
                self._parts.clear()
                self._bytes = 0
            if line.strip():
                yield line
            start = end + 1
        if start < len(chunk):
            self._parts.append(chunk[start:])
            self._bytes += len(chunk) - start
            if self._bytes > LINE_BYTES_MAX:
                raise LineTooLong(f"a line is longer than {LINE_BYTES_MAX} bytes")
