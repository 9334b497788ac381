"""YAML 1.1 scalars: the JSON that sigs.k8s.io/yaml (Go) makes of each."""

import json
from typing import Any

import pytest

from controller.manifest import json_text, yaml_text
from controller.manifest.tree import Node, Number, TextError

TABLE = {
    "0": "0", "1": "1", "-1": "-1", "+5": "5", "007": "7", "08": "8", "0o17": "15", "0O17": "15", "0x1F": "31",
    "0X1f": "31", "0b101": "5", "-0b11": "-3", "+0x10": "16", "0b12": '"0b12"', "0x": '"0x"', "1_000": "1000",
    "_1": '"_1"', "1__0_": "10", "0x_1": "1", "1_0.5": "10.5", "1_0e1_0": "100000000000", ".1_8": "0.18",
    ".1_": '".1_"', "1e3": "1000", "1E-7": "1e-7", "1e-6": "0.000001", "1e20": "100000000000000000000", "1e21": "1e+21",
    "12345678901234567890123": "1.2345678901234568e+22", "18446744073709551615": "18446744073709552000",
    "18446744073709551616": "18446744073709552000", "+9223372036854775808": "9223372036854776000",
    "-9223372036854775808": "-9223372036854775808", "-9223372036854775809": "-9223372036854776000", ".5": "0.5",
    "-.5": "-0.5", "1.": "1", "1.e2": "100", "-0": "0", "-0.0": "-0", "10.0": "10", "0.05": "0.05", "1e400": '"1e400"',
    "1e-400": "0", ".": '"."', "1:30": '"1:30"', "1.5Gi": '"1.5Gi"', "2001-01-01": '"2001-01-01"',
    "2001-1-1 1:2:3": '"2001-1-1 1:2:3"', "2001-01-01T00:00:00Z": '"2001-01-01T00:00:00Z"', "yes": "true", "y": "true",
    "On": "true", "TRUE": "true", "tRue": '"tRue"', "no": "false", "N": "false", "off": "false", "~": "null",
    "null": "null", "Null": "null", "": "null", "NaN": '"NaN"', "Infinity": '"Infinity"', "abc": '"abc"', '"5"': '"5"',
    "'yes'": '"yes"', "! 5": '"5"', '! "5"': '"5"', "!!str 5": '"5"', '!!int "5"': "5", "!!float 5": "5",
    "!!bool yes": "true", "!!null ~": "null", "!!binary aGVsbG8=": '"hello"', "!own 5": '"5"',
    "!!timestamp 2001-01-01": '"2001-01-01"', "=": '"="', '"a\\\n  b"': '"ab"', "{1: a}": '{"1": "a"}',
    "{1.5: a}": '{"1.5": "a"}', "{1e6: a}": '{"1e+06": "a"}', "{123456789.5: a}": '{"1.2345679e+08": "a"}',
    "{0.00001: a}": '{"1e-05": "a"}',
    "{0.0001: a}": '{"0.0001": "a"}', "{+9223372036854775808: a}": '{"9.223372e+18": "a"}',
    "{9223372036854775808: a}": '{"9223372036854775808": "a"}',
    "{.inf: a}": '{".inf": "a"}', "{1e300: a}": '{".inf": "a"}',
    "{18446744073709551615: a}": '{"18446744073709551615": "a"}',
    "{18446744073709551616: a}": '{"1.8446744e+19": "a"}', "{-.inf: a}": '{"-.inf": "a"}', "{.nan: a}": '{".nan": "a"}',
    "{-1e300: a}": '{"-.inf": "a"}', "{0.0: a}": '{"0": "a"}', "{100.0: a}": '{"100": "a"}',
    "1.5e-7": "1.5e-7", "!<int> 5": '"5"', "1" * 5000: f'"{"1" * 5000}"',
    "{true: a}": '{"true": "a"}', "{0x10: a}": '{"16": "a"}', "[y, n]": "[true, false]", "{? a : 1}": '{"a": 1}',
}  # fmt: skip


@pytest.mark.parametrize("text", TABLE, ids=lambda text: text[:30])
def test_scalar(text: str) -> None:
    node = yaml_text.read(f"value: {text}\n")
    assert node is not None
    assert _plain(node) == {"value": _numbers(TABLE[text])}


SENT = {
    "3.0": "3", "1e1": "10", "0.3E+1": "3", "1.5": "1.5", "-0": "0", "1e20": "100000000000000000000", "1e21": "1e+21",
    "9223372036854775807": "9223372036854775807", "9223372036854775808": "9223372036854776000",
    "-9223372036854775808": "-9223372036854775808", "-9223372036854775809": "-9223372036854776000",
    "12345678901234567890": "12345678901234567000", "1" + "0" * 5000: "1" + "0" * 5000, "1e400": "1e400", "5e-400": "0",
}  # fmt: skip


@pytest.mark.parametrize("text", SENT, ids=lambda text: text[:30])
def test_number_of_a_json_document(text: str) -> None:
    """kubectl sends what it has read; the API server reads an annotation as it is."""
    assert _plain(json_text.Reader(text).value()) == Number(SENT[text])
    assert _plain(json_text.read(text)) == Number(text)


@pytest.mark.parametrize(
    "text",
    [
        *(".inf", "-.INF", ".nan"),
        *("!!int 1.5", "!!int yes", "!!int 2001-01-01", "!!null x", "!!bool 5", '!!binary "$"', "!!timestamp 5"),
    ],
)
def test_what_json_does_not_know(text: str) -> None:
    with pytest.raises(TextError) as caught:
        yaml_text.read(f"\nvalue: {text}\n", 5)
    assert caught.value.line == 6


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # yaml.v2 lets a merge replace what stands before it.
        (["q: 9", "<<: *x"], {"p": 1, "q": 2}),
        (["<<: *x", "q: 9"], {"p": 1, "q": 9}),
        (["<<: [*x, *y]"], {"p": 1, "q": 2}),
        (["<<: [*y, *x]"], {"p": 1, "q": 3}),
        (["<<: {r: 4}"], {"r": 4}),
        (['"<<": 5'], {"<<": 5}),
    ],
)
def test_merge(lines: list[str], expected: dict[str, Any]) -> None:
    text = "x: &x {p: 1, q: 2}\ny: &y {q: 3}\nm:\n" + "".join(f"  {line}\n" for line in lines)
    node = yaml_text.read(text)
    assert node is not None
    assert _plain(node)["m"] == _numbers(json.dumps(expected))


def _plain(node: Node) -> Any:
    match node.value:
        case dict():
            return {key: _plain(item) for key, item in node.value.items()}
        case list():
            return [_plain(item) for item in node.value]
        case _:
            return node.value


def _numbers(text: str) -> Any:
    return json.loads(text, parse_int=Number, parse_float=Number)
