"""What kube-apiserver 1.36 made of each of these in a body in YAML."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.lab.objects.errors import ApiError
from controller.lab.scenario_files import load_scenario
from controller.lab.serving.negotiation import parse_yaml
from controller.lab.yaml_text import BodyLoader


def read(text: str) -> Any:
    return yaml.load(text, Loader=BodyLoader)  # noqa: S506 - derived from the safe loader


@pytest.mark.parametrize(
    "text",
    ["1:30", "-1:30", "190:20:30", "2020-01-01", "2001-12-14t21:59:43Z", "yEs", "tRUE", "nuLL", "_1", "1e", "0x",
     "0o8", "1e400", "=", "<<", "1-2"],
)  # fmt: skip
def test_what_stays_a_text(text: str) -> None:
    assert read(f"a: {text}") == {"a": text}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5), ("+5", 5), ("-5", -5), ("1_000", 1000), ("010", 8), ("0o10", 8), ("0O7", 7), ("0x10", 16),
        ("0X1F", 31), ("-0x10", -16), ("0b11", 3), ("08", 8.0), ("1.", 1.0), (".5", 0.5), ("1e3", 1000.0),
        ("1.5E3", 1500.0), ("1e-3", 0.001), ("685_230.15", 685230.15), ("99999999999999999999", 1e20),
        ("-9223372036854775808", -(2**63)), ("-9223372036854775809", -(2.0**63)), ("!!int '5'", 5),
    ],
)  # fmt: skip
def test_what_is_a_number(text: str, value: float) -> None:
    found = read(f"a: {text}")["a"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("text", ["9" * 400, "9" * 5000, "0x" + "f" * 400])
def test_a_number_beyond_all_bounds_is_a_text(text: str) -> None:
    assert read(f"a: {text}") == {"a": text}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("y", True), ("Y", True), ("yes", True), ("Yes", True), ("YES", True), ("on", True), ("ON", True),
        ("true", True), ("n", False), ("N", False), ("no", False), ("off", False), ("Off", False), ("FALSE", False),
        ("~", None), ("Null", None), ("", None),
    ],
)  # fmt: skip
def test_what_is_true_false_or_nothing(text: str, value: object) -> None:
    assert read(f"a: {text}") == {"a": value}


def test_quotes_make_texts() -> None:
    assert read("{a: 'y', b: \"1:30\", c: '5'}") == {"a": "y", "b": "1:30", "c": "5"}


def test_keys_are_texts() -> None:
    assert read("{1: a, yes: b, 1.5: c, 2020-01-01: d}") == {"1": "a", "true": "b", "1.5": "c", "2020-01-01": "d"}
    assert read("{<<: {a: 1, b: 2}, b: 3}") == {"a": 1, "b": 3}


@pytest.mark.parametrize("text", ["a: .inf", "a: -.Inf", "a: .nan", "{~: a}", "{[1]: a}", "!!map 5"])
def test_what_has_no_form_in_json_is_refused(text: str) -> None:
    with pytest.raises(yaml.YAMLError):
        read(text)


@pytest.mark.parametrize("body", [b"a: !!int b", b"a: !!float b", b"[" * 5000])
def test_a_body_that_cannot_be_read_is_refused(body: bytes) -> None:
    with pytest.raises(ApiError) as caught:
        parse_yaml(body)
    assert caught.value.code == 400


def test_manifests_are_read_in_the_same_way(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {at: 1:30, on: 2026-01-02}}")
    [placed] = load_scenario(path).objects
    assert placed.value["data"] == {"at": "1:30", "true": "2026-01-02"}
