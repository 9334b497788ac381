from typing import Any

import pytest

from controller.lab.metrics_feed import RESOURCE_METRICS, ObjectKey, Sample, Usage
from controller.lab.server import LabServer
from tests.lab.client import Client
from tests.lab.objects import pod

RESOURCE = "/apis/metrics.k8s.io/v1beta1"
CUSTOM = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default"
EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default"


@pytest.fixture
def pods(lab: LabServer) -> list[str]:
    lab.cluster.create("namespaces", {"metadata": {"name": "other"}})
    for name, namespace, app in (("a", "default", "web"), ("b", "default", "db"), ("c", "other", "web")):
        lab.cluster.create("pods", pod(name, namespace, app=app))
        lab.cluster.metrics.set_pod(namespace, name, {"app": {"cpu": "100m", "memory": "64Mi"}, "side": {"cpu": "5m"}})
    return ["a", "b", "c"]


def _names(answer: dict[str, Any]) -> list[str]:
    return [item["metadata"]["name"] for item in answer["items"]]


@pytest.mark.usefixtures("pods")
async def test_pod_metrics_are_those_of_pods_that_exist(lab: LabServer, client: Client) -> None:
    lab.cluster.metrics.set_pod("default", "ghost", {"app": {"cpu": "1"}})
    assert _names(await client.get(f"{RESOURCE}/pods")) == ["a", "b", "c"]
    assert _names(await client.get(f"{RESOURCE}/namespaces/default/pods")) == ["a", "b"]
    selected = await client.get(f"{RESOURCE}/pods", labelSelector="app=web")
    assert selected["kind"] == "PodMetricsList"
    assert _names(selected) == ["a", "c"]
    item = selected["items"][0]
    assert item["metadata"]["labels"] == {"app": "web"}
    assert item["window"] == "30s"
    assert item["timestamp"] == lab.cluster.clock.timestamp()
    assert item["containers"] == [
        {"name": "app", "usage": {"cpu": "100m", "memory": "64Mi"}},
        {"name": "side", "usage": {"cpu": "5m"}},
    ]


async def test_labels_and_times_can_be_given(lab: LabServer, client: Client) -> None:
    usage = Usage({"app": {"cpu": "1"}}, window="1m0s", timestamp="2026-01-02T03:04:05Z", labels={"x": "y"})
    lab.cluster.metrics.pods["default", "free"] = usage
    found = await client.get(f"{RESOURCE}/pods", labelSelector="x=y")
    assert (found["items"][0]["timestamp"], found["items"][0]["window"]) == ("2026-01-02T03:04:05Z", "1m0s")


@pytest.mark.usefixtures("pods")
async def test_one_pod_and_nodes(lab: LabServer, client: Client) -> None:
    assert (await client.get(f"{RESOURCE}/namespaces/default/pods/a"))["kind"] == "PodMetrics"
    answer = await client.request("GET", f"{RESOURCE}/namespaces/default/pods/gone")
    assert (answer.status, answer.body["details"]["kind"]) == (404, "podmetrics")
    lab.cluster.metrics.nodes["n1"] = Usage({"n1": {"cpu": "2"}})
    nodes = await client.get(f"{RESOURCE}/nodes")
    assert [(item["metadata"]["name"], item["usage"]) for item in nodes["items"]] == [("n1", {"cpu": "2"})]


@pytest.mark.usefixtures("pods")
async def test_custom_metrics_of_pods(lab: LabServer, client: Client) -> None:
    feed = lab.cluster.metrics
    feed.set_custom("rps", ObjectKey("pods", "default", "a"), Sample("10", {"path": "x"}), Sample("20", {"path": "y"}))
    feed.set_custom("rps", ObjectKey("pods", "default", "b"), Sample("30", {"path": "x"}, window_s=30))
    feed.set_custom("rps", ObjectKey("pods", "other", "c"), Sample("99"))
    everything = await client.get(f"{CUSTOM}/pods/*/rps")
    assert everything["kind"] == "MetricValueList"
    assert [(item["describedObject"]["name"], item["value"]) for item in everything["items"]] == [
        ("a", "10"),
        ("b", "30"),
    ]
    assert everything["items"][0]["describedObject"] == {
        "kind": "Pod",
        "namespace": "default",
        "name": "a",
        "apiVersion": "/v1",
    }
    assert [item.get("windowSeconds") for item in everything["items"]] == [None, 30]
    selected = await client.get(f"{CUSTOM}/pods/*/rps", labelSelector="app=web", metricLabelSelector="path=y")
    assert [(item["value"], item["metric"]) for item in selected["items"]] == [
        ("20", {"name": "rps", "selector": {"matchLabels": {"path": "y"}}})
    ]
    assert (await client.get(f"{CUSTOM}/pods/*/rps", labelSelector="app=none"))["items"] == []
    assert (await client.get(f"{CUSTOM}/pods/%2A/rps"))["items"] == everything["items"]


