from typing import Any

import pytest

from controller.lab.schema.autoscaling import HPA_V2
from controller.lab.schema.cluster_kinds import SECRET
from controller.lab.schema.control_plane import LEASE
from controller.lab.schema.decode import DecodeError, decode
from controller.lab.schema.pods import POD
from tests.lab.objects import hpa, pod


def test_what_is_always_written_is_filled_with_zero() -> None:
    value = decode(HPA_V2, {"metadata": {"name": "web"}}).value
    assert value["spec"] == {"scaleTargetRef": {"kind": "", "name": ""}, "maxReplicas": 0}
    assert value["status"] == {"desiredReplicas": 0, "currentMetrics": None}


def test_zero_is_left_out_unless_it_means_something() -> None:
    obj = hpa(minReplicas=0, metrics=[], behavior={})
    value = decode(HPA_V2, obj | {"status": {"currentReplicas": 0}}).value
    assert value["spec"]["minReplicas"] == 0
    assert value["spec"]["behavior"] == {}
    assert "metrics" not in value["spec"]
    assert "currentReplicas" not in value["status"]


def test_null_is_as_good_as_absent() -> None:
    assert decode(HPA_V2, hpa(minReplicas=None, metrics=None)).value == decode(HPA_V2, hpa()).value


def test_unknown_fields_are_dropped_and_named() -> None:
    decoded = decode(HPA_V2, hpa(maxReplica=3, behavior={"scaleUp": {"speed": 1}}))
    assert decoded.unknown == ("spec.behavior.scaleUp.speed", "spec.maxReplica")
    assert "maxReplica" not in decoded.value["spec"]


def test_values_get_their_stored_form() -> None:
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": 0.5}},
    }
    status = {"lastScaleTime": "2026-01-02T03:04:05.9+01:00"}
    value = decode(HPA_V2, hpa(metrics=[metric]) | {"status": status}).value
    assert value["spec"]["metrics"][0]["resource"]["target"]["averageValue"] == "500m"
    assert value["status"]["lastScaleTime"] == "2026-01-02T02:04:05Z"


def test_what_nobody_looks_into_stays_as_it_is() -> None:
    affinity = {"nodeAffinity": {"anything": [1, {"x": None}]}}
    obj = pod("one")
    obj["spec"]["affinity"] = affinity
    assert decode(POD, obj).value["spec"]["affinity"] == affinity


WRONG: list[tuple[Any, str]] = [
    (hpa(maxReplicas="5"), "spec.maxReplicas: expected an integer"),
    (hpa(maxReplicas=True), "spec.maxReplicas: expected an integer"),
    (hpa(maxReplicas=1.5), "spec.maxReplicas: expected an integer"),
    (hpa(maxReplicas=2**31), "does not fit into int32"),
    (hpa(metrics={}), "spec.metrics: expected a list, got an object"),
    (hpa(behavior=[]), "spec.behavior: expected an object, got a list"),
    (hpa(behavior={"scaleUp": {"tolerance": "much"}}), "spec.behavior.scaleUp.tolerance: a quantity is"),
    (hpa(behavior={"scaleUp": {"tolerance": True}}), "spec.behavior.scaleUp.tolerance: expected a quantity"),
    (hpa() | {"status": {"lastScaleTime": "yesterday"}}, 'status.lastScaleTime: parsing time "yesterday"'),
    (hpa() | {"metadata": {"labels": {"a": 1}}}, "metadata.labels.a: expected a string, got a number"),
    (hpa() | {"metadata": {"name": 5}}, "metadata.name: expected a string"),
]


@pytest.mark.parametrize(("obj", "message"), WRONG)
def test_wrong_types_are_refused_by_name(obj: Any, message: str) -> None:
    with pytest.raises(DecodeError, match=r".") as caught:
        decode(HPA_V2, obj)
    assert message in str(caught.value)


def test_exact_times_need_six_digits() -> None:
    assert decode(LEASE, {"spec": {"renewTime": "2026-01-02T03:04:05.123456Z"}}).value["spec"] == {
        "renewTime": "2026-01-02T03:04:05.123456Z"
    }
    with pytest.raises(DecodeError, match="six digits"):
        decode(LEASE, {"spec": {"renewTime": "2026-01-02T03:04:05Z"}})


def test_data_of_a_secret_is_base64() -> None:
    with pytest.raises(DecodeError, match="base64"):
        decode(SECRET, {"data": {"key": "!"}})
