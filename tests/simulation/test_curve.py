"""Loads as a command line writes them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.simulation.curve import REST_NS, VALUE_MAX, parse_curve, parse_history

SECOND_NS = 10**9
MINUTE_NS = 60 * SECOND_NS


def test_a_number_is_the_same_for_ever() -> None:
    curve = parse_curve("4.5")
    assert [curve.at(0), curve.at(10**15), curve.mean(-SECOND_NS, 0)] == [4.5, 4.5, 4.5]
    assert curve.end_ns == REST_NS
    assert [parse_curve(text).at(0) for text in ("0", "10000")] == [0, VALUE_MAX], "the least and the most"


def test_a_wave_begins_with_its_first_value_and_is_seen_twice() -> None:
    curve = parse_curve("2~10/30m")
    assert [curve.at(minutes * MINUTE_NS) for minutes in (0, 15, 30, 45)] == pytest.approx([2, 10, 2, 10])
    assert curve.at(450 * SECOND_NS) == pytest.approx(6)
    assert curve.end_ns == 60 * MINUTE_NS
    assert parse_curve("10~2/30m").at(0) == 10


def test_lines_between_points_and_a_jump_where_two_are_at_one_time() -> None:
    curve = parse_curve("4@1m, 4@5m, 12@5m, 6@8m")
    assert [curve.at(0), curve.at(MINUTE_NS), curve.at(5 * MINUTE_NS - 1)] == [4, 4, 4]
    assert [curve.at(seconds * SECOND_NS) for seconds in (300, 390, 480, 10**6)] == [12, 9, 6, 6]
    assert curve.end_ns == 8 * MINUTE_NS + REST_NS


@pytest.mark.parametrize("text", ["4", "2~10/7m", "3@0s,9@2m", "4@1m,4@5m,12@5m,6@8m", "1@3m,5@3m,2@3m"])
@given(begin_s=st.integers(-60, 600), length_s=st.integers(1, 300))
def test_a_mean_is_that_of_many_moments(text: str, begin_s: int, length_s: int) -> None:
    curve = parse_curve(text)
    looks = 2_000
    moments = [curve.at((begin_s * looks + length_s * look) * SECOND_NS // looks) for look in range(looks)]
    mean = curve.mean(begin_s * SECOND_NS, (begin_s + length_s) * SECOND_NS)
    assert mean == pytest.approx(sum(moments) / looks, abs=0.05)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is no load from 0 to 10000 such as 4, 2~10/30m or 4@0s,4@5m,12@5m"),
        ("four", "'four' is no load"),
        ("-1", "'-1' is no load"),
        ("nan", "'nan' is no load"),
        ("10001", "'10001' is no load"),
        ("2~3", "it has no period; a wave is written 2~10/30m"),
        ("2~x/1m", "'x' is no load"),
        ("2~3/0", "the period of a wave must be longer than 0s"),
        ("2~3/1", "'1' is not a duration such as 30s, 1m30s or 500ms"),
        ("2~3/-1m", "'-1m' is negative"),
        ("3@", "'' is not a duration"),
        ("3@1m,4", "'4' has no time; a point is written 12@5m"),
        ("3@5m,2@1m", "its points must be in the order of their times"),
    ],
)
def test_what_is_no_curve_says_why(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_curve(text)


def test_a_history_begins_with_its_first_line() -> None:
    curve = parse_history("# exported\n\ntime,value\n1700000000, 4\n\n1700000060,10\n1700000060 2\n")
    assert [curve.at(seconds * SECOND_NS) for seconds in (0, 30, 60, 10**6)] == pytest.approx([4, 7, 2, 2])
    assert curve.end_ns == MINUTE_NS + REST_NS
    assert parse_history("2026-01-31T12:00:00Z\t3\n2026-01-31T12:00:30Z\t6").at(15 * SECOND_NS) == 4.5
    assert parse_history("-8e298 4\n8e298 8").at(15 * SECOND_NS) == 4
    assert parse_history('"Time","rate_5m"\n"0","4"\n"0.5","8"\n').at(SECOND_NS // 4) == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no line of a time and a value in it"),
        ("time,value\n", "there is no line of a time and a value in it"),
        ("time,value\nTime,Value\n0 4", "line 2: 'Time' is not an RFC 3339 time"),
        ("0,NaN\n60,4", "line 1: 'NaN' is no load from 0 to 10000"),
        ("0,\n60,4", "line 1: '' is no load from 0 to 10000"),
        ("0;4\n1;5", "line 2: a time (seconds, or RFC 3339) and a value are expected"),
        ("2026-01-31 12:00:00,4", "line 1: a time (seconds, or RFC 3339) and a value are expected"),
        ("0 4\n1 4 5", "line 2: a time (seconds, or RFC 3339) and a value are expected"),
        ("0 4\n1", "line 2: a time (seconds, or RFC 3339) and a value are expected"),
        ("0 4\nsoon 4", "line 2: 'soon' is not an RFC 3339 time"),
        ("0 4\ninf 4", "line 2: 'inf' is no time"),
        ("0 4\n1e300 4", "line 2: '1e300' is no time"),
        ("-1e299 4\n1e299 4", "line 1: '-1e299' is no time"),
        ("0 4\n9 4\n8 4", "line 3: 8 is before the time of the line above"),
        ("9 4\n8 4", "line 2: 8 is before the time of the line above"),
    ],
)
def test_what_is_no_history_says_where(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_history(text)
