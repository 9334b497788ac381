"""Times of Kubernetes objects as integers, and back (§14.4)."""

import pytest

from controller.decide.instants import (
    NANOSECONDS,
    ZERO_TIME_NS,
    format_rfc3339,
    format_rfc3339_ms,
    parse_rfc3339,
)

NOON = 1_769_860_800

READ = {
    "1970-01-01T00:00:00Z": 0,
    "2026-01-31T12:00:00Z": NOON * NANOSECONDS,
    "2026-01-31T12:00:00.5Z": NOON * NANOSECONDS + 500_000_000,
    "2026-01-31T12:00:00,5Z": NOON * NANOSECONDS + 500_000_000,
    "2026-01-31T12:00:00.000000001Z": NOON * NANOSECONDS + 1,
    "2026-01-31T12:00:00.1234567899Z": NOON * NANOSECONDS + 123_456_789,
    "2026-01-31T12:00:00+00:00": NOON * NANOSECONDS,
    "2026-01-31T17:30:00+05:30": NOON * NANOSECONDS,
    "2026-01-31T02:00:00-10:00": NOON * NANOSECONDS,
    "2024-02-29T00:00:00Z": 1_709_164_800 * NANOSECONDS,
    "1969-12-31T23:59:59.25Z": -750_000_000,
    "0001-01-01T00:00:00Z": ZERO_TIME_NS,
    "9999-12-31T23:59:59Z": 253_402_300_799 * NANOSECONDS,
}


@pytest.mark.parametrize("text", READ)
def test_read(text: str) -> None:
    assert parse_rfc3339(text) == READ[text]


PRINTED = {
    0: "1970-01-01T00:00:00Z",
    NOON * NANOSECONDS + 999_999_999: "2026-01-31T12:00:00Z",
    -1: "1969-12-31T23:59:59Z",
    ZERO_TIME_NS: "0001-01-01T00:00:00Z",
    253_402_300_799 * NANOSECONDS: "9999-12-31T23:59:59Z",
}


@pytest.mark.parametrize("instant_ns", PRINTED)
def test_printed(instant_ns: int) -> None:
    assert format_rfc3339(instant_ns) == PRINTED[instant_ns]
    assert parse_rfc3339(format_rfc3339_ms(instant_ns)) == instant_ns // 1_000_000 * 1_000_000
    assert parse_rfc3339(PRINTED[instant_ns]) == instant_ns // NANOSECONDS * NANOSECONDS


REFUSED = (
    "",
    "now",
    "2026-01-31",
    "2026-01-31T12:00:00",
    "2026-01-31 12:00:00Z",
    "2026-01-31t12:00:00z",
    "2026-01-31T12:00:00.Z",
    "2026-01-31T12:00Z",
    "2026-01-31T12:00:00Z ",
    "26-01-31T12:00:00Z",
    "２026-01-31T12:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-01-31T24:00:00Z",
    "2026-01-31T23:59:60Z",
    "2026-01-31T12:00:00+24:00",
    "0000-12-31T00:00:00Z",
    # In years that cannot be printed again, once in UTC.
    "0001-01-01T00:00:00+05:00",
    "9999-12-31T23:59:59-05:00",
)


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    with pytest.raises(ValueError, match=" time") as raised:
        parse_rfc3339(text)
    assert repr(text) in str(raised.value)


def test_a_day_that_there_is_not_is_told_from_what_is_not_written_as_a_time() -> None:
    with pytest.raises(ValueError, match=r"^'2026-02-30T00:00:00Z' is no time: \S"):
        parse_rfc3339("2026-02-30T00:00:00Z")


@pytest.mark.parametrize("instant_ns", [ZERO_TIME_NS - 1, 253_402_300_800 * NANOSECONDS, 10**40, -(10**40)])
def test_not_printable(instant_ns: int) -> None:
    with pytest.raises(ValueError, match="outside the years 1 to 9999"):
        format_rfc3339(instant_ns)
