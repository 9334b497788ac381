"""Queries in annotations, from an application's page to replicas, and how old samples may be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from controller.clock import SystemClock
from controller.manifest.query_annotation import ANNOTATION
from tests.e2e import autoscalers
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.namespaces import create_namespace, delete_namespace
from tests.e2e.prometheus.page import MetricsPage
from tests.e2e.prometheus.programs import Prometheus
from tests.e2e.waiting import wait_until
from tests.e2e.workload import WorkloadPlayer
from tests.e2e.workload_kinds import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.control_plane import ControlPlane


pytestmark = pytest.mark.usefixtures("controllers_may_control")

_AGE_MAX_S = 60


class Scene:
    """A page, and a controller that asks the Prometheus that reads it."""

    def __init__(self, page: MetricsPage, controller: ControllerProcess, plane: ControlPlane) -> None:
        self.page = page
        self.controller = controller
        self._plane = plane

    async def autoscaler(self, namespace: str, queries: dict[str, str], metric: dict[str, Any]) -> None:
        """An HPA for the Deployment `web` with one metric."""
        manifest = autoscalers.manifest("web", autoscalers.reference(DEPLOYMENT, "web"), [metric])
        manifest["metadata"]["annotations"] = {ANNOTATION: json.dumps(queries)}
        await self._plane.admin.create(autoscalers.path(namespace), manifest)

    async def query(self, namespace: str, queries: dict[str, str]) -> None:
        """Other queries for that HPA."""
        patch = {"metadata": {"annotations": {ANNOTATION: json.dumps(queries)}}}
        await self._plane.admin.patch(autoscalers.path(namespace, "web"), patch)

    async def failing(self, namespace: str, part: str) -> None:
        """Returns when the HPA has no metric any more and says why."""

        async def said() -> bool:
            found = await self._plane.admin.get(autoscalers.path(namespace, "web"))
            active = autoscalers.conditions(found).get("ScalingActive", ("", ""))
            return active[0] == "False" and part in autoscalers.message(found, "ScalingActive")

        await wait_until(said, f"ScalingActive to be false because of {part!r}", timeout_s=20.0)


@pytest_asyncio.fixture(loop_scope="session")
async def scene(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    await control_plane.ensure_running()
    log = control_plane.files.logs / "annotated-prometheus.log"
    folder = tmp_path_factory.mktemp("annotated")
    async with MetricsPage.serving() as page, Prometheus.start(folder, log, page.configuration()) as prometheus:
        flags = (
            "--allow-query-annotations",
            f"--prometheus-url={prometheus.url}",
            "--prometheus-timeout=2s",
            f"--max-sample-age={_AGE_MAX_S}s",
        )
        async with ControllerProcess.start(control_plane, "asks-by-annotation", *flags) as controller:
            yield Scene(page, controller, control_plane)


@pytest_asyncio.fixture(loop_scope="session")
async def neighbour(control_plane: ControlPlane) -> AsyncIterator[str]:
    await control_plane.ensure_running()
    name = await create_namespace(control_plane.admin, "neighbour")
    yield name
    await delete_namespace(control_plane.admin, name)


async def test_a_query_reads_its_own_namespace_and_no_other(
    control_plane: ControlPlane, namespace: str, neighbour: str, scene: Scene
) -> None:
    admin = control_plane.admin
    scene.page.lines = [f'backlog{{namespace="{namespace}"}} 40', f'backlog{{namespace="{neighbour}"}} 70']
    for where in (namespace, neighbour):
        await admin.create(DEPLOYMENT.path(where), DEPLOYMENT.manifest("web", 2))
    async with (
        WorkloadPlayer(admin, DEPLOYMENT, namespace, "web") as ours,
        WorkloadPlayer(admin, DEPLOYMENT, neighbour, "web") as theirs,
    ):
        await ours.settled(2)
        await theirs.settled(2)
        metric = autoscalers.external("work to do", averageValue="10")
        # One and the same query; of both namespaces it would be eleven times ten.
        for where in (namespace, neighbour):
            await scene.autoscaler(where, {"work to do": 'sum(backlog{namespace=~".+"} or backlog)'}, metric)
        await ours.settled(4)
        await theirs.settled(7)

        told = (await scene.controller.explained(f"{namespace}/web"))["syncs"][-1]["explained"]["metrics"][0]
        assert told["origin"] == "annotation"
        assert 0 <= told["agesS"][1] < _AGE_MAX_S
        metrics = await scene.controller.metrics()
        labels = {"family": "external", "source": "annotation"}
        assert metrics.total("hpa_controller_sample_age_seconds_count", **labels) > 0
        assert metrics.total("hpa_controller_samples_left_out_total", **labels) == 0

        # Asked for the neighbour's by name, it finds nothing, and a join brings nothing in.
        for query in (
            f'sum(backlog{{namespace="{neighbour}"}})',
            f'backlog + on () backlog{{namespace="{neighbour}"}}',
        ):
            await scene.query(namespace, {"work to do": query})
            await scene.failing(namespace, "no metrics returned")
            await scene.query(namespace, {"work to do": "sum(backlog)"})
            await _active(control_plane, namespace)
        # Nor by what would break out of a string.
        await scene.query(namespace, {"work to do": f'backlog{{a="\\"}} or backlog{{namespace=\\"{neighbour}"}}'})
        await scene.failing(namespace, "no metrics returned")
        await scene.query(namespace, {"work to do": "sum(backlog"})
        await scene.failing(namespace, f"annotation {ANNOTATION}, metric work to do: it is no PromQL")
        assert await _replicas(control_plane, namespace) == 4


async def test_pods_by_label_and_samples_that_are_too_old(
    control_plane: ControlPlane, namespace: str, scene: Scene
) -> None:
    admin = control_plane.admin
    await admin.create(DEPLOYMENT.path(namespace), DEPLOYMENT.manifest("web", 2))
    async with WorkloadPlayer(admin, DEPLOYMENT, namespace, "web") as player:
        await player.settled(2)
        first, second = [pod["metadata"]["name"] for pod in await player.pods()]
        old_ms = round(SystemClock().now().wall_ns / 10**6) - 2000 * _AGE_MAX_S
        busy = f'sessions{{namespace="{namespace}",pod="{first}"}} 30'
        # The other pod's sample bears a time of its own, and it would ask for many more replicas.
        scene.page.lines = [busy, f'sessions{{namespace="{namespace}",pod="{second}"}} 900 {old_ms}']
        metric = autoscalers.pods("sessions", averageValue="20")
        await scene.autoscaler(namespace, {"sessions": "sum by (pod) (sessions)"}, metric)
        # 30 on one pod and none assumed for the missing one is below the target on two: nothing moves (§7.1).
        await _active(control_plane, namespace)
        await scene.controller.synced(3)
        told = (await scene.controller.explained(f"{namespace}/web"))["syncs"][-1]["explained"]["metrics"][0]
        (missing,) = told["pods"]
        assert (missing["name"], missing["group"]) == (second, "missing")
        assert f"--max-sample-age is {_AGE_MAX_S // 60}m0s" in missing["why"]
        assert await _replicas(control_plane, namespace) == 2
        metrics = await scene.controller.metrics()
        labels = {"family": "custom", "source": "annotation"}
        assert metrics.total("hpa_controller_samples_left_out_total", **labels) > 0

        scene.page.lines = [f'sessions{{namespace="{namespace}",pod="{first}"}} 30 {old_ms + 1}', scene.page.lines[1]]
        await scene.failing(namespace, "no pod has a sample that may be used")
        assert await _replicas(control_plane, namespace) == 2


async def _active(plane: ControlPlane, namespace: str) -> None:
    async def there() -> bool:
        found = await plane.admin.get(autoscalers.path(namespace, "web"))
        return autoscalers.conditions(found).get("ScalingActive") == ("True", "ValidMetricFound")

    await wait_until(there, "ScalingActive to be true", timeout_s=20.0)


async def _replicas(plane: ControlPlane, namespace: str) -> int:
    target = await plane.admin.get(DEPLOYMENT.path(namespace, "web"))
    return int(target["spec"]["replicas"])
