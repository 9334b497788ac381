"""Durations as Go reads and prints them."""

import pytest

from controller.wire.durations import format_duration, parse_duration

SECOND = 10**9

READ = {
    "0": 0,
    "+0": 0,
    "-0": 0,
    "0s": 0,
    "30s": 30 * SECOND,
    "1m0.5s": 60_500_000_000,
    "1m30s": 90 * SECOND,
    "1h": 3600 * SECOND,
    "1.5h": 5400 * SECOND,
    ".5s": SECOND // 2,
    "1.s": SECOND,
    "100ms": SECOND // 10,
    "1us": 1000,
    "1µs": 1000,
    "1μs": 1000,
    "1ns": 1,
    "1s1m": 61 * SECOND,
    "-1m": -60 * SECOND,
    "+1m": 60 * SECOND,
    "9223372036854775807ns": 2**63 - 1,
}


@pytest.mark.parametrize("text", READ)
def test_read(text: str) -> None:
    assert parse_duration(text) == READ[text]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "s",
        ".s",
        "1",
        "1 s",
        " 1s",
        "1s ",
        "1d",
        "--1s",
        "1s-1s",
        "1e3s",
        "0.0.1s",
        "１s",
        "1S",
        "1" * 200 + "s",
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration such as 30s, 1m30s or 500ms"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["9223372036854775808ns", "2562048h", "-9999999999999999999s"])
def test_too_long(text: str) -> None:
    with pytest.raises(ValueError, match="is longer than a duration can be"):
        parse_duration(text)


PRINTED = {
    0: "0s",
    1: "1ns",
    1500: "1500ns",
    10**6: "1ms",
    SECOND // 2: "500ms",
    15 * SECOND: "15s",
    90 * SECOND: "1m30s",
    300 * SECOND: "5m0s",
    3600 * SECOND: "1h0m0s",
    60_500_000_000: "1m0.5s",
    -15 * SECOND: "-15s",
}


@pytest.mark.parametrize("duration_ns", PRINTED)
def test_printed(duration_ns: int) -> None:
    assert format_duration(duration_ns) == PRINTED[duration_ns]
    assert parse_duration(PRINTED[duration_ns]) == duration_ns
