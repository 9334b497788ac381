"""The stub of the metrics APIs answers through kube-apiserver as metrics-server and adapters do."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import aiohttp
import pytest

from tests.e2e.aggregation import register_metrics_apis, unregister_metrics_apis
from tests.e2e.api_client import ApiError
from tests.e2e.kubectl import KubectlError
from tests.e2e.metrics_server import Fault, MetricsApi, MetricsServer
from tests.e2e.metrics_values import DescribedObject, PodUsage, Series, namespace_object, pod_object
from tests.e2e.waiting import wait_until
from tests.trust import trusting

if TYPE_CHECKING:
    from tests.e2e.control_plane import ControlPlane

MOMENT = dt.datetime(2026, 3, 4, 5, 6, 7, tzinfo=dt.UTC)
RESOURCE, CUSTOM, EXTERNAL = MetricsApi


async def raw(plane: ControlPlane, path: str, **query: str) -> Any:
    written = "&".join(f"{name}={quote(value)}" for name, value in query.items())
    return json.loads(await plane.kubectl("get", "--raw", f"{path}?{written}" if written else path))


def names(answer: dict[str, Any]) -> list[str]:
    return [item["metadata"]["name"] for item in answer["items"]]


async def test_pod_metrics(control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str) -> None:
    values = metrics_server.values
    usage = {"app": {"cpu": "250m", "memory": "64Mi"}, "proxy": {"cpu": "1", "memory": "1Gi"}}
    values.set_pod(namespace, "web-1", PodUsage(usage, {"app": "web"}, MOMENT, "15s"))
    values.set_pod(namespace, "web-2", PodUsage({"app": {"cpu": "0"}}, {"app": "web", "old": "yes"}))
    values.set_pod(f"{namespace}-other", "api-1", PodUsage({"app": {"cpu": "3"}}, {"app": "api"}))

    path = f"/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods"
    answer = await raw(control_plane, path)
    assert (answer["kind"], answer["apiVersion"]) == ("PodMetricsList", "metrics.k8s.io/v1beta1")
    assert names(answer) == ["web-1", "web-2"]
    first = answer["items"][0]
    assert (first["timestamp"], first["window"]) == ("2026-03-04T05:06:07Z", "15s")
    assert first["metadata"]["labels"] == {"app": "web"}
    assert first["containers"] == [{"name": name, "usage": used} for name, used in usage.items()]

    assert names(await raw(control_plane, path, labelSelector="app=web,!old")) == ["web-1"]
    assert names(await raw(control_plane, path, labelSelector="app in (db)")) == []
    cluster = "/apis/metrics.k8s.io/v1beta1/pods"
    assert names(await raw(control_plane, cluster, labelSelector="app=api")) == ["api-1"]
    assert {"web-1", "web-2", "api-1"} <= set(names(await raw(control_plane, cluster)))
    with pytest.raises(KubectlError, match="BadRequest"):
        await raw(control_plane, path, labelSelector="app in web")

    table = await control_plane.kubectl("top", "pods", "-n", namespace, "--no-headers")
    assert table.splitlines()[0].split() == ["web-1", "1250m", "1088Mi"]
    values.remove_pod(namespace, "web-1")
    assert names(await raw(control_plane, path)) == ["web-2"]
    values.clear(f"{namespace}-other")


async def test_custom_metrics_of_pods(
    control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str
) -> None:
    post, get = {"method": "POST"}, {"method": "GET"}
    first = pod_object(namespace, "web-1", {"app": "web"})
    metrics_server.values.set_custom(first, "requests", Series("10", post, MOMENT, 30), Series("20500m", get, MOMENT))
    metrics_server.values.set_custom(pod_object(namespace, "api-1", {"app": "api"}), "requests", Series("7"))

    path = f"/apis/custom.metrics.k8s.io/v1beta2/namespaces/{namespace}/pods/*/requests"
    described = {"kind": "Pod", "namespace": namespace, "name": "web-1", "apiVersion": "/v1"}
    dated = {"describedObject": described, "timestamp": "2026-03-04T05:06:07Z"}
    answer = await raw(control_plane, path, labelSelector="app=web")
    assert answer["kind"] == "MetricValueList"
    assert answer["items"] == [
        {**dated, "metric": {"name": "requests", "selector": None}, "windowSeconds": 30, "value": "10"},
        {**dated, "metric": {"name": "requests", "selector": None}, "value": "20500m"},
    ]
    asked = {"labelSelector": "app=web", "metricLabelSelector": "method=POST"}
    answer = await raw(control_plane, path.replace("v1beta2", "v1beta1").replace("*", "%2A"), **asked)
    selector = {"matchLabels": post}
    assert answer["items"] == [{**dated, "metricName": "requests", "selector": selector, "window": 30, "value": "10"}]
    assert metrics_server.requests[-1].query == asked
    assert len((await raw(control_plane, path))["items"]) == 3
    assert (await raw(control_plane, path.replace("requests", "unknown")))["items"] == []


async def test_custom_metrics_of_objects_and_namespaces(
    control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str
) -> None:
    ingress = DescribedObject(namespace, "ingresses.networking.k8s.io", "main", "Ingress", "networking.k8s.io/v1")
    metrics_server.values.set_custom(ingress, "hits", Series("5k"))
    metrics_server.values.set_custom(namespace_object(namespace), "hits", Series("9"))
    for version in ("v1beta1", "v1beta2"):
        root = f"/apis/custom.metrics.k8s.io/{version}/namespaces/{namespace}"
        (item,) = (await raw(control_plane, f"{root}/ingresses.networking.k8s.io/main/hits"))["items"]
        assert (item["value"], item["describedObject"]["kind"]) == ("5k", "Ingress")
        (item,) = (await raw(control_plane, f"{root}/metrics/hits"))["items"]
        assert (item["value"], item["describedObject"]["kind"]) == ("9", "Namespace")
        assert (await raw(control_plane, f"{root}/ingresses.networking.k8s.io/other/hits"))["items"] == []


async def test_external_metrics(control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str) -> None:
    metrics_server.values.set_external(
        namespace, "queue", Series("1500m", {"queue": "mail"}, MOMENT, 60), Series("2", {"queue": "print"})
    )
    path = f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/queue"
    answer = await raw(control_plane, path, labelSelector="queue=mail")
    assert answer["kind"] == "ExternalMetricValueList"
    assert answer["items"] == [
        {
            "metricName": "queue",
            "metricLabels": {"queue": "mail"},
            "timestamp": "2026-03-04T05:06:07Z",
            "window": 60,
            "value": "1500m",
        }
    ]
    assert [item["value"] for item in (await raw(control_plane, path))["items"]] == ["1500m", "2"]


async def test_discovery(control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str) -> None:
    metrics_server.values.set_custom(pod_object(namespace, "web-1"), "requests", Series("1"))
    metrics_server.values.set_external(namespace, "queue", Series("1"))
    group = await raw(control_plane, "/apis/custom.metrics.k8s.io")
    assert group["preferredVersion"]["version"] == "v1beta2"
    for version, name in (
        ("metrics.k8s.io/v1beta1", "pods"),
        ("custom.metrics.k8s.io/v1beta1", "pods/requests"),
        ("custom.metrics.k8s.io/v1beta2", "pods/requests"),
        ("external.metrics.k8s.io/v1beta1", "queue"),
    ):
        resources = await raw(control_plane, f"/apis/{version}")
        assert (resources["kind"], resources["groupVersion"]) == ("APIResourceList", version)
        assert name in {resource["name"] for resource in resources["resources"]}


@pytest.mark.parametrize("api", list(MetricsApi))
async def test_faults(
    control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str, api: MetricsApi
) -> None:
    path = {
        RESOURCE: f"/apis/{RESOURCE}/v1beta1/namespaces/{namespace}/pods",
        CUSTOM: f"/apis/{CUSTOM}/v1beta2/namespaces/{namespace}/pods/*/requests",
        EXTERNAL: f"/apis/{EXTERNAL}/v1beta1/namespaces/{namespace}/queue",
    }[api]
    metrics_server.values.set_pod(namespace, "web-1", PodUsage({"app": {"cpu": "1"}}))
    metrics_server.values.set_custom(pod_object(namespace, "web-1"), "requests", Series("1"))
    metrics_server.values.set_external(namespace, "queue", Series("1"))
    get = control_plane.admin.get
    assert len((await get(path))["items"]) == 1

    for fault, status in ((Fault.INTERNAL_ERROR, 500), (Fault.FORBIDDEN, 403), (Fault.NOT_FOUND, 404)):
        with metrics_server.failing(api, fault), pytest.raises(ApiError) as failure:
            await get(path)
        assert failure.value.status == status
    with metrics_server.failing(api, Fault.EMPTY):
        assert (await get(path))["items"] == []
    with metrics_server.failing(api, Fault.GARBAGE), pytest.raises(json.JSONDecodeError):
        await get(path)
    with metrics_server.failing(api, Fault.HANG), pytest.raises(TimeoutError):
        await get(path, timeout_s=0.3)
    with metrics_server.failing(api, Fault.INTERNAL_ERROR, f"{namespace}-other"):
        assert len((await get(path))["items"]) == 1
        if api is RESOURCE:
            with pytest.raises(ApiError, match="the test wants this API to fail"):
                await get(f"/apis/{RESOURCE}/v1beta1/pods")

    with metrics_server.failing(api, Fault.INTERNAL_ERROR):
        assert await get(f"/apis/{path.split('/')[2]}/{path.split('/')[3]}"), "discovery goes on"
        with pytest.raises(KubectlError, match="InternalError"):
            await control_plane.kubectl("get", "--raw", path)


async def test_only_the_front_proxy_may_ask(control_plane: ControlPlane, metrics_server: MetricsServer) -> None:
    files = control_plane.files
    url = f"https://127.0.0.1:{metrics_server.port}/apis/metrics.k8s.io/v1beta1/pods"
    impostor = {"X-Remote-User": "e2e-admin", "X-Remote-Group": "system:masters"}
    context = trusting(files.authority.certificate)
    async with aiohttp.ClientSession() as session, session.get(url, ssl=context, headers=impostor) as answer:
        assert (answer.status, (await answer.json())["reason"]) == (401, "Unauthorized")
    # Of the right authority, but not the front proxy.
    other = files.front_proxy_authority.issue_client("other-proxy", "other-proxy")
    context.load_cert_chain(other.certificate, other.key)
    async with aiohttp.ClientSession() as session, session.get(url, ssl=context, headers=impostor) as answer:
        assert answer.status == 401
    assert metrics_server.requests == []


async def test_rbac_decides_before_the_stub_is_asked(
    control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str
) -> None:
    path = f"/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods"
    stranger = control_plane.client(control_plane.credential_for("stranger"))
    with pytest.raises(ApiError, match="cannot list resource"):
        await stranger.get(path)
    assert metrics_server.requests == []
    await control_plane.admin.get(path, {"labelSelector": "app=web"})
    (request,) = metrics_server.requests
    assert (request.user, request.path, request.query) == ("e2e-admin", path, {"labelSelector": "app=web"})


async def test_a_version_can_be_taken_away_and_comes_back(
    control_plane: ControlPlane, metrics_server: MetricsServer
) -> None:
    versions = [(CUSTOM, "v1beta2")]

    async def prefers(version: str) -> None:
        async def preferred() -> bool:
            group = await control_plane.admin.get("/apis/custom.metrics.k8s.io")
            return bool(group["preferredVersion"]["version"] == version)

        await wait_until(preferred, f"{version} to be preferred")

    await prefers("v1beta2")
    await unregister_metrics_apis(control_plane.admin, versions)
    try:
        await prefers("v1beta1")
    finally:
        authority = control_plane.files.authority
        await register_metrics_apis(control_plane.admin, metrics_server.port, authority)
    await prefers("v1beta2")
