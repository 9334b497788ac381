"""Damage: seeded ways to spoil a document, in its structure, in its values and in its bytes."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

import msgspec

DEPTH: Final = 100_000
"""How deep the bombs are nested."""

MEGABYTE: Final = 1_000_000

NUMBERS: Final = (
    b"0", b"-0", b"-1", b"2147483647", b"2147483648", b"-2147483649", b"9223372036854775807", b"9223372036854775808",
    b"-9223372036854775809", b"1e400", b"-1e400", b"1e-400", b"1e309", b"0.1", b"1.5e3", b"NaN", b"Infinity",
    b"-Infinity", b"01", b"1.", b".5", b"+1", b"0x10", b"1_000", b"9" * 400, b"1e2147483648", b"-0.0",
)  # fmt: skip
"""Numbers as JSON has them, and as it has not."""

QUANTITIES: Final = (
    "NaN", "Inf", "-Inf", "1e400", "-0", "+5", "١٢", "9" * 400, "1" * 257, "-1", "-100m", "1e", "1E", "1Ei", "8Ei",
    "9223372036854775807", "9223372036854775808", "1e-400", "0.0000000001", "1n", "1u", "1µ", "1x", "1mm", "1 Gi", " 1",
    "1\n", "1\x00", "", ".", "-", "1.2.3", "0x1F", "1_0", "１２", "1e9999999999", "1e-9999999999", "1Kib", "∞", "½",
)  # fmt: skip
"""Quantities at the edges of what there is, and beyond."""

TIMES: Final = (
    "0001-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59",
    "10000-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1600-02-29T00:00:00Z", "2026-02-30T00:00:00Z",
    "2016-12-31T23:59:60Z", "2026-01-31T24:00:00Z", "2026-01-31t12:00:00z", "2026-01-31 12:00:00Z",
    "2026-01-31T12:00:00", "2026-01-31T12:00:00+24:00", "2026-01-31T12:00:00.123456789123Z", "2026-01-31T12:00:00,5Z",
    "2026-01-31T12:00:00." + "1" * 400 + "Z", "٢٠٢٦-01-31T12:00:00Z", "-2026-01-31T12:00:00Z", "now",
    "2226-01-01T00:00:00Z",
    "2026-1-31T12:00:00Z", "2026-01-31T12:00Z", "2026-01-31T12:00:00+0000", "2026-01-31T12:00:00-00:00",
)  # fmt: skip
"""Moments years off, leap seconds and the oddities of RFC 3339."""

TEXTS: Final = (
    "", " ", "\n", "a\nb", "\x00", "\x1b[31mred", "\u2028", "\ufeff", "a" * 300, "é" * 254, "../..", "a/b", "%2e%2e",
    "a,b=c", "In", "Deployment", "Utilization", "apps/v1", "v1", "1", "true", "null", "{}", "a=b", "!a", "x in (",
    "-1s", "1h" * 60, "9" * 30 + "h", "1e9s", "Resource", "Object", "Disabled", "True", "\U0001f4a3", "__proto__",
)  # fmt: skip
"""Texts that mean something to somebody."""

_RAW_TEXTS: Final = (
    b'"\\ud800"',
    b'"\\udc00\\ud800"',
    b'"\xff"',
    b'"\xc0\x80"',
    b'"\xed\xa0\x80"',
    b'"\\u0000"',
    b'"\\x"',
)
_TEXTS_RAW: Final = tuple(map(msgspec.json.encode, (*QUANTITIES, *TIMES, *TEXTS)))
_TOKENS: Final = (*NUMBERS, *_RAW_TEXTS, *_TEXTS_RAW, b"true", b"false", b"null", b"[]", b"{}", b"[null]", b'{"":null}')
_BYTES: Final = (
    b"\x00",
    b"\xff",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xc0\x80",
    b'"',
    b"\\",
    b"{",
    b"]",
    b"\n",
    b",",
)

Slot = tuple[Any, Any]
"""A list or object, and an index or key in it."""


def encoded(tree: object) -> bytes:
    """The document as JSON; parts that are damaged beyond what Python values can be are in it as they are."""
    return msgspec.json.encode(tree)


def slots(tree: object) -> list[Slot]:
    """Every place of a document that holds a value."""
    found: list[Slot] = []
    left = [tree]
    while left:
        holder: Any = left.pop()
        keys = holder if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            found.append((holder, key))
            left.append(holder[key])
    return found


def bomb(random: Random) -> bytes:
    """JSON of lists or objects that is nested deeply; now and then nobody closes it."""
    opening, closing = random.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")))
    return opening * DEPTH + b"1" + (closing * DEPTH if random.random() < 0.8 else b"")


def huge(random: Random) -> bytes:
    """A megabyte of one number, text or list."""
    return random.choice(
        (b"9" * MEGABYTE, b"0." + b"1" * MEGABYTE, b'"' + b"a" * MEGABYTE + b'"', b'"' + b"9" * MEGABYTE + b'"',
         b"[" + b"0," * (MEGABYTE // 2) + b"0]", b"1e" + b"9" * MEGABYTE)
    )  # fmt: skip


def spoiled(random: Random, document: bytes, hits: int = 1, *, heavy: float = 0.0) -> bytes:
    """The document, damaged so many times; `heavy` is the share of bombs and megabytes among damaged values."""
    tree = msgspec.json.decode(document)
    for _ in range(hits):
        places = slots(tree)
        if not places:
            break
        if random.random() < heavy:
            holder, key = random.choice(places)
            holder[key] = msgspec.Raw(random.choice((bomb, huge))(random))
        else:
            random.choice(STRUCTURAL)(random, places)
    return encoded(tree)


def _drop(random: Random, places: Sequence[Slot]) -> None:
    holder, key = random.choice(places)
    del holder[key]


def _retype(random: Random, places: Sequence[Slot]) -> None:
    holder, key = random.choice(places)
    holder[key] = msgspec.Raw(random.choice(_TOKENS))


def _nothing(random: Random, places: Sequence[Slot]) -> None:
    holder, key = random.choice(places)
    holder[key] = None


def _nest(random: Random, places: Sequence[Slot]) -> None:
    holder, key = random.choice(places)
    value = holder[key]
    holder[key] = random.choice(
        ([value], {"value": value}, [value, value], {key if isinstance(key, str) else "a": value})
    )


def _exchange(random: Random, places: Sequence[Slot]) -> None:
    (one, here), (other, there) = random.choice(places), random.choice(places)
    # Encoded, so that a thing may come to lie within itself.
    one_value, other_value = encoded(one[here]), encoded(other[there])
    one[here], other[there] = msgspec.Raw(other_value), msgspec.Raw(one_value)


def _turn(random: Random, places: Sequence[Slot]) -> None:
    """A list becomes an object and an object a list; anything else is cut in two."""
    holder, key = random.choice(places)
    match value := holder[key]:
        case list():
            holder[key] = {str(index): item for index, item in enumerate(value)}
        case dict():
            holder[key] = [[name, item] for name, item in value.items()]
        case _:
            holder[key] = [value, value]


def _rename(random: Random, places: Sequence[Slot]) -> None:
    holder, key = random.choice(places)
    if isinstance(holder, dict):
        holder[random.choice((key.upper(), key + " ", "", "é", key + "s", *TEXTS))] = holder.pop(key)
    else:
        random.shuffle(holder)


def _twice(random: Random, places: Sequence[Slot]) -> None:
    """A list's entry comes twice; so does an object's key, with another value the second time."""
    holder, key = random.choice(places)
    if isinstance(holder, list):
        holder.insert(random.randrange(len(holder) + 1), holder[key])
        return
    inner = holder[key]
    if isinstance(inner, dict) and inner:
        name = random.choice(list(inner))
        again = msgspec.json.encode(name) + b":" + random.choice(_TOKENS)
        holder[key] = msgspec.Raw(encoded(inner)[:-1] + b"," + again + b"}")
    else:
        holder[key] = [inner] * random.choice((2, 50))


STRUCTURAL: Final[tuple[Callable[[Random, Sequence[Slot]], None], ...]] = (
    _drop, _retype, _retype, _retype, _retype, _nothing, _nest, _exchange, _turn, _rename, _twice,
)  # fmt: skip


def broken(random: Random, document: bytes) -> bytes:
    """The document with damaged bytes: flipped, cut off, overwritten, moved, or with something before or behind it."""
    at = random.randrange(len(document) + 1)
    match random.randrange(8):
        case 0:
            return document[:at]
        case 1:
            flipped = bytearray(document or b" ")
            for _ in range(random.choice((1, 1, 8))):
                flipped[random.randrange(len(flipped))] ^= 1 << random.randrange(8)
            return bytes(flipped)
        case 2:
            return document[:at] + random.choice(_BYTES) + document[at:]
        case 3:
            return document[:at] + random.choice(_BYTES) + document[at + 1 :]
        case 4:
            return b"\xef\xbb\xbf" + document
        case 5:
            return document + random.choice((b"}", b"garbage", b"\x00", document, b"\n" + document, b" 1"))
        case 6:
            end = min(len(document), at + random.randrange(1, 40))
            return document[:at] + document[end:]
        case _:
            return random.choice(
                (document.decode("utf-8", "replace").encode("utf-16"), b"\x1f\x8b\x08" + document, b"")
            )
