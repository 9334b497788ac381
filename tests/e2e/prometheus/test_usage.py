"""CPU as cadvisor counts it, read by a Prometheus, to replicas: `resourceRules` in place of metrics-server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e import autoscalers
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.prometheus.page import MetricsPage
from tests.e2e.prometheus.programs import Prometheus
from tests.e2e.waiting import wait_until
from tests.e2e.workload import WorkloadPlayer
from tests.e2e.workload_kinds import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.control_plane import ControlPlane

pytestmark = pytest.mark.usefixtures("controllers_may_control")

# As prometheus-adapter's chart has them, with a window that a test can wait for.
RULES = """\
resourceRules:
  cpu:
    containerQuery: |
      sum by (<<.GroupBy>>) (rate(container_cpu_usage_seconds_total{container!="",<<.LabelMatchers>>}[5s]))
    resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}}}
    containerLabel: container
  memory:
    containerQuery: |
      sum by (<<.GroupBy>>) (container_memory_working_set_bytes{container!="",<<.LabelMatchers>>})
    resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}}}
    containerLabel: container
  window: 5s
"""


async def test_a_deployment_is_scaled_by_the_cpu_that_prometheus_knows(
    control_plane: ControlPlane, namespace: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    await control_plane.ensure_running()
    folder = tmp_path_factory.mktemp("usage")
    rules = folder / "rules.yaml"
    rules.write_text(RULES)
    admin, log = control_plane.admin, control_plane.files.logs / "prometheus-with-usage.log"
    flags = ("--metrics-source=resource=prometheus", f"--prometheus-rules={rules}", "--prometheus-timeout=5s")
    await admin.create(DEPLOYMENT.path(namespace), DEPLOYMENT.manifest("web", 2, requests={"cpu": "100m"}))
    async with (
        MetricsPage.serving() as page,
        Prometheus.start(folder, log, page.configuration()) as prometheus,
        ControllerProcess.start(control_plane, "usage-from-prometheus", *flags, f"--prometheus-url={prometheus.url}"),
        WorkloadPlayer(admin, DEPLOYMENT, namespace, "web") as player,
    ):
        await player.settled(2)
        _use(page, namespace, await _names(player), cores=0.1)
        # A rate begins with nothing: an HPA that saw that would rightly scale in first.
        await wait_until(lambda: _rates(prometheus, 2, 0.09), "whole rates", timeout_s=30.0)
        reference = autoscalers.reference(DEPLOYMENT, "web")
        metric = autoscalers.resource("cpu", averageUtilization=50)
        await admin.create(autoscalers.path(namespace), autoscalers.manifest("web", reference, [metric]))
        # A tenth of a core is all that each has asked for, and half of it is meant: twice as many.
        await player.settled(4)
        _use(page, namespace, await _names(player), cores=0.05)
        await wait_until(lambda: _utilization(control_plane, namespace, 45, 55), "half of the request", timeout_s=30.0)
        await player.settled(4)
        _use(page, namespace, await _names(player), cores=0.0125)
        await player.settled(1)


def _use(page: MetricsPage, namespace: str, pods: Sequence[str], *, cores: float) -> None:
    """Let each pod's container use so much from now on; the sum for the pod, which cadvisor has too, is left out."""
    labels = {pod: f'{{namespace="{namespace}",pod="{pod}",container="app"}}' for pod in pods}
    page.rates = {f"container_cpu_usage_seconds_total{text}": cores for text in labels.values()}
    page.rates |= {f'container_cpu_usage_seconds_total{{namespace="{namespace}",pod="{pod}"}}': 9.0 for pod in pods}
    page.lines = [f"container_memory_working_set_bytes{text} 1000000" for text in labels.values()]


async def _names(player: WorkloadPlayer) -> list[str]:
    return [pod["metadata"]["name"] for pod in await player.pods()]


async def _rates(prometheus: Prometheus, count: int, least: float) -> bool:
    found = await prometheus.query('rate(container_cpu_usage_seconds_total{container!=""}[5s])')
    return len(found) == count and all(float(one["value"][1]) >= least for one in found)


async def _utilization(plane: ControlPlane, namespace: str, least: int, most: int) -> bool:
    status = (await plane.admin.get(autoscalers.path(namespace, "web"))).get("status", {})
    found = [item["resource"]["current"].get("averageUtilization", 0) for item in status.get("currentMetrics") or []]
    return bool(found) and least <= found[0] <= most
