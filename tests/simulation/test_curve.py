"""Loads as a command line writes them."""

import re

import pytest

from controller.simulation.curve import REST_S, parse_curve, parse_history


def test_a_number_is_the_same_for_ever() -> None:
    curve = parse_curve("4.5")
    assert [curve.at(0), curve.at(1e6)] == [4.5, 4.5]
    assert curve.end_s == REST_S


def test_a_wave_begins_at_its_lowest_point_and_is_seen_twice() -> None:
    curve = parse_curve("2~10/30m")
    assert [curve.at(minutes * 60) for minutes in (0, 15, 30, 45)] == pytest.approx([2, 10, 2, 10])
    assert curve.at(7.5 * 60) == pytest.approx(6)
    assert curve.end_s == 60 * 60


def test_lines_between_points_and_a_jump_where_two_are_at_one_time() -> None:
    curve = parse_curve("4@1m, 4@5m, 12@5m, 6@8m")
    assert [curve.at(0), curve.at(60), curve.at(299.9)] == [4, 4, 4]
    assert [curve.at(300), curve.at(390), curve.at(480), curve.at(1e6)] == [12, 9, 6, 6]
    assert curve.end_s == 8 * 60 + REST_S


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
    curve = parse_history("time,value\n# yesterday\n1700000000, 4\n\n1700000060,10\n1700000060 2\n")
    assert [curve.at(t_s) for t_s in (0, 30, 59.9, 60, 1e6)] == pytest.approx([4, 7, 9.99, 2, 2])
    assert curve.end_s == 60 + REST_S
    assert parse_history("2026-01-31T12:00:00Z\t3\n2026-01-31T12:00:30Z\t6").at(15) == 4.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no line of a time and a value in it"),
        ("time,value\n", "there is no line of a time and a value in it"),
        ("0 4\n1 4 5", "line 2: a time and a value are expected"),
        ("0 4\n1", "line 2: a time and a value are expected"),
        ("0 4\nsoon 4", "line 2: 'soon' is not an RFC 3339 time"),
        ("0 4\ninf 4", "line 2: 'inf' is no time"),
        ("0 4\n1 NaN", "line 2: 'NaN' is no load from 0 to 10000"),
        ("0 4\n9 4\n8 4", "line 3: 8 is before the time of the line above"),
    ],
)
def test_what_is_no_history_says_where(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_history(text)
