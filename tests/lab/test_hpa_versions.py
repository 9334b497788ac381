"""autoscaling/v1 over the stored v2 objects (docs/behaviour.md §22)."""

import json
from typing import Any

import pytest

from controller.lab.objects.resources import copied
from tests.lab.client import Client
from tests.lab.objects import HPA_PATH, hpa

V1_PATH = HPA_PATH.replace("/v2/", "/v1/")
A = "autoscaling.alpha.kubernetes.io/"
CPU = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}},
}
METRICS: list[dict[str, Any]] = [
    CPU,
    {
        "type": "Resource",
        "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "512Mi"}},
    },
    {
        "type": "Pods",
        "pods": {
            "metric": {"name": "rps", "selector": {"matchLabels": {"path": "x"}}},
            "target": {"type": "AverageValue", "averageValue": "1"},
        },
    },
    {
        "type": "Object",
        "object": {
            "describedObject": {"kind": "Service", "name": "s", "apiVersion": "v1"},
            "target": {"type": "Value", "value": "5"},
            "metric": {"name": "hits"},
        },
    },
    {
        "type": "ContainerResource",
        "containerResource": {
            "name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 70},
            "container": "app",
        },
    },
    {
        "type": "External",
        "external": {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "3"}},
    },
]


def v1(name: str, annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    metadata = {"name": name, "annotations": annotations or {}}
    return {"metadata": metadata, "spec": {"maxReplicas": 3, "scaleTargetRef": target, **spec}}


async def test_v1_shows_the_cpu_metric_and_keeps_the_others_in_annotations(client: Client) -> None:
    await client.request("POST", HPA_PATH, hpa(metrics=METRICS, behavior={"scaleDown": {"selectPolicy": "Disabled"}}))
    shown = await client.get(V1_PATH + "/web")
    assert shown["spec"]["targetCPUUtilizationPercentage"] == 60
    assert "metrics" not in shown["spec"]
    kinds = [metric["type"] for metric in json.loads(shown["metadata"]["annotations"][A + "metrics"])]
    assert kinds == ["Resource", "Pods", "Object", "ContainerResource", "External"]
    behavior = json.loads(shown["metadata"]["annotations"][A + "behavior"])
    assert behavior["ScaleDown"]["SelectPolicy"] == "Disabled"
    assert behavior["ScaleUp"]["Policies"][0] == {"Type": "Pods", "Value": 4, "PeriodSeconds": 15}


async def test_a_round_trip_through_v1_only_moves_the_cpu_metric_to_the_end(client: Client) -> None:
    await client.request("POST", HPA_PATH, hpa(metrics=METRICS))
    before = await client.get(HPA_PATH + "/web")
    shown = await client.get(V1_PATH + "/web")
    answer = await client.request("PUT", V1_PATH + "/web", shown)
    assert answer.status == 200
    after = await client.get(HPA_PATH + "/web")
    expected = copied(before)
    expected["spec"]["metrics"] = [*METRICS[1:], CPU]
    for ignored in ("resourceVersion", "managedFields"):
        expected["metadata"].pop(ignored)
        after["metadata"].pop(ignored)
    assert after == expected


@pytest.mark.parametrize(
    ("spec", "annotations", "metrics"),
    [
        (
            {},
            {},
            [
                {
                    **CPU,
                    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
                }
            ],
        ),
        ({"targetCPUUtilizationPercentage": 60}, {}, [CPU]),
        ({"targetCPUUtilizationPercentage": 60}, {A + "metrics": "{bad"}, [CPU]),
        (
            {"targetCPUUtilizationPercentage": 60},
            {A + "metrics": '[{"type":"External","external":{"metricName":"q","targetAverageValue":"3"}}]'},
            [METRICS[5], CPU],
        ),
        (
            {},
            {
                A + "metrics": '[{"type":"Object","object":{"target":{"kind":"S","name":"n"},"metricName":"m",'
                '"targetValue":"0","averageValue":"5"}}]'
            },
            [
                {
                    "type": "Object",
                    "object": {
                        "describedObject": {"kind": "S", "name": "n"},
                        "target": {"type": "AverageValue", "averageValue": "5"},
                        "metric": {"name": "m"},
                    },
                }
            ],
        ),
    ],
)
async def test_v1_objects_become_v2(
    client: Client, spec: dict[str, Any], annotations: dict[str, str], metrics: list[dict[str, Any]]
) -> None:
    answer = await client.request("POST", V1_PATH, v1("web", annotations, **spec))
    assert answer.status == 201, answer.body
    stored = await client.get(HPA_PATH + "/web")
    assert stored["spec"]["metrics"] == metrics
    assert stored["spec"]["minReplicas"] == 1
    assert "annotations" not in stored["metadata"]


async def test_a_behavior_from_an_annotation_is_checked_as_it_stands(client: Client) -> None:
    incomplete = {A + "behavior": '{"ScaleUp":{"StabilizationWindowSeconds":5}}'}
    answer = await client.request("POST", V1_PATH, v1("web", incomplete))
    assert [cause["field"] for cause in answer.body["details"]["causes"]] == ["spec.behavior.scaleUp.policies"]
    policy = '{"Type":"Pods","Value":1,"PeriodSeconds":5}'
    complete = {A + "behavior": '{"ScaleUp":{"StabilizationWindowSeconds":5,"Policies":[' + policy + "]}}"}
    answer = await client.request("POST", V1_PATH, v1("web", complete))
    assert answer.status == 201
    behavior = (await client.get(HPA_PATH + "/web"))["spec"]["behavior"]
    assert behavior["scaleUp"]["policies"] == [{"type": "Pods", "value": 1, "periodSeconds": 5}]
    assert behavior["scaleDown"]["selectPolicy"] == "Max"


async def test_annotations_of_v1_mean_nothing_in_v2(client: Client) -> None:
    manifest = hpa()
    manifest["metadata"]["annotations"] = {A + "metrics": "[]", A + "scale-up-tolerance": "1", "kept": "yes"}
    answer = await client.request("POST", HPA_PATH, manifest)
    assert answer.body["metadata"]["annotations"] == {"kept": "yes"}


async def test_a_target_of_zero_percent_is_refused_with_the_path_of_v2(client: Client) -> None:
    answer = await client.request("POST", V1_PATH, v1("web", targetCPUUtilizationPercentage=0))
    fields = [cause["field"] for cause in answer.body["details"]["causes"]]
    assert fields == ["spec.metrics[0].resource.target.averageUtilization"]


async def test_statuses_are_converted_both_ways(client: Client) -> None:
    created = (await client.request("POST", HPA_PATH, hpa())).body
    created["status"] = {
        "currentReplicas": 2,
        "desiredReplicas": 3,
        "currentMetrics": [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "current": {"averageUtilization": 33, "averageValue": "1"}},
            }
        ],
        "conditions": [{"type": "AbleToScale", "status": "True", "lastTransitionTime": None}],
    }
    await client.request("PUT", HPA_PATH + "/web/status", created)
    shown = await client.get(V1_PATH + "/web")
    assert shown["status"] == {
        "currentReplicas": 2,
        "desiredReplicas": 3,
        "currentCPUUtilizationPercentage": 33,
    }
    assert json.loads(shown["metadata"]["annotations"][A + "conditions"]) == created["status"]["conditions"]
    before = await client.get(HPA_PATH + "/web")
    await client.request("PUT", V1_PATH + "/web/status", shown)
    assert (await client.get(HPA_PATH + "/web"))["status"] == before["status"]


async def test_both_versions_are_listed_and_watched(client: Client) -> None:
    await client.request("POST", HPA_PATH, hpa())
    listed = await client.get(V1_PATH)
    assert listed["apiVersion"] == "autoscaling/v1"
    assert listed["items"][0]["spec"]["targetCPUUtilizationPercentage"] == 80
    async with client.watch(V1_PATH) as events:
        event = await events.next()
    assert event["object"]["apiVersion"] == "autoscaling/v1"
