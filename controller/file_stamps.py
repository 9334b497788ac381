"""Noticing that files were written or replaced, as mounted Secrets are."""

from collections.abc import Iterable
from pathlib import Path

Stamp = tuple[tuple[int, int, int] | None, ...]


def stamp_of(paths: Iterable[Path | str | None]) -> Stamp:
    """What differs once any of the files was written, replaced, made or removed; empty paths never do."""
    return tuple(_stamp(path) for path in paths)


def _stamp(path: Path | str | None) -> tuple[int, int, int] | None:
    if not path:
        return None
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
