"""Lines appended to files of a folder that is never larger than it may be."""

import contextlib
import errno
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Final

FILE_BYTES_MAX: Final = 64 * 1024 * 1024
FILES_MIN: Final = 8
"""Into so many files a folder is divided at least, so that deleting the oldest one loses little."""

_NAME: Final = re.compile(r"hpa-[0-9A-Za-z]+-[0-9a-f]+-[0-9]{6,}\.jsonl\.gz")
_GZIP: Final = 31
_FAST: Final = 1
_TRAILER_BYTES: Final = 32


class Segments:
    """Files of one run, gzip-compressed, the next one begun when one is full, the oldest of the folder deleted.

    What has been appended can be read at once, and after a crash: the compressor is flushed after every batch. Where a
    batch cannot be written, nothing of it is kept and the file is as it was before. Where somebody has deleted the
    file, be it another process that makes room in the same folder, the next one is begun. Methods may be called from
    any thread, one at a time.

    Attributes:
        path: the file that is being written, None between two.
        bytes_written: of all files of this run, compressed.
    """

    def __init__(self, folder: Path, stem: str, *, header: Callable[[int], bytes], bytes_max: int) -> None:
        """`stem`: of the files' names, `hpa-TIME-RUN`. `header` gives the first line of a part.

        `bytes_max` is for all files in the folder that are called as ours are, those of earlier runs included.
        """
        self._folder = folder
        self._stem = stem
        self._header = header
        self._bytes_max = bytes_max
        self._file_bytes_max = min(FILE_BYTES_MAX, bytes_max // FILES_MIN)
        self._part = 0
        self._file: IO[bytes] | None = None
        self._compressor = zlib.compressobj(_FAST, zlib.DEFLATED, _GZIP)
        self._size = 0
        self._holds_lines = False
        self.path: Path | None = None
        self.bytes_written = 0

    def open(self) -> None:
        """Make the folder if need be and begin the first file, unless that has been done.

        Raises:
            OSError: it cannot be done.
        """
        if self._file is None:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._begin()

    def append(self, lines: Sequence[bytes]) -> None:
        """Write whole lines, each with its newline.

        Raises:
            OSError: they could not be written; none of them was.
        """
        if self._file is not None and not os.fstat(self._file.fileno()).st_nlink:
            self.close()
        self.open()
        batch = b"".join(lines)
        after = self._compressor.copy()
        data = after.compress(batch) + after.flush(zlib.Z_SYNC_FLUSH)
        if self._holds_lines and self._size + len(data) + _TRAILER_BYTES > self._file_bytes_max:
            self.close()
            self.open()
            after = self._compressor.copy()
            data = after.compress(batch) + after.flush(zlib.Z_SYNC_FLUSH)
        size = self._size + len(data) + _TRAILER_BYTES
        if size > self._file_bytes_max:
            self._make_room(size)
        self._write(data)
        self._compressor = after
        self._holds_lines = True

    def close(self) -> None:
        """End the file; the next append begins another one.

        Raises:
            OSError: what was written may not have reached the disk.
        """
        if self._file is None:
            return
        file, self._file, self.path = self._file, None, None
        with contextlib.closing(file):
            file.write(self._compressor.flush(zlib.Z_FINISH))
            os.fsync(file.fileno())

    def _begin(self) -> None:
        part = self._part + 1
        path = self._folder / f"{self._stem}-{part:06}.jsonl.gz"
        self._make_room(self._file_bytes_max)
        path.touch(mode=0o600, exist_ok=False)
        file = path.open("wb", buffering=0)
        self._file, self._size, self._holds_lines = file, 0, False
        compressor = zlib.compressobj(_FAST, zlib.DEFLATED, _GZIP)
        try:
            self._write(compressor.compress(self._header(part)) + compressor.flush(zlib.Z_SYNC_FLUSH))
        except OSError:
            self._file = None
            file.close()
            path.unlink(missing_ok=True)
            raise
        self._compressor, self._part, self.path = compressor, part, path

    def _make_room(self, file_bytes: int) -> None:
        """Delete the oldest files until ours may have so many bytes.

        Raises:
            OSError: it may not, or they cannot be deleted.
        """
        room = self._bytes_max - file_bytes
        if room < 0:
            raise OSError(errno.EFBIG, f"larger than all recordings together may be, {self._bytes_max} bytes")
        found = sorted(one for one in _recordings(self._folder) if one[2] != self.path)
        total = sum(size for _, size, _ in found)
        for _, size, path in found:
            if total <= room:
                return
            path.unlink(missing_ok=True)
            total -= size

    def _write(self, data: bytes) -> None:
        """All of the data, or an OSError and nothing of it."""
        assert self._file is not None  # noqa: S101 - the callers have opened it
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            # A full disk takes a part; what would come after it could not be read.
            try:
                self._file.truncate(self._size)
                self._file.seek(self._size)
            except OSError:
                self._file.close()
                self._file = self.path = None
            raise
        self._size += len(data)
        self.bytes_written += len(data)


def _recordings(folder: Path) -> Iterator[tuple[int, int, Path]]:
    """Age (modification time), size and path of every file that is called as ours are."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name):
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    yield status.st_mtime_ns, status.st_size, Path(entry.path)