async def test_the_older_version_has_another_shape(lab: LabServer, client: Client) -> None:
    described = ObjectKey("deployments.apps", "default", "web")
    lab.cluster.metrics.set_custom("hits", described, Sample("5", window_s=10, timestamp="2026-01-02T03:04:05Z"))
    old = await client.get(f"{CUSTOM.replace('v1beta2', 'v1beta1')}/deployments.apps/web/hits")
    assert old["items"] == [
        {
            "describedObject": {
                "kind": "Deployment",
                "namespace": "default",
                "name": "web",
                "apiVersion": "apps/v1",
            },
            "metricName": "hits",
            "timestamp": "2026-01-02T03:04:05Z",
            "window": 10,
            "value": "5",
            "selector": None,
        }
    ]
    lab.cluster.metrics.custom_versions = ("v1beta1",)
    assert (await client.request("GET", f"{CUSTOM}/deployments.apps/web/hits")).status == 404


async def test_metrics_of_a_namespace(lab: LabServer, client: Client) -> None:
    lab.cluster.metrics.set_custom("load", ObjectKey("namespaces", "", "default"), Sample("7"))
    found = await client.get(f"{CUSTOM}/metrics/load")
    assert [(item["describedObject"]["kind"], item["value"]) for item in found["items"]] == [("Namespace", "7")]


async def test_unknown_custom_metrics_are_not_found(lab: LabServer, client: Client) -> None:
    lab.cluster.metrics.set_custom("rps", ObjectKey("pods", "default", "a"))
    assert (await client.get(f"{CUSTOM}/pods/*/rps"))["items"] == []
    for path in ("pods/*/nothing", "services/*/rps", "services/web/rps", "pods/gone/rps", "metrics/nothing"):
        answer = await client.request("GET", f"{CUSTOM}/{path}")
        assert (answer.status, answer.body["reason"]) == (404, "NotFound"), path


async def test_external_metrics(lab: LabServer, client: Client) -> None:
    lab.cluster.metrics.set_external(
        "default", "queue", Sample("3", {"name": "x"}, window_s=60), Sample("4", {"name": "y"})
    )
    found = await client.get(f"{EXTERNAL}/queue")
    assert [(item["value"], item["metricLabels"]) for item in found["items"]] == [
        ("3", {"name": "x"}),
        ("4", {"name": "y"}),
    ]
    assert found["items"][0]["window"] == 60
    selected = await client.get(f"{EXTERNAL}/queue", labelSelector="name in (y)")
    assert [item["value"] for item in selected["items"]] == ["4"]
    assert (await client.request("GET", f"{EXTERNAL}/nothing")).status == 404


async def test_a_dead_backend_is_unavailable(lab: LabServer, client: Client) -> None:
    lab.cluster.metrics.unavailable.add(RESOURCE_METRICS)
    answer = await client.request("GET", f"{RESOURCE}/pods")
    assert (answer.status, answer.body["reason"]) == (503, "ServiceUnavailable")
    lab.cluster.metrics.absent.add(RESOURCE_METRICS)
    assert (await client.request("GET", f"{RESOURCE}/pods")).status == 404


async def test_metrics_are_read_only(client: Client) -> None:
    assert (await client.request("DELETE", f"{RESOURCE}/namespaces/default/pods/a")).status == 405
    assert (await client.request("GET", f"{RESOURCE}/pods", parameters={"watch": "true"})).status == 405
    assert (await client.request("GET", f"{RESOURCE}/pods", parameters={"labelSelector": "a===b"})).status == 400


def test_a_pod_that_is_removed_leaves_nothing_behind(lab: LabServer) -> None:
    feed = lab.cluster.metrics
    feed.set_pod("default", "a", {"app": {"cpu": "1"}})
    feed.set_custom("rps", ObjectKey("pods", "default", "a"), Sample("1"))
    feed.remove_pod("default", "a")
    feed.remove_pod("default", "a")
    assert (feed.pods, feed.custom) == ({}, {"rps": {}})
