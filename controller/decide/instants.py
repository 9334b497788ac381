"""Instants as integers: nanoseconds since the Unix epoch, exact and cheap to compare."""

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

import msgspec

NANOSECONDS: Final = 1_000_000_000

ZERO_TIME_NS: Final = -62_135_596_800 * NANOSECONDS
"""0001-01-01T00:00:00Z: what a time that Kubernetes requires but nobody set is compared as."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_RFC3339: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2})(?:[.,]([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})"
)


class Now(msgspec.Struct, frozen=True, gc=False):
    """The moment of a sync, read once.

    Attributes:
        wall_ns: nanoseconds since the Unix epoch; compared with times inside Kubernetes objects (§8.2, §14).
        monotonic_ns: nanoseconds on a clock that never jumps; recommendations and scale events live on it (§28.2).
    """

    wall_ns: int
    monotonic_ns: int


@lru_cache(maxsize=1_024)  # the same few moments come again and again: pods of a rollout, samples of a scrape
def parse_rfc3339(text: str) -> int:
    """Nanoseconds since the epoch for an RFC 3339 time; digits beyond nanoseconds are dropped.

    Raises:
        ValueError: not an RFC 3339 time, or outside the years 1 to 9999 in UTC; the message names the text.
    """
    matched = _RFC3339.fullmatch(text)
    if matched is None:
        raise ValueError(f"{text[:60]!r} is not an RFC 3339 time such as 2026-01-31T12:00:00Z")
    seconds, fraction, zone = matched.groups()
    try:
        since_epoch = datetime.fromisoformat(seconds + zone).astimezone(UTC) - _EPOCH
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text[:60]!r} is no time: {error}") from error
    whole = since_epoch.days * 86_400 + since_epoch.seconds
    return whole * NANOSECONDS + (int(fraction[:9].ljust(9, "0")) if fraction else 0)


def format_rfc3339(instant_ns: int) -> str:
    """RFC 3339 in UTC, truncated to whole seconds: the form Kubernetes objects carry (§14.4).

    Raises:
        ValueError: before the year 1 or after the year 9999.
    """
    return _second(instant_ns // NANOSECONDS)


@lru_cache(maxsize=1_024)  # the conditions of thousands of HPAs changed in the same few seconds
def _second(since_epoch_s: int) -> str:
    days, seconds = divmod(since_epoch_s, 86_400)
    try:
        date = datetime.fromordinal(_EPOCH.toordinal() + days)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{since_epoch_s} s since the epoch is outside the years 1 to 9999") from error
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{date.year:04}-{date.month:02}-{date.day:02}T{hour:02}:{minute:02}:{second:02}Z"


def format_rfc3339_ms(instant_ns: int) -> str:
    """RFC 3339 in UTC, truncated to milliseconds: the form of recordings and of what is shown.

    Raises:
        ValueError: before the year 1 or after the year 9999.
    """
    milliseconds = instant_ns // 1_000_000 % 1_000
    return f"{format_rfc3339(instant_ns)[:-1]}.{milliseconds:03}Z"
