"""Bodies in protobuf. The encoder here is the test's own: a witness for the decoder of the lab."""

from typing import Any

import pytest

from controller.lab.objects.errors import ApiError
from controller.lab.schema.autoscaling import HPA_V2
from controller.lab.schema.workloads import DEPLOYMENT
from controller.lab.serving.protobuf import PROTOBUF, parse_protobuf
from tests.lab.client import Client
from tests.lab.objects import HPA_PATH


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    result = b""
    while number > 0x7F:
        result += bytes([number & 0x7F | 0x80])
        number >>= 7
    return result + bytes([number])


def field(number: int, value: Any) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def message(*fields: tuple[int, Any]) -> bytes:
    return b"".join(field(number, value) for number, value in fields)


def envelope(api_version: str, kind: str, content: bytes) -> bytes:
    return b"k8s\x00" + message((1, message((1, api_version), (2, kind))), (2, content), (3, ""), (4, ""))


def entry(key: str, value: str) -> bytes:
    return message((1, key), (2, value))


METADATA = message(
    (1, "web"),
    (2, ""),
    (3, ""),
    (7, 0),
    (8, b""),
    (11, entry("app", "web")),
    (11, entry("tier", "x")),
)
TARGET = message((1, "Utilization"), (4, 60))
METRIC = message((1, "Resource"), (4, message((1, "cpu"), (2, TARGET))))
BEHAVIOR = message((1, message((3, 30), (2, message((1, "Pods"), (2, 4), (3, 15))), (4, message((1, "0.05"))))))
SPEC = message((1, message((1, "Deployment"), (2, "web"), (3, "apps/v1"))), (2, 2), (3, 10), (4, METRIC), (5, BEHAVIOR))
STATUS = message((2, message((1, 1_767_225_600), (2, 0))), (3, 0), (4, 0))
HPA = envelope("autoscaling/v2", "HorizontalPodAutoscaler", message((1, METADATA), (2, SPEC), (3, STATUS)))


def test_an_hpa_is_read_as_its_json_would_be() -> None:
    value = parse_protobuf(HPA, HPA_V2, "HorizontalPodAutoscaler")
    assert (value["apiVersion"], value["kind"]) == ("autoscaling/v2", "HorizontalPodAutoscaler")
    assert value["metadata"]["labels"] == {"app": "web", "tier": "x"}
    assert value["metadata"]["creationTimestamp"] is None
    assert value["spec"]["metrics"] == [
        {
            "type": "Resource",
            "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}},
        }
    ]
    policy = {"type": "Pods", "value": 4, "periodSeconds": 15}
    assert value["spec"]["behavior"]["scaleUp"] == {
        "stabilizationWindowSeconds": 30,
        "policies": [policy],
        "tolerance": "0.05",
    }
    assert value["status"]["lastScaleTime"].startswith("2026-01-01T00:00:00")


def test_negative_numbers_and_either_kind_of_number_or_text() -> None:
    rolling = message((1, message((1, 1), (2, 0), (3, "25%"))), (2, message((1, 0), (2, 3), (3, ""))))
    strategy = message((1, "RollingUpdate"), (2, rolling))
    content = message((2, message((1, -1), (4, strategy))))
    value = parse_protobuf(envelope("apps/v1", "Deployment", content), DEPLOYMENT, "Deployment")
    assert value["spec"]["replicas"] == -1
    assert value["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": "25%", "maxSurge": 3}


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (b"{}", "does not begin with its mark"),
        (b"k8s\x00\x0a\x05ab", "too short"),
        (b"k8s\x00\xff", "does not end"),
        (b"k8s\x00\x0d\x00\x00\x00\x00", "wire type"),
        (envelope("autoscaling/v2", "HorizontalPodAutoscaler", message((9, "x"))), r"\.9.*send JSON"),
        (envelope("autoscaling/v2", "HorizontalPodAutoscaler", message((1, 5))), "a number stands where"),
        (envelope("autoscaling/v2", "HorizontalPodAutoscaler", message((1, message((1, b"\xff"))))), "utf-8"),
    ],
)
def test_what_cannot_be_read_is_refused(body: bytes, hint: str) -> None:
    with pytest.raises(ApiError, match=hint) as caught:
        parse_protobuf(body, HPA_V2, "HorizontalPodAutoscaler")
    assert caught.value.code == 400


def test_kinds_without_a_protobuf_form_ask_for_json() -> None:
    with pytest.raises(ApiError) as caught:
        parse_protobuf(HPA, None, "Rollout")
    assert caught.value.code == 415


async def test_typed_clients_can_create(client: Client) -> None:
    answer = await client.request(
        "POST", HPA_PATH, HPA, {"Content-Type": PROTOBUF, "Accept": f"{PROTOBUF},application/json"}
    )
    assert answer.status == 201, answer.body
    assert answer.body["spec"]["maxReplicas"] == 10
    assert answer.body["spec"]["behavior"]["scaleUp"]["tolerance"] == "50m"
    assert (await client.get(HPA_PATH + "/web"))["metadata"]["labels"] == {"app": "web", "tier": "x"}
