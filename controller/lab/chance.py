"""Chance that repeats: numbers that follow from a seed and from names, not from the order of events."""

from __future__ import annotations

import hashlib

_BITS = 64


def fraction(*names: object) -> float:
    """A number from 0 up to but not including 1, the same for the same names in every run."""
    text = "\0".join(map(str, names))
    digest = hashlib.blake2b(text.encode(), digest_size=_BITS // 8).digest()
    # Only 53 bits fit into a float; more would round up to 1.
    return (int.from_bytes(digest) >> 11) / 2**53


def spread(around: float, share: float, *names: object) -> float:
    """A number around another one, at most by a share of it more or less."""
    return around * (1 + share * (2 * fraction(*names) - 1))
