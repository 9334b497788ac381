"""From an application's page to replicas: Prometheus, our source, the controller; and Prometheus going away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from tests.e2e import autoscalers
from tests.e2e.aggregation import register_metrics_apis
from tests.e2e.api_client import CONNECTION_ERRORS
from tests.e2e.control_plane import ControlPlane
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.metrics_server import Fault, MetricsApi
from tests.e2e.namespaces import create_namespace
from tests.e2e.prometheus.page import MetricsPage
from tests.e2e.prometheus.programs import Prometheus, adapter
from tests.e2e.roles import define_controllers
from tests.e2e.waiting import wait_until
from tests.e2e.workload import WorkloadPlayer
from tests.e2e.workload_kinds import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.metrics_server import MetricsServer


pytestmark = pytest.mark.usefixtures("controllers_may_control")

RULES = """\
rules:
- seriesQuery: app_sessions{namespace!="",pod!=""}
  resources: {template: <<.Resource>>}
  name: {as: sessions}
  metricsQuery: sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)
externalRules:
- seriesQuery: app_backlog{namespace!=""}
  resources: {template: <<.Resource>>}
  name: {as: backlog}
  metricsQuery: sum(<<.Series>>{<<.LabelMatchers>>})
"""
_SYNCS_WITHOUT_ANSWER = 3


class Scene:
    """A page, the Prometheus that reads it, and a controller that asks this Prometheus."""

    def __init__(self, page: MetricsPage, prometheus: Prometheus, controller: ControllerProcess) -> None:
        self.page = page
        self.prometheus = prometheus
        self.controller = controller


@pytest_asyncio.fixture(loop_scope="session")
async def scene(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    await control_plane.ensure_running()
    folder = tmp_path_factory.mktemp("scene")
    rules = folder / "rules.yaml"
    rules.write_text(RULES)
    log = control_plane.files.logs / "scraping-prometheus.log"
    async with MetricsPage.serving() as page, Prometheus.start(folder, log, page.configuration()) as prometheus:
        flags = (
            "--metrics-source=custom=api",
            "--metrics-source=custom=prometheus",
            "--metrics-source=external=prometheus",
            f"--prometheus-url={prometheus.url}",
            f"--prometheus-rules={rules}",
            "--prometheus-timeout=2s",
            "--metrics-relist-interval=1s",
        )
        async with ControllerProcess.start(control_plane, "asks-prometheus", *flags) as controller:
            yield Scene(page, prometheus, controller)


async def _active(plane: ControlPlane, namespace: str, wanted: tuple[str, str]) -> dict[str, Any]:
    """The HPA once its condition ScalingActive has this status and reason."""
    return await _condition(plane, namespace, "ScalingActive", wanted)


async def _condition(plane: ControlPlane, namespace: str, name: str, wanted: tuple[str, str]) -> dict[str, Any]:

    async def there() -> dict[str, Any] | None:
        found = await plane.admin.get(autoscalers.path(namespace, "web"))
        return found if autoscalers.conditions(found).get(name) == wanted else None

    found = await wait_until(there, f"{name} {wanted}", timeout_s=20.0)
    assert found is not None
    return found


async def test_an_application_scales_by_its_own_page(
    control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str, scene: Scene
) -> None:
    """Custom metrics reach Prometheus because the API, which is asked first, does not know them."""
    admin = control_plane.admin
    await admin.create(DEPLOYMENT.path(namespace), DEPLOYMENT.manifest("web", 2))
    with metrics_server.failing(MetricsApi.CUSTOM, Fault.NOT_FOUND, namespace):
        await _scaled_by_its_page(control_plane, namespace, scene)


async def _scaled_by_its_page(control_plane: ControlPlane, namespace: str, scene: Scene) -> None:
    admin = control_plane.admin
    async with WorkloadPlayer(admin, DEPLOYMENT, namespace, "web") as player:
        await player.settled(2)
        names = [pod["metadata"]["name"] for pod in await player.pods()]
        neighbour = 'app_sessions{namespace="somebody-else",pod="web-0"} 1000'
        own = [f'app_sessions{{namespace="{namespace}",pod="{name}"}} 17.5' for name in names]
        scene.page.lines = [neighbour, *own]
        metric = autoscalers.pods("sessions", averageValue="10")
        reference = autoscalers.reference(DEPLOYMENT, "web")
        await admin.create(autoscalers.path(namespace), autoscalers.manifest("web", reference, [metric]))
        # 35 sessions on two pods with ten for each: four; the new ones have no samples and count as idle then.
        await player.settled(4)
        scene.page.lines = [neighbour] + [
            f'app_sessions{{namespace="{namespace}",pod="{pod["metadata"]["name"]}"}} 6' for pod in await player.pods()
        ]
        await player.settled(3)
        status = (await admin.get(autoscalers.path(namespace, "web")))["status"]
        assert status["currentMetrics"][0]["pods"]["metric"] == {"name": "sessions"}


async def test_the_same_through_the_adapter_and_the_custom_metrics_api(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """On a control plane of its own, since the API that it registers is the whole cluster's."""
    folder = tmp_path_factory.mktemp("through-adapter")
    stored, rules = folder / "stored", folder / "rules.yaml"
    stored.mkdir()
    rules.write_text(RULES)
    (folder / "plane").mkdir()
    async with (
        ControlPlane.start(folder / "plane") as plane,
        MetricsPage.serving() as page,
        Prometheus.start(stored, plane.files.logs / "prometheus.log", page.configuration()) as prometheus,
    ):
        await define_controllers(plane.admin)
        namespace = await create_namespace(plane.admin, "adapter")
        await plane.admin.create(DEPLOYMENT.path(namespace), DEPLOYMENT.manifest("web", 2))
        async with WorkloadPlayer(plane.admin, DEPLOYMENT, namespace, "web") as player:
            await player.settled(2)
            names = [pod["metadata"]["name"] for pod in await player.pods()]
            page.lines = [f'app_sessions{{namespace="{namespace}",pod="{name}"}} 17.5' for name in names]
            page.lines.append(f'app_backlog{{namespace="{namespace}"}} 1')
            async with (
                adapter(plane, rules, prometheus.url, "adapter", service=True) as url,
                ControllerProcess.start(plane, "asks-the-api"),
            ):
                port = int(url.rpartition(":")[2])
                await register_metrics_apis(plane.admin, port, plane.files.authority, [(MetricsApi.CUSTOM, "v1beta2")])
                metric = autoscalers.pods("sessions", averageValue="10")
                reference = autoscalers.reference(DEPLOYMENT, "web")
                manifest = autoscalers.manifest("web", reference, [metric])
                await plane.admin.create(autoscalers.path(namespace), manifest)
                await player.settled(4)


