"""Shards packed and unpacked in one go, as tests want them; the controller does it in steps."""

from controller.lasting.shards import BYTES_MAX, Shard, decoding, encoding


def encode(shard: Shard, bytes_max: int = BYTES_MAX) -> bytes:
    """What `encoding` comes to."""
    return next(filter(None, encoding(shard, bytes_max)))


def decode(packed: bytes) -> Shard:
    """What `decoding` comes to. Raises DamagedError."""
    return next(filter(None, decoding(packed)))
