"""Scales: as their subresource answers, as the object they stand for would answer, and as they are written (§19.4)."""

from typing import Literal

import msgspec
import pytest

from controller.decide.observed import Scale
from controller.wire.errors import WireError
from controller.wire.scales import NamedScale, decode_scale, decode_workload, scale_to

METADATA = {"name": "web", "namespace": "shop", "uid": "u-1", "resourceVersion": "17"}


def encoded(**fields: object) -> bytes:
    return msgspec.json.encode({"metadata": METADATA} | fields)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"spec": {"replicas": 3}, "status": {"replicas": 4, "selector": "app=web"}},
            Scale(3, 4, "app=web", "u-1", "17"),
        ),
        ({"spec": {}, "status": {"replicas": 1}}, Scale(0, 1, "", "u-1", "17")),
        ({"spec": None, "status": None}, Scale(0, 0, "", "u-1", "17")),
        ({}, Scale(0, 0, "", "u-1", "17")),
    ],
    ids=["whole", "zero is left out", "null", "absent"],
)
def test_scale(fields: dict[str, object], expected: Scale) -> None:
    assert decode_scale(encoded(**fields)) == expected


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("app == web", "app == web"),
        ("tier in (a,b,b),app=web", "tier in (a,b,b),app=web"),
        ("!old,app,tier notin (a)", "!old,app,tier notin (a)"),
        ("app=web,app=shop", "app=shop"),
        ("app in (web),app=web", "app=web,app in (web)"),
        (" \t", ""),
    ],
)
def test_the_selector_of_a_scale_means_what_an_object_can_say(said: str, read: str) -> None:
    """§19.4: upstream's scale client makes it an object first."""
    assert decode_scale(encoded(status={"selector": said})).selector == read


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("app=we b", "found 'b', expected ',' or the end"),
        ("app!=web", "!= has no form in a label selector object"),
        ("version>1", "> has no form in a label selector object"),
        ("version<1", "< has no form in a label selector object"),
    ],
)
def test_a_scale_whose_selector_has_no_form_as_an_object_cannot_be_read(said: str, problem: str) -> None:
    with pytest.raises(WireError) as raised:
        decode_scale(encoded(status={"selector": said}))
    assert (raised.value.path, raised.value.problem) == ("status.selector", problem)


LABELS = {"matchLabels": {"tier": "front", "app": "web"}, "matchExpressions": [{"key": "x", "operator": "Exists"}]}

WORKLOADS: dict[str, tuple[Literal["Deployment", "ReplicationController"], dict[str, object], Scale]] = {
    "Deployment": (
        "Deployment",
        {"spec": {"replicas": 3, "selector": LABELS}, "status": {"replicas": 4}},
        Scale(3, 4, "app=web,tier=front,x", "u-1", "17"),
    ),
    "replicas left out are 1": (
        "Deployment",
        {"spec": {"selector": LABELS}},
        Scale(1, 0, "app=web,tier=front,x", "u-1", "17"),
    ),
    "zero replicas": ("Deployment", {"spec": {"replicas": 0}, "status": {}}, Scale(0, 0, "", "u-1", "17")),
    "ReplicationController": (
        "ReplicationController",
        {"spec": {"replicas": 3, "selector": {"b": "2", "a": "1"}}, "status": {"replicas": 2}},
        Scale(3, 2, "a=1,b=2", "u-1", "17"),
    ),
    "ReplicationController without selector": ("ReplicationController", {"spec": {}}, Scale(1, 0, "", "u-1", "17")),
    "no spec": ("ReplicationController", {}, Scale(1, 0, "", "u-1", "17")),
    "a Deployment without spec": ("Deployment", {"spec": None}, Scale(1, 0, "", "u-1", "17")),
}


@pytest.mark.parametrize(("kind", "fields", "expected"), WORKLOADS.values(), ids=WORKLOADS)
def test_workload(
    kind: Literal["Deployment", "ReplicationController"], fields: dict[str, object], expected: Scale
) -> None:
    assert decode_workload(encoded(**fields), kind) == NamedScale("shop", "web", expected)


REFUSED: dict[str, tuple[bytes, str]] = {
    "no metadata": (b"{}", "Object missing required field `metadata`"),
    "text": (encoded(spec={"replicas": "3"}), "Expected `int | null`, got `str` - at `$.spec.replicas`"),
    "beyond int32": (encoded(spec={"replicas": 2**31}), "Expected `int` <= 2147483647 - at `$.spec.replicas`"),
    "no object": (b"[]", "Expected `object`, got `array`"),
    "no JSON": (b"{", "Input data was truncated"),
}


@pytest.mark.parametrize(("body", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(body: bytes, message: str) -> None:
    for decode in (decode_scale, lambda text: decode_workload(text, "Deployment")):
        with pytest.raises(WireError) as raised:
            decode(body)
        assert str(raised.value) == message


def test_a_selector_that_is_none() -> None:
    broken = {"matchExpressions": [{"key": "x", "operator": "Near"}]}
    with pytest.raises(WireError, match="'Near' is not a valid label selector operator"):
        decode_workload(encoded(spec={"selector": broken}), "Deployment")


def test_written() -> None:
    """§13.1: the scale that was read, with other replicas; its uid and version are preconditions."""
    written = scale_to("autoscaling/v1", "Scale", "shop", "web", Scale(3, 4, "app=web", "u-1", "17"), 6)
    assert written == {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "web", "namespace": "shop", "uid": "u-1", "resourceVersion": "17"},
        "spec": {"replicas": 6},
        "status": {"replicas": 4, "selector": "app=web"},
    }
    assert decode_scale(msgspec.json.encode(written)) == Scale(6, 4, "app=web", "u-1", "17")


@pytest.mark.parametrize(
    ("kind", "selector"),
    [("Deployment", {"matchExpressions": [{"key": "a", "operator": "Near"}]}), ("ReplicationController", {"a b": "c"})],
)
def test_a_bad_selector_is_named(kind: Literal["Deployment", "ReplicationController"], selector: object) -> None:
    with pytest.raises(WireError) as raised:
        decode_workload(encoded(spec={"selector": selector}), kind)
    assert raised.value.path == "spec.selector"