async def test_prometheus_going_away_and_coming_back_moves_nothing(
    control_plane: ControlPlane, namespace: str, scene: Scene
) -> None:
    admin = control_plane.admin
    await admin.create(DEPLOYMENT.path(namespace), DEPLOYMENT.manifest("web", 2))
    backlog = f'app_backlog{{namespace="{namespace}",queue="orders"}}'
    scene.page.lines = [f"{backlog} 40", 'app_backlog{namespace="somebody-else",queue="orders"} 1000']
    async with WorkloadPlayer(admin, DEPLOYMENT, namespace, "web") as player:
        await player.settled(2)
        metric = autoscalers.external("backlog", averageValue="10")
        reference = autoscalers.reference(DEPLOYMENT, "web")
        behavior = {"scaleDown": {"stabilizationWindowSeconds": 300}}
        manifest = autoscalers.manifest("web", reference, [metric], behavior=behavior)
        await admin.create(autoscalers.path(namespace), manifest)
        await player.settled(4)
        await _active(control_plane, namespace, ("True", "ValidMetricFound"))

        await scene.prometheus.process.stop()
        lost = await _active(control_plane, namespace, ("False", "FailedGetExternalMetric"))
        assert "Prometheus at http://" in autoscalers.message(lost, "ScalingActive")
        await scene.controller.synced(_SYNCS_WITHOUT_ANSWER)
        assert await _replicas(control_plane, namespace) == 4
        warnings = scene.controller.logs("a metric cannot be read")
        assert len(warnings) == len({line["error"] for line in warnings}), "each cause is said once"

        # It comes back with its last sample, then with a zero, which the window holds, as it holds any low value.
        scene.page.lines = [f"{backlog} 0"]
        await scene.prometheus.begin()
        await _condition(control_plane, namespace, "AbleToScale", ("True", "ScaleDownStabilized"))
        await scene.controller.synced(_SYNCS_WITHOUT_ANSWER)
        assert await _replicas(control_plane, namespace) == 4
        scene.page.lines = [f"{backlog} 55"]
        await player.settled(6)
        assert await _sizes_written(control_plane, namespace) == [4, 6]


async def _replicas(plane: ControlPlane, namespace: str) -> int:
    target = await plane.admin.get(DEPLOYMENT.path(namespace, "web"))
    return int(target["spec"]["replicas"])


async def _sizes_written(plane: ControlPlane, namespace: str) -> list[int]:
    """Every size that the controller has given the target, by the events it told, in order."""

    async def told() -> list[int]:
        events = await autoscalers.events_of(plane.admin, namespace, "web")
        return [
            int(event["message"].partition(";")[0].rpartition(" ")[2])
            for event in events
            if event["reason"] == "SuccessfulRescale"
        ]

    async def both() -> list[int] | None:
        found = await told()
        return found if len(found) > 1 else None

    found = await wait_until(both, "events of both changes", timeout_s=10.0, ignoring=CONNECTION_ERRORS)
    assert found is not None
    return found
